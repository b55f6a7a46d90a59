import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../routes.ts";
import type { SubscriptionNotification } from "../notifications.ts";
import {
  after,
  endOf,
  instantOf,
  isPrepaid,
  orderId,
  outcome,
  withAnswer,
  type Outcome,
  type SoldPurchase,
  type SoldSubscription,
  type SubscriptionLine,
  type SubscriptionPurchase,
  type SubscriptionTerms,
} from "./purchases.ts";
import type { ChangeDetails } from "./requests.ts";

type State = "ACTIVE" | "CANCELED" | "EXPIRED" | "IN_GRACE_PERIOD" | "ON_HOLD" | "PAUSED";

const DEFAULT_HOLD = "P30D";

/** Time for which the store still answers about an expired subscription, in days, as a duration. */
const KEPT_AFTER_EXPIRY = "P60D";

/** State of a purchase, without its prefix. */
export const stateOf = ({ productKind, answer }: SoldPurchase): string =>
  productKind === "subscription"
    ? (answer.subscriptionState ?? "").replace("SUBSCRIPTION_STATE_", "")
    : (answer.purchaseStateContext?.purchaseState ?? "");

export const linesOf = ({ answer }: SoldSubscription): readonly SubscriptionLine[] => answer.lineItems ?? [];

export const tell = (sold: SoldSubscription, ...notifications: SubscriptionNotification[]): Outcome =>
  outcome(sold, ...notifications.map((subscription) => ({ subscription })));

export const requireState = (sold: SoldSubscription, ...allowed: State[]): void => {
  const state = stateOf(sold);
  if (!allowed.some((one) => one === state))
    throw new ImpossibleChange(`The change is not possible for a subscription in ${state || "no state"}.`);
};

export const withTerms = (sold: SoldSubscription, terms: Partial<SubscriptionTerms>): SoldSubscription => ({
  ...sold,
  terms: sold.terms === null ? null : { ...sold.terms, ...terms },
});

/** @throws ImpossibleChange if the subscription is prepaid, or was put as a raw answer */
export const termsOfRenewing = ({ answer, terms }: SoldSubscription): SubscriptionTerms => {
  if (terms === null) throw new ImpossibleChange("A raw answer does not change by itself.");
  if (isPrepaid(answer)) throw new ImpossibleChange("A prepaid plan does not renew.");
  return terms;
};

export const MONTH = "P1M";

/** End of a period that begins at the given time: the requested one, or as long as the subscription's own. */
export const periodFrom = (begin: Instant, { terms }: SoldSubscription, { period }: ChangeDetails): Instant =>
  after(begin, period ?? terms?.period ?? MONTH);

/** Phases after a failed payment: as requested, or by the terms. */
export const failedPaymentPhases = (
  terms: SubscriptionTerms,
  {
    silentPeriod = terms.silentPeriod,
    gracePeriod = terms.gracePeriod,
    accountHold = terms.accountHold,
  }: ChangeDetails,
) => ({ silentPeriod, gracePeriod, accountHold });

/** Whether a line was removed or replaced, so that it stays in the answer with its past end. */
const isOver = (line: SubscriptionLine, end: Instant): boolean =>
  line.autoRenewingPlan?.autoRenewEnabled === false &&
  line.deferredItemRemoval === undefined &&
  line.deferredItemReplacement === undefined &&
  (instantOf(line.expiryTime) ?? end) < end;

export const currentLinesOf = (sold: SoldSubscription): readonly SubscriptionLine[] => {
  const end = endOf(sold.answer) ?? 0;
  return linesOf(sold).filter((line) => !isOver(line, end));
};

/** Whether a line ends with the period instead of being renewed. */
export const endsWithPeriod = ({ deferredItemRemoval, deferredItemReplacement }: SubscriptionLine): boolean =>
  deferredItemRemoval !== undefined || deferredItemReplacement !== undefined;

export const withRenewal = (line: SubscriptionLine, autoRenewEnabled: boolean): SubscriptionLine =>
  line.prepaidPlan === undefined
    ? { ...line, autoRenewingPlan: { ...line.autoRenewingPlan, autoRenewEnabled } }
    : line;

