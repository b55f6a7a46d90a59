import type { Answer } from "../server.ts";
import { Sentence, Sentences, statusText, Time, Value } from "./text.tsx";

type Account = Answer<"account">;
type Entitlement = Account["entitlements"][number];

const untilText = ({ active, expiresAt }: Entitlement): string => {
  if (expiresAt === null) return active ? ", for ever" : ", no access";
  return active ? `, until ${expiresAt}` : `, no access since ${expiresAt}`;
};

export const Entitlements = ({ account }: { readonly account: Account }) =>
  account.entitlements.length === 0 ? (
    <p>No entitlement: nothing that is linked to this account now grants one.</p>
  ) : (
    <ul class="entitlements" aria-label="Entitlements">
      {account.entitlements.map((entitlement) => {
        const { identifier, displayName, status, active, why } = entitlement;
        return (
          <li key={identifier}>
            <strong>
              <Value>{displayName}</Value>
            </strong>{" "}
            <span class={active ? "status active" : "status"}>
              {active ? "● " : "○ "}
              {statusText(status)}
            </span>
            <Sentence>{untilText(entitlement)}</Sentence>
            <Sentences>{why}</Sentences>
          </li>
        );
      })}
    </ul>
  );

/** Newest audit entry, where no entitlement is active: it may be the cause. */
export const LastChange = ({ account }: { readonly account: Account }) => {
  const [last] = account.audit;
  if (last === undefined || account.entitlements.some(({ active }) => active)) return null;
  return (
    <p>
      An operator&apos;s last change that concerns this account: <strong>{last.action}</strong>,{" "}
      <Time at={last.moment} />, by <Value>{last.by}</Value>
      {last.reason !== null && (
        <>
          : <Value>{last.reason}</Value>
        </>
      )}
      .
    </p>
  );
};

const SHOWN_AT_ONCE = 3;

export const GrantsNothing = ({ account }: { readonly account: Account }) => {
  const sentences = account.customers.flatMap(({ purchases }) =>
    purchases.flatMap(({ store, why, lines }) => [
      ...why.map((sentence) => `${store}: ${sentence}`),
      ...lines.flatMap(({ status, productIdentifier, why: reasons }) =>
        status === null ? reasons.map((reason) => `${productIdentifier} (${store}) ${reason}`) : [],
      ),
    ]),
  );
  const once = [...new Set(sentences)];
  return once.length === 0 ? null : (
    <details open={once.length <= SHOWN_AT_ONCE}>
      <summary>What grants nothing, and why ({once.length})</summary>
      <Sentences>{once}</Sentences>
    </details>
  );
};
