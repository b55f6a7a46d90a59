import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import type { AndroidChange, ChangeDetails } from "./changes.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { Outcome } from "./outcome.ts";
import { after, endOf, isPrepaid, type SoldSubscription, type SubscriptionLine } from "./purchases.ts";
import { changeItems } from "./subscription-items.ts";
import { refundWithoutRevocation, reviewRefund, revoke, voidOrder } from "./subscription-refunds.ts";
import {
  active,
  canceled,
  endsWithPeriod,
  expired,
  inGracePeriod,
  onHold,
  paused,
  requireState,
  stateOf,
  tell,
  termsOfRenewing,
  withLines,
  type SubscriptionStep,
} from "./subscription-states.ts";
import { acknowledgeBy, type SubscriptionTerms } from "./terms.ts";

/** Changes of one subscription; the shop makes the others. */
type OwnChange = Exclude<AndroidChange, "acknowledge" | "replace" | "upgrade" | "top-up">;

const MONTH = "P1M";

const withTerms = (sold: SoldSubscription, terms: Partial<SubscriptionTerms>): SoldSubscription => ({
  ...sold,
  terms: sold.terms === null ? null : { ...sold.terms, ...terms },
});

const complete: SubscriptionStep = (sold, { period }, now) => {
  const length = period ?? sold.terms?.period ?? MONTH;
  const until = after(now, length);
  const paid = active(sold, until, now);
  const prepaidUntil = isPrepaid(sold.answer) ? until : null;
  const test = sold.answer.testPurchase !== undefined;
  return tell(
    withTerms(
      { ...paid, answer: { ...paid.answer, startTime: isoTime(now) } },
      { period: length, acknowledgeBy: acknowledgeBy(now, { test, prepaidUntil }) },
    ),
    "PURCHASED",
  );
};

const renew: SubscriptionStep = (sold, { period }, now) => {
  const until = after(Math.max(endOf(sold.answer) ?? now, now), period ?? sold.terms?.period ?? MONTH);
  const resumed = ["ON_HOLD", "PAUSED"].includes(stateOf(sold));
  return tell(active(sold, until, now), resumed ? "RECOVERED" : "RENEWED");
};

const restart: SubscriptionStep = (sold, _, now) => {
  requireState(sold, "CANCELED");
  const until = endOf(sold.answer);
  if (until === null || until <= now) throw new ImpossibleChange("The subscription has ended.");
  const { canceledStateContext: _context, ...answer } = sold.answer;
  const restored = withLines(
    { ...sold, answer: { ...answer, subscriptionState: "SUBSCRIPTION_STATE_ACTIVE" } },
    (line) =>
      line.autoRenewingPlan === undefined || endsWithPeriod(line)
        ? line
        : { ...line, autoRenewingPlan: { ...line.autoRenewingPlan, autoRenewEnabled: true } },
  );
  return tell(restored, "RESTARTED");
};

const failBilling: SubscriptionStep = (sold, { silentPeriod, gracePeriod, accountHold }) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE", "PAUSED");
  return tell(
    withTerms(sold, {
      paymentFails: true,
      ...(silentPeriod !== undefined && { silentPeriod }),
      ...(gracePeriod !== undefined && { gracePeriod }),
      ...(accountHold !== undefined && { accountHold }),
    }),
  );
};

const recover: SubscriptionStep = (sold, _, now) => {
  const { period, paidUntil, paymentFails, stateUntil } = termsOfRenewing(sold);
  requireState(sold, "ACTIVE", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED");
  if (!paymentFails) throw new ImpossibleChange("No payment fails.");
  if (stateOf(sold) === "ON_HOLD") return tell(active(sold, after(now, period), now), "RECOVERED");
  const silent = stateOf(sold) === "ACTIVE" && stateUntil !== null;
  if (!silent && stateOf(sold) !== "IN_GRACE_PERIOD") return tell(withTerms(sold, { paymentFails: false }));
  const until = after(paidUntil ?? now, period);
  return tell(active(sold, until > now ? until : after(now, period), now), "RENEWED");
};

const schedulePause: SubscriptionStep = (sold, { period = MONTH }) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  return tell(withTerms(sold, { pause: period }), "PAUSE_SCHEDULE_CHANGED");
};

const resume: SubscriptionStep = (sold, _, now) => {
  const { pause, period, paymentFails } = termsOfRenewing(sold);
  if (stateOf(sold) === "PAUSED")
    return paymentFails
      ? tell(onHold(sold, now), "ON_HOLD")
      : tell(active(sold, after(now, period), now), "RECOVERED");
  if (pause === null) throw new ImpossibleChange("No pause is scheduled.");
  return tell(withTerms(sold, { pause: null }), "PAUSE_SCHEDULE_CHANGED");
};

const defer: SubscriptionStep = (sold, { period }, now) => {
  requireState(sold, "ACTIVE");
  const end = endOf(sold.answer);
  if (end === null || end <= now) throw new ImpossibleChange("The period has ended.");
  const until = after(end, period ?? sold.terms?.period ?? MONTH);
  const moved = (line: SubscriptionLine): SubscriptionLine =>
    line.expiryTime == null ? line : { ...line, expiryTime: isoTime(until) };
  return tell(withLines(sold, moved, { paidUntil: until }), "DEFERRED");
};

const oneTimeOnly: SubscriptionStep = () => {
  throw new ImpossibleChange("The change is possible for one-time purchases only.");
};

const STEPS: Record<OwnChange, SubscriptionStep> = {
  complete,
  decline: (sold) =>
    tell(
      {
        ...sold,
        answer: { ...sold.answer, subscriptionState: "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED" },
      },
      "PENDING_PURCHASE_CANCELED",
    ),
  renew,
  cancel: (sold, _, now) =>
    tell(canceled(sold, { userInitiatedCancellation: { cancelTime: isoTime(now) } }), "CANCELED"),
  restart,
  "fail-billing": failBilling,
  recover,
  grace: (sold, { period = MONTH }, now) =>
    tell(withTerms(inGracePeriod(sold, after(now, period)), { paidUntil: now }), "IN_GRACE_PERIOD"),
  hold: (sold, _, now) => tell(onHold(sold, now), "ON_HOLD"),
  pause: (sold, { period = MONTH }, now) => tell(paused(sold, after(now, period), now), "PAUSED"),
  "schedule-pause": schedulePause,
  resume,
  expire: (sold, _, now) => tell(expired(sold, now), "EXPIRED"),
  defer,
  "items-changed": changeItems,
  refund: revoke,
  revoke,
  "refund-partly": oneTimeOnly,
  "refund-without-revocation": refundWithoutRevocation,
  "void-order": voidOrder,
  "refund-review": reviewRefund,
  consume: oneTimeOnly,
};

/** @throws ImpossibleChange */
export const changedSubscription = (
  sold: SoldSubscription,
  change: OwnChange,
  details: ChangeDetails,
  now: Instant,
): Outcome<SoldSubscription> => {
  const state = stateOf(sold);
  if (change === "complete" || change === "decline") requireState(sold, "PENDING");
  else if (state === "PENDING" || state === "PENDING_PURCHASE_CANCELED")
    throw new ImpossibleChange("The purchase is not paid: complete or decline it while it is pending.");
  return STEPS[change](sold, details, now);
};
