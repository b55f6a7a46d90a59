import { useCallback } from "preact/hooks";
import { Acts, REASON, type Offer } from "./act-dialog.tsx";
import { AuditTable } from "./audit-table.tsx";
import { Loading, useLoaded } from "./loading.tsx";
import { Picture } from "./picture.tsx";
import { addressOf } from "./route.ts";
import { Search } from "./search.tsx";
import { call, type Answer } from "./server.ts";
import { counted, Identifier, Status, Table, Time, Value } from "./text.tsx";

type Account = Answer<"account">;
type Customer = Account["customers"][number];
type Purchase = Customer["purchases"][number];

const reasonOf = (fields: Readonly<Record<string, string>>): string => fields["reason"] ?? "";

const accountOffers = ({
  applicationIdentifier,
  applicationAccountIdentifier,
}: Account): readonly Offer[] => {
  const of = { application: applicationIdentifier, account: applicationAccountIdentifier };
  return [
    {
      label: "Unlink what only clients claimed",
      about: "Unlinks the customers that no API key has linked.",
      fields: [REASON],
      takesAway: true,
      act: (fields) => ({ act: "account unlink", ...of, reason: reasonOf(fields) }),
    },
    {
      label: "Erase the account",
      about: "Erases every customer of the account, with all purchases.",
      fields: [REASON],
      takesAway: true,
      act: (fields) => ({ act: "account erase", ...of, reason: reasonOf(fields) }),
    },
  ];
};

export const customerOffers = (application: string, customer: string): readonly Offer[] => {
  const of = { application, customer };
  return [
    {
      label: "Ask the stores now",
      about: "Queues every purchase of the customer; the next run of the schedules asks about them.",
      fields: [],
      takesAway: false,
      act: () => ({ act: "customer refresh", ...of }),
    },
    {
      label: "Unlink",
      about: "Takes the customer and its purchases away from its account.",
      fields: [REASON],
      takesAway: true,
      act: (fields) => ({ act: "customer unlink", ...of, reason: reasonOf(fields) }),
    },
    {
      label: "Move to another account",
      about: "Links the customer to another account, in one step.",
      fields: [{ name: "to", label: "Account to move it to", isRequired: true }, REASON],
      takesAway: true,
      act: (fields) => ({ act: "customer unlink", ...of, reason: reasonOf(fields), to: fields["to"] ?? "" }),
    },
    {
      label: "Erase the customer",
      about: "Erases the customer with all purchases.",
      fields: [REASON],
      takesAway: true,
      act: (fields) => ({ act: "customer erase", ...of, reason: reasonOf(fields) }),
    },
  ];
};

/** The lines whose sentences speak of an entitlement. */
const whyOf = (account: Account, identifier: string): readonly string[] =>
  account.customers.flatMap(({ purchases }) =>
    purchases.flatMap(({ lines }) =>
      lines.flatMap(({ why, productIdentifier }) =>
        why
          .filter((sentence) => sentence.includes(identifier) && sentence.startsWith("grants"))
          .map((sentence) => `${productIdentifier} ${sentence}`),
      ),
    ),
  );

const Entitlements = ({ account }: { readonly account: Account }) =>
  account.entitlements.length === 0 ? (
    <p>No entitlement: no purchase of this account grants one, or ever did.</p>
  ) : (
    <ul class="entitlements" aria-label="Entitlements">
      {account.entitlements.map((entitlement) => (
        <li key={entitlement.identifier}>
          <strong>
            <Value>{entitlement.displayName}</Value>
          </strong>{" "}
          <Status status={entitlement.status} active={entitlement.active} />
          {entitlement.expiresAt === null ? (
            ", for ever"
          ) : (
            <>
              {entitlement.active ? ", until " : ", ended "}
              <Time at={entitlement.expiresAt} />
            </>
          )}
          <br />
          <small>
            <Value>
              {whyOf(account, entitlement.identifier).join("; ") ||
                `From ${entitlement.productIdentifier ?? "a purchase"} (${entitlement.store}), which another page of purchases shows`}
            </Value>
          </small>
        </li>
      ))}
    </ul>
  );