/** The subscription with changed lines, except those that are over. */
export const withLines = (
  sold: SoldSubscription,
  change: (line: SubscriptionLine) => SubscriptionLine,
): SoldSubscription => {
  const end = endOf(sold.answer) ?? 0;
  const lineItems = linesOf(sold).map((line) => (isOver(line, end) ? line : change(line)));
  return withAnswer(sold, { lineItems });
};

const CONTEXTS = [
  "canceledStateContext",
  "pausedStateContext",
  "inGracePeriodStateContext",
  "onHoldStateContext",
] as const;

/** A new state, with its own context alone, and changed lines. */
const inState = (
  sold: SoldSubscription,
  state: State,
  context: Pick<SubscriptionPurchase, (typeof CONTEXTS)[number]>,
  terms: Partial<SubscriptionTerms>,
  change: (line: SubscriptionLine) => SubscriptionLine,
): SoldSubscription => {
  const answer = { ...sold.answer, subscriptionState: `SUBSCRIPTION_STATE_${state}` };
  for (const previous of CONTEXTS) delete answer[previous];
  const entered = withLines({ ...sold, answer: { ...answer, ...context } }, change);
  return withTerms(entered, { stateUntil: null, ...terms });
};

/** Gives a line another end, unless it is not owned yet. */
const ending =
  (autoRenews: boolean, expiryOf: (expiry: Instant) => Instant) =>
  (line: SubscriptionLine): SubscriptionLine => {
    const expiry = instantOf(line.expiryTime);
    if (expiry === null) return line;
    const moved = { ...line, expiryTime: isoTime(expiryOf(expiry)) };
    return endsWithPeriod(line) ? moved : withRenewal(moved, autoRenews);
  };
/** Ends a line now, if it has not ended before. */
const endingAt = (now: Instant, autoRenews: boolean) => ending(autoRenews, (expiry) => Math.min(expiry, now));

/** Paid until the given end: lines that continue get that end and a new order; the others end. */
export const active = (
  sold: SoldSubscription,
  until: Instant,
  now: Instant,
  latestSuccessfulOrderId = orderId(),
): SoldSubscription => {
  const goesOn = currentLinesOf(sold).some((line) => !endsWithPeriod(line));
  const terms = { paidUntil: until, paymentFails: false, pause: null, orderedAt: now };
  return inState(sold, "ACTIVE", {}, terms, (line) => {
    if (!endsWithPeriod(line) || !goesOn)
      return withRenewal({ ...line, expiryTime: isoTime(until), latestSuccessfulOrderId }, true);
    const { deferredItemRemoval: _removal, deferredItemReplacement: _replacement, ...over } = line;
    const expiry = instantOf(line.expiryTime) ?? now;
    const end = Math.min(expiry, sold.terms?.paidUntil ?? expiry);
    return withRenewal({ ...over, expiryTime: isoTime(end) }, false);
  });
};

const declined = () => ({ renewalDeclined: { pendingOrderId: orderId() } });

/** A failed payment, with access until the given end. */
export const inGracePeriod = (sold: SoldSubscription, until: Instant): Outcome => {
  const context = { inGracePeriodStateContext: declined() };
  const change = ending(true, () => until);
  return tell(inState(sold, "IN_GRACE_PERIOD", context, { paymentFails: true }, change), "IN_GRACE_PERIOD");
};

/** A failed payment, without access. */
export const onHold = (sold: SoldSubscription, now: Instant): Outcome => {
  const context = { onHoldStateContext: declined() };
  const terms = { paymentFails: true, stateUntil: after(now, sold.terms?.accountHold ?? DEFAULT_HOLD) };
  return tell(inState(sold, "ON_HOLD", context, terms, endingAt(now, true)), "ON_HOLD");
};

export const paused = (sold: SoldSubscription, until: Instant, now: Instant): Outcome => {
  const context = { pausedStateContext: { autoResumeTime: isoTime(until) } };
  return tell(inState(sold, "PAUSED", context, { pause: null }, endingAt(now, true)), "PAUSED");
};

