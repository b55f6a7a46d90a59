import type { Answer } from "./server.ts";
import { Status, Time, Value } from "./text.tsx";

type Account = Answer<"account">;

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

/** What an account is entitled to, and why. */
export const Entitlements = ({ account }: { readonly account: Account }) =>
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
export const GrantsNothing = ({ account }: { readonly account: Account }) => {
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