/** Purchases of this page that grant nothing, with the sentence that says why. */
const GrantsNothing = ({ account }: { readonly account: Account }) => {
  const sentences = account.customers.flatMap(({ purchases }) =>
    purchases.flatMap(({ store, why, lines }) => [
      ...why.map((sentence) => `${store}: ${sentence}`),
      ...lines.flatMap(({ status, productIdentifier, why: reasons }) =>
        status === null ? reasons.map((reason) => `${productIdentifier} (${store}) ${reason}`) : [],
      ),
    ]),
  );
  return sentences.length === 0 ? null : (
    <details>
      <summary>What grants nothing, and why ({sentences.length})</summary>
      <ul>
        {[...new Set(sentences)].map((sentence) => (
          <li key={sentence}>
            <Value>{sentence}</Value>
          </li>
        ))}
      </ul>
    </details>
  );
};

const Told = ({ told }: { readonly told: Account["told"] }) => {
  if (told === null) return <p>The application is told of no changes.</p>;
  return (
    <>
      <p>
        {told.version === 0 ? (
          "Nothing was told yet."
        ) : (
          <>
            Version {told.version}, told <Time at={told.toldAt} none="more than 30 days ago" />:{" "}
            <Value>
              {told.entitlements
                ?.map(({ displayName, status }) => `${displayName} ${status.replaceAll("_", " ")}`)
                .join(", ") || "no entitlements"}
            </Value>
            .
          </>
        )}{" "}
        {told.nextLookAt !== null && (
          <>
            Time changes it next at <Time at={told.nextLookAt} />.
          </>
        )}
      </p>
      <Table
        caption="What waits"
        headings={["Destination", "Version", "Since", "Tries", "Next try"]}
        empty="The application has no destination."
        rows={told.destinations.map(({ name, waiting }) =>
          waiting === null
            ? [<Value>{name}</Value>, "nothing waits", "", "", ""]
            : [
                <Value>{name}</Value>,
                String(waiting.version),
                <Time at={waiting.since} />,
                String(waiting.tries),
                <Time at={waiting.nextTryAt} none="at once" />,
              ],
        )}
      />
    </>
  );
};

const PurchaseDetails = ({
  purchase,
  asking,
}: {
  readonly purchase: Purchase;
  readonly asking: readonly string[];
}) => (
  <details>
    <summary>
      <Value>{`${purchase.lines.at(-1)?.productIdentifier ?? "no product"} `}</Value>
      {purchase.store}, {purchase.environment}
    </summary>
    <p>
      Purchase <Identifier>{purchase.key}</Identifier>
      {purchase.verifiedAt !== null && (
        <>
          , verified <Time at={purchase.verifiedAt} /> by {purchase.verifiedBy}
        </>
      )}
    </p>
    <ul>
      {[...purchase.why, ...asking].map((sentence) => (
        <li key={sentence}>
          <Value>{sentence}</Value>
        </li>
      ))}
      {purchase.renewal !== null && (
        <li>
          Renewal info of <Time at={purchase.renewal.signedAt} />:{" "}
          {purchase.renewal.willRenew ? "renews" : "does not renew"}
          {purchase.renewal.isInBillingRetry && ", in billing retry"}
          {purchase.renewal.graceEndsAt !== null && (
            <>
              , in a grace period until <Time at={purchase.renewal.graceEndsAt} />
            </>
          )}
        </li>
      )}
    </ul>
    <Table
      caption="Its lines"
      headings={["Product", "Status", "From", "To", "Refunded", "Renews", "Verified", "Why"]}
      empty="It has none."
      rows={purchase.lines.map((line) => [
        <Value>{[line.productIdentifier, line.basePlanIdentifier].filter(Boolean).join(" ")}</Value>,
        line.status ?? line.standing,
        <Time at={line.startsAt} />,
        <Time at={line.endsAt} none="no end" />,
        <Time at={line.revokedAt} none="no" />,
        line.willRenew === null ? "–" : line.willRenew ? "yes" : "no",
        <Time at={line.verifiedAt} />,
        <Value>{line.why.join("; ")}</Value>,
      ])}
    />
  </details>
);

