import type { Instant } from "../../../lib/entitlements/time.ts";
import { earliest } from "../../clock.ts";
import {
  ACKNOWLEDGEMENT_PENDING,
  after,
  endOf,
  isPaid,
  isPrepaid,
  instantOf,
  type SoldPurchase,
  type SoldSubscription,
  type SubscriptionTerms,
  outcome,
  type Outcome,
} from "./purchases.ts";
import { revoked } from "./changes.ts";
import {
  active,
  afterPause,
  endedByStore,
  expired,
  inGracePeriod,
  onHold,
  paused,
  stateOf,
  tell,
  withTerms,
} from "./subscription-states.ts";

const UNACKNOWLEDGED = { by: "google", for: "unacknowledged" } as const;

const acknowledgementDue = (sold: SoldPurchase): Instant | null =>
  sold.terms !== null && isPaid(sold) && sold.answer.acknowledgementState === ACKNOWLEDGEMENT_PENDING
    ? sold.terms.acknowledgeBy
    : null;

const stateEnds = (sold: SoldSubscription, { stateUntil }: SubscriptionTerms): Instant | null => {
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

/** Time of the purchase's next own event; null: none. */
export const nextEventOf = (sold: SoldPurchase): Instant | null =>
  earliest(
    acknowledgementDue(sold),
    sold.productKind === "one_time_product" || sold.terms === null ? null : stateEnds(sold, sold.terms),
  );

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
 * The purchase after its next event, which happens at the given time; null: the store drops it.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions
 */
export const afterEvent = (sold: SoldPurchase, at: Instant): Outcome | null => {
  const due = acknowledgementDue(sold);
  if (sold.productKind === "one_time_product") return revoked(sold, at, UNACKNOWLEDGED);
  if (sold.terms === null) return outcome(sold);
  const ends = stateEnds(sold, sold.terms);
  if (due !== null && (ends === null || due <= ends)) return revoked(sold, at, UNACKNOWLEDGED);
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
