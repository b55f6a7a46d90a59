import { Acts, OF_CUSTOMER } from "../parts/acts.tsx";
import { Entitlements, GrantsNothing, LastChange } from "../parts/entitlements.tsx";
import { Loading, useCall } from "../parts/hooks.tsx";
import { Picture } from "../parts/picture.tsx";
import { Search } from "../parts/search.tsx";
import {
  asserterText,
  AuditTable,
  counted,
  CustomerLink,
  Identifier,
  Sentence,
  Sentences,
  spaced,
  statusText,
  Table,
  Time,
  Value,
} from "../parts/text.tsx";
import { addressOf, type RouteTo } from "../route.ts";
import type { Answer } from "../server.ts";

type Customer = Answer<"account">["customers"][number];
type Purchase = Customer["purchases"][number];

const PurchaseDetails = ({ purchase }: { readonly purchase: Purchase }) => (
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
    <Sentences>{purchase.sentences}</Sentences>
    <Table
      caption="What was bought"
      headings={["Product", "Status", "Why", "From", "To", "Refunded", "Renews", "Verified"]}
      empty="Nothing is known of it."
      rows={purchase.lines.map((line) => [
        spaced(line.productIdentifier, line.basePlanIdentifier),
        statusText(line.status ?? line.standing),
        <Sentence>{line.why.join("; ")}</Sentence>,
        <Time at={line.startsAt} />,
        <Time at={line.endsAt} none="no end" />,
        <Time at={line.revokedAt} none="no" />,
        line.willRenew === null ? "–" : line.willRenew ? "yes" : "no",
        <Time at={line.verifiedAt} />,
      ])}
    />
  </details>
);

const CustomerSection = ({
  application,
  customer,
  changed,
}: {
  readonly application: string;
  readonly customer: Customer;
  readonly changed: () => void;
}) => {
  const { customerIdentifier } = customer;
  return (
    <section aria-label={`Customer ${customerIdentifier}`}>
      <h3>
        Customer <CustomerLink application={application} customer={customerIdentifier} />
      </h3>
      <p>
        Linked <Time at={customer.linkedAt} /> by {asserterText(customer.assertedBy)}, known since{" "}
        <Time at={customer.createdAt} />.
        {customer.aliases.length > 0 && ` Merged from ${customer.aliases.join(", ")}.`}
      </p>
      <Acts commands={OF_CUSTOMER} given={{ application, customer: customerIdentifier }} changed={changed} />
      {customer.purchases.map((purchase) => (
        <PurchaseDetails
          key={`${purchase.store} ${purchase.environment} ${purchase.key}`}
          purchase={purchase}
        />
      ))}
      {customer.purchases.length === 0 && <p>No purchase.</p>}
    </section>
  );
};

type Account = Answer<"account">;

const Pages = ({ account }: { readonly account: Account }) => {
  const { applicationIdentifier, applicationAccountIdentifier, page, pages, purchases } = account;
  if (pages === 1) return null;
  const of = { application: applicationIdentifier, account: applicationAccountIdentifier };
  const to = (number: number): string => addressOf({ page: "account", ...of, number: String(number) });
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

export const AccountPage = ({
  application,
  account,
  number,
  isSandbox,
}: RouteTo<"account"> & { readonly isSandbox: boolean }) => {
  const loaded = useCall("account", { application, account, page: Math.max(1, Number(number) || 1) });
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
            <LastChange account={read} />
            <GrantsNothing account={read} />
            {read.customers.length === 0 ? (
              <p>
                No customer is linked to this account. “What operators changed”, below, tells of unlinks,
                moves and erasures.
              </p>
            ) : (
              <Picture account={read} />
            )}
            <Pages account={read} />
            <h2>What was told</h2>
            {read.told === null ? (
              <p>The application is told of no changes.</p>
            ) : (
              <Sentences>{read.told}</Sentences>
            )}
            <h2>Customers</h2>
            {read.customers.map((customer) => (
              <CustomerSection
                key={customer.customerIdentifier}
                application={read.applicationIdentifier}
                customer={customer}
                changed={loaded.again}
              />
            ))}
            <h2>What operators changed</h2>
            <AuditTable entries={read.audit} />
            <Acts
              commands={["account unlink"]}
              given={{ application, account, assertedBy: "client" }}
              changed={loaded.again}
            />
            <Acts commands={["account erase"]} given={{ application, account }} changed={loaded.again} />
          </>
        )}
      </Loading>
    </>
  );
};