type Reference = Pick<Purchase, "store" | "environment" | "key">;

const isSame = (a: Reference, b: Reference): boolean =>
  a.store === b.store && a.environment === b.environment && a.key === b.key;

const CustomerSection = ({
  account,
  customer,
  changed,
}: {
  readonly account: Account;
  readonly customer: Customer;
  readonly changed: () => void;
}) => {
  const { applicationIdentifier: application } = account;
  const { customerIdentifier } = customer;
  return (
    <section aria-label={`Customer ${customerIdentifier}`}>
      <h3>
        Customer{" "}
        <a href={addressOf({ page: "customer", application, customer: customerIdentifier })}>
          <Identifier>{customerIdentifier}</Identifier>
        </a>
      </h3>
      <p>
        Linked <Time at={customer.linkedAt} /> by a {customer.assertedBy}, known since{" "}
        <Time at={customer.createdAt} />.
        {customer.aliases.length > 0 && ` Merged from ${customer.aliases.join(", ")}.`}
      </p>
      <Acts offers={customerOffers(application, customerIdentifier)} changed={changed} />
      {customer.purchases.map((purchase) => (
        <PurchaseDetails
          key={`${purchase.store} ${purchase.environment} ${purchase.key}`}
          purchase={purchase}
          asking={account.asking.find((asked) => isSame(asked, purchase))?.sentences ?? []}
        />
      ))}
      {customer.purchases.length === 0 && <p>No purchase.</p>}
    </section>
  );
};

const Pages = ({ account }: { readonly account: Account }) => {
  const {
    applicationIdentifier: application,
    applicationAccountIdentifier,
    page,
    pages,
    purchases,
  } = account;
  if (pages === 1) return null;
  const to = (number: number): string =>
    addressOf({ page: "account", application, account: applicationAccountIdentifier, number });
  return (
    <nav aria-label="Pages of purchases">
      <p>
        Page {page} of {pages}, of {counted(purchases, "purchase")}
      </p>
      <ul>
        {page > 1 && (
          <li>
            <a href={to(page - 1)}>Page before</a>
          </li>
        )}
        {page < pages && (
          <li>
            <a href={to(page + 1)}>Next page</a>
          </li>
        )}
      </ul>
    </nav>
  );
};

/** An account: what it is entitled to, why, and everything that led to it. */
export const AccountPage = ({
  application,
  account,
  number,
  isSandbox,
}: {
  readonly application: string;
  readonly account: string;
  readonly number: number;
  readonly isSandbox: boolean;
}) => {
  const loaded = useLoaded(
    useCallback(
      async () => call("account", { application, account, page: number }),
      [application, account, number],
    ),
  );
  return (
    <>
      <Search application={application} />
      <h1>
        Account <Value>{account}</Value>
      </h1>
      <Loading of={loaded}>
        {(read) => (
          <>
            <p>
              of <a href={addressOf({ page: "application", application })}>{read.applicationName}</a>
              {" · "}
              <button type="button" class="outline small" onClick={loaded.again}>
                Read again
              </button>
              {isSandbox && (
                <>
                  {" · "}
                  <a href={addressOf({ page: "sandbox", account })}>Buy in the sandbox stores</a>
                </>
              )}
            </p>
            <h2>
              Entitlements at <Time at={read.moment} />
            </h2>
            <Entitlements account={read} />
            <GrantsNothing account={read} />
            {read.customers.length === 0 ? (
              <p>No customer is linked to this account. The audit below tells what operators changed.</p>
            ) : (
              <Picture rows={read.picture} moment={read.moment} />
            )}
            <Pages account={read} />
            <h2>What was told</h2>
            <Told told={read.told} />
            <h2>Customers</h2>
            {read.customers.map((customer) => (
              <CustomerSection
                key={customer.customerIdentifier}
                account={read}
                customer={customer}
                changed={loaded.again}
              />
            ))}
            <h2>What operators changed</h2>
            <AuditTable entries={read.audit} />
            <Acts offers={accountOffers(read)} changed={loaded.again} />
          </>
        )}
      </Loading>
    </>
  );
};
