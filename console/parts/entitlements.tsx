import type { Answer } from "../server.ts";
import { Sentence, Sentences, spaced, statusText, Time, Value } from "./text.tsx";

type Account = Answer<"account">;
type Entitlement = Account["entitlements"][number];
type Ending = Entitlement["endings"][number];

/** Why access ended, in words that follow "gave access until …:". */
const BECAUSE: Readonly<Record<Exclude<Ending["because"], "lasts" | "changed">, string>> = {
  refunded: "it was refunded, or the store took it back",
  payment_failed:
    "then the payment failed (a grace period may have followed: the store names it only while it runs)",
  grace_over: "the payment failed, and the grace period is over",
  cancelled: "the customer had turned the renewal off",
  price_refused: "the customer did not agree to a higher price",
  not_for_sale: "the product was no longer for sale",
  paused: "the customer paused it",
  pass_over: "the time that it gives was over",
  not_renewed: "it ended, and no renewal is known",
};

/** Google answers the same for a subscription that was refunded and for one that ended. */
const ALIKE_ON_ANDROID = " (a refund looks the same here: Play Console, Order management, tells)";

const becauseText = ({ because, changedTo, store }: Ending): string => {
  if (because === "lasts") return "";
  if (because === "changed") return `it was changed to ${changedTo ?? "another purchase"}`;
  const isAlike = because === "not_renewed" && store === "android-store";
  return `${BECAUSE[because]}${isAlike ? ALIKE_ON_ANDROID : ""}`;
};

const EndingLine = ({ ending }: { readonly ending: Ending }) => {
  const { productIdentifier, basePlanIdentifier, store, environment, until, because } = ending;
  return (
    <li>
      <Value>{spaced(productIdentifier, basePlanIdentifier)}</Value> ({store}
      {environment !== "production" && `, ${environment}`}){" "}
      {because === "lasts" ? "gives access" : until === null ? "gives no access" : "gave access"}
      {until !== null && (
        <>
          {" until "}
          <Time at={until} />
        </>
      )}
      {because === "lasts" ? (
        until === null && ", for ever"
      ) : (
        <>
          : <Value>{becauseText(ending)}</Value>
        </>
      )}
      .
    </li>
  );
};

/** End of access: the latest of all purchases, whichever one the answer shows. */
const untilText = ({ active, expiresAt, endings: [last] }: Entitlement): string => {
  const at = active ? expiresAt : (last?.until ?? expiresAt);
  if (at === null) return active ? ", for ever" : ", no access";
  if (active) return `, until ${at}`;
  return last?.because === "payment_failed" ? `, no access now, paid until ${at}` : `, no access since ${at}`;
};

export const Entitlements = ({ account }: { readonly account: Account }) =>
  account.entitlements.length === 0 ? (
    <p>No entitlement: nothing that is linked to this account now grants one.</p>
  ) : (
    <ul class="entitlements" aria-label="Entitlements">
      {account.entitlements.map((entitlement) => {
        const { identifier, displayName, status, active, endings } = entitlement;
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
            <ul>
              {endings.map((ending, index) => (
                <EndingLine key={index} ending={ending} />
              ))}
            </ul>
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
