import { Acts, OF_CUSTOMER } from "../parts/acts.tsx";
import { Loading, useCall } from "../parts/hooks.tsx";
import { Search } from "../parts/search.tsx";
import { AccountLink, asserterText, Identifier, Table, Time } from "../parts/text.tsx";
import type { RouteTo } from "../route.ts";

export const CustomerPage = ({ application, customer }: RouteTo<"customer">) => {
  const loaded = useCall("customer", { application, customer });
  return (
    <>
      <Search application={application} />
      <h1>
        Customer <Identifier>{customer}</Identifier>
      </h1>
      <Loading of={loaded}>
        {(read) => (
          <>
            <p>
              Known since <Time at={read.createdAt} />.{" "}
              {read.link === null ? (
                "Linked to no account."
              ) : (
                <>
                  Linked to account <AccountLink application={application} account={read.link.account} />{" "}
                  since <Time at={read.link.linkedAt} /> by {asserterText(read.link.assertedBy)}.
                </>
              )}
            </p>
            <Table
              caption="Identities"
              headings={["Store", "Environment", "Kind", "Value"]}
              empty="None: only purchases name this customer."
              rows={read.identities.map(({ store, environment, kind, value }) => [
                store,
                environment,
                kind,
                <Identifier>{value}</Identifier>,
              ])}
            />
            <Table
              caption="Purchases"
              headings={["Store", "Environment", "Purchase", "Products", "Verified"]}
              empty="None."
              rows={read.purchases.map(({ store, environment, key, lines, verifiedAt }) => [
                store,
                environment,
                <Identifier>{key}</Identifier>,
                [...new Set(lines.map(({ productIdentifier }) => productIdentifier))].join(", "),
                <Time at={verifiedAt} none="only named by another" />,
              ])}
            />
            <Acts commands={OF_CUSTOMER} given={{ application, customer }} changed={loaded.again} />
          </>
        )}
      </Loading>
    </>
  );
};
