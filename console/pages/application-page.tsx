import { Acts } from "../parts/acts.tsx";
import { Loading, useCall } from "../parts/hooks.tsx";
import { Search } from "../parts/search.tsx";
import { AuditTable, counted, Identifier, Sentences, spaced, Table, Time, Value } from "../parts/text.tsx";
import { addressOf, type RouteTo } from "../route.ts";
import type { Answer } from "../server.ts";

type Application = Answer<"application">;
type Destination = Application["destinations"][number];

const HEALTH: Readonly<Record<Destination["health"]["state"], string>> = {
  "takes-messages": "● takes messages",
  failing: "○ failing",
  suspended: "○ suspended",
};

const Sold = ({ application }: { readonly application: Application }) => (
  <>
    <Table
      caption="What it sells"
      isNamed
      headings={["Product", "Store", "Grants", "Lasts"]}
      empty="The catalog is empty: no purchase grants anything."
      rows={application.products.map((product) => [
        spaced(product.productIdentifier, product.basePlanIdentifier, product.purchaseOptionIdentifier),
        product.store,
        product.grants.join(", ") || "nothing",
        product.accessDuration ?? "as the store says",
      ])}
    />
    {application.nothing.products.length + application.nothing.entitlements.length > 0 && (
      <p class="error">
        Maps to nothing:{" "}
        <Value>{[...application.nothing.products, ...application.nothing.entitlements].join(", ")}</Value>
      </p>
    )}
  </>
);

const Stores = ({ application }: { readonly application: Application }) => (
  <>
    <Table
      caption="Stores"
      headings={["Store", "App", "Environments", "Credential"]}
      empty="It has no store."
      rows={[
        ...application.iosStore.map(({ bundleIdentifier, environments, serverApiKey }) => [
          "ios-store",
          bundleIdentifier,
          environments.join(", "),
          serverApiKey === null
            ? "none: the App Store is not asked"
            : `App Store Server API key ${serverApiKey}`,
        ]),
        ...application.androidStore.map(({ packageName, environments, credential, pushedBy }) => [
          "android-store",
          packageName,
          environments.join(", "),
          `${credential}; ${pushedBy === null ? "no notifications" : `notified by ${pushedBy}`}`,
        ]),
      ]}
    />
    {application.state.length === 0 ? (
      <p>No store is asked, and no notification is expected.</p>
    ) : (
      <Sentences>{application.state}</Sentences>
    )}
  </>
);

const OF_APPLICATION = ["credential issue", "application refresh", "application retell"] as const;
const OF_DESTINATION = ["destination resume", "destination resend"] as const;

interface ChangeablePart {
  readonly application: Application;
  readonly changed: () => void;
}

const Keys = ({ application, changed }: ChangeablePart) => (
  <>
    <Table
      caption="API keys"
      isNamed
      headings={["Key", "State", "Scopes", "Label", "Created", "Expires"]}
      empty="It has none."
      rows={application.credentials.map((key) => [
        <Identifier>{key.keyIdentifier}</Identifier>,
        key.state,
        key.scopes.join(", "),
        key.label ?? "–",
        <Time at={key.createdAt} />,
        <Time at={key.expiresAt} none="never" />,
      ])}
    />
    {application.credentials
      .filter(({ state }) => state === "valid")
      .map(({ keyIdentifier }) => (
        <Acts
          key={keyIdentifier}
          commands={["credential revoke"]}
          given={{ application: application.identifier, keyIdentifier }}
          named={keyIdentifier}
          changed={changed}
        />
      ))}
  </>
);

const Destinations = ({ application, changed }: ChangeablePart) => (
  <>
    <Table
      caption="Destinations"
      isNamed
      headings={["Name", "Goes to", "Health", "Waiting", "Since"]}
      empty="It has none: changes are not delivered."
      rows={application.destinations.map((destination) => [
        destination.name,
        ("url" in destination ? destination.url : destination.eventBus) ?? "",
        <>
          {HEALTH[destination.health.state]}
          {destination.health.because !== null && ` (${destination.health.because})`}
        </>,
        counted(destination.waiting.accounts, "account"),
        <Time at={destination.waiting.since} />,
      ])}
    />
    {application.destinations.map(({ name, kind }) => (
      <Acts
        key={name}
        commands={[...OF_DESTINATION, ...(kind === "webhook" ? (["destination rotate"] as const) : [])]}
        given={{ application: application.identifier, name }}
        named={name}
        changed={changed}
      />
    ))}
  </>
);

export const ApplicationPage = ({ application }: RouteTo<"application">) => {
  const loaded = useCall("application", { application });
  return (
    <Loading of={loaded}>
      {(read) => (
        <>
          <h1>
            <Value>{read.name}</Value>
          </h1>
          <p>
            Application <Identifier>{read.identifier}</Identifier>
          </p>
          <Search application={application} />
          <p>
            <a href={addressOf({ page: "import", application })}>The report of an import</a>
          </p>
          <h2>What it sells</h2>
          <Sold application={read} />
          <h2>Stores</h2>
          <Stores application={read} />
          <h2>API keys</h2>
          <Keys application={read} changed={loaded.again} />
          <h2>Destinations</h2>
          <Destinations application={read} changed={loaded.again} />
          <h2>What can be done</h2>
          <Acts commands={OF_APPLICATION} given={{ application }} changed={loaded.again} />
          <h2>What was changed</h2>
          {read.auditEntries > read.audit.length && (
            <p>
              The newest {read.audit.length} of {read.auditEntries} entries.
            </p>
          )}
          <AuditTable entries={read.audit} />
        </>
      )}
    </Loading>
  );
};
