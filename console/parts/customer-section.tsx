import { Acts } from "./act-dialog.tsx";
import { customerOffers } from "./offers.ts";
import { addressOf } from "../route.ts";
import type { Answer } from "../server.ts";
import { asserterText, Identifier, Sentence, spaced, statusText, Table, Time, Value } from "./text.tsx";

type Customer = Answer<"account">["customers"][number];
type Purchase = Customer["purchases"][number];

/** A purchase with its lines, its renewal info, and when its store is asked. */
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
    <ul>
      {[...purchase.why, ...purchase.asking].map((sentence) => (
        <li key={sentence}>
          <Sentence>{sentence}</Sentence>
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

/** A customer of an account, with the purchases of the page. */
export const CustomerSection = ({
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
        Customer{" "}
        <a href={addressOf({ page: "customer", application, customer: customerIdentifier })}>
          <Identifier>{customerIdentifier}</Identifier>
        </a>
      </h3>
      <p>
        Linked <Time at={customer.linkedAt} /> by {asserterText(customer.assertedBy)}, known since{" "}
        <Time at={customer.createdAt} />.
        {customer.aliases.length > 0 && ` Merged from ${customer.aliases.join(", ")}.`}
      </p>
      <Acts offers={customerOffers(application, customerIdentifier)} changed={changed} />
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