/** Paid again, from now on. */
export const recovered = (sold: SoldSubscription, { period }: SubscriptionTerms, now: Instant): Outcome =>
  tell(active(sold, after(now, period), now), "RECOVERED");

export const afterPause = (sold: SoldSubscription, terms: SubscriptionTerms, now: Instant): Outcome =>
  terms.paymentFails ? onHold(sold, now) : recovered(sold, terms, now);

export const canceled = (sold: SoldSubscription, now: Instant): Outcome => {
  const context = { canceledStateContext: { userInitiatedCancellation: { cancelTime: isoTime(now) } } };
  const change = ending(false, (expiry) => expiry);
  return tell(inState(sold, "CANCELED", context, { pause: null }, change), "CANCELED");
};

/** The cancellation's reason stays in the answer. */
export const expired = (
  sold: SoldSubscription,
  now: Instant,
  canceledStateContext = sold.answer.canceledStateContext,
): SoldSubscription => {
  const context = canceledStateContext === undefined ? {} : { canceledStateContext };
  const terms = { pause: null, stateUntil: after(now, KEPT_AFTER_EXPIRY) };
  return inState(sold, "EXPIRED", context, terms, endingAt(now, false));
};

/** The store ends a subscription that nobody paid for, or agreed to pay for. */
const endedByStore = (sold: SoldSubscription, now: Instant): Outcome =>
  tell(expired(sold, now, { systemInitiatedCancellation: {} }), "CANCELED", "EXPIRED");

/** When a state ends by itself; null: never. */
export const stateEndsAt = (sold: SoldSubscription): Instant | null => {
  if (sold.terms === null) return null;
  const { stateUntil } = sold.terms;
  switch (stateOf(sold)) {
    case "ACTIVE":
      return stateUntil ?? endOf(sold.answer);
    case "IN_GRACE_PERIOD":
    case "CANCELED":
      return endOf(sold.answer);
    case "PAUSED":
      return instantOf(sold.answer.pausedStateContext?.autoResumeTime);
    default:
      return stateUntil;
  }
};

const afterGrace = (sold: SoldSubscription, { accountHold }: SubscriptionTerms, at: Instant) =>
  accountHold === null ? endedByStore(sold, at) : onHold(sold, at);

const afterSilence = (sold: SoldSubscription, terms: SubscriptionTerms, at: Instant) =>
  terms.gracePeriod === null
    ? afterGrace(sold, terms, at)
    : inGracePeriod(sold, after(at, terms.gracePeriod));

const periodEnds = (sold: SoldSubscription, terms: SubscriptionTerms, at: Instant): Outcome => {
  if (isPrepaid(sold.answer)) return tell(expired(sold, at), "EXPIRED");
  if (terms.stateUntil !== null) return afterSilence(sold, terms, at);
  if (terms.pause !== null) return paused(sold, after(at, terms.pause), at);
  if (terms.paymentFails)
    return terms.silentPeriod === null
      ? afterSilence(sold, terms, at)
      : tell(withTerms(sold, { stateUntil: after(at, terms.silentPeriod) }));
  const end = endOf(sold.answer) ?? at;
  const until = after(end, terms.period);
  // At the last possible instant, nothing follows.
  return until > end ? tell(active(sold, until, at), "RENEWED") : tell(expired(sold, at), "EXPIRED");
};

/**
 * The subscription after the end of its state, at the given time; null: the store drops it.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions
 */
export const afterState = (sold: SoldSubscription, at: Instant): Outcome | null => {
  if (sold.terms === null) return outcome(sold);
  switch (stateOf(sold)) {
    case "ACTIVE":
      return periodEnds(sold, sold.terms, at);
    case "IN_GRACE_PERIOD":
      return afterGrace(sold, sold.terms, at);
    case "ON_HOLD":
      return endedByStore(sold, at);
    case "PAUSED":
      return afterPause(sold, sold.terms, at);
    case "CANCELED":
      return tell(expired(sold, at), "EXPIRED");
    default:
      return null;
  }
};
