import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import type { Change, ChangeDetails } from "./changes.ts";
import { ImpossibleChange, outcome, type Outcome } from "./outcome.ts";
import {
  after,
  endOf,
  isPrepaid,
  orderId,
  type SoldSubscription,
  type SubscriptionLine,
} from "./purchases.ts";
import {
  active,
  canceled,
  endsWithPeriod,
  expired,
  inGracePeriod,
  linesOf,
  onHold,
  paused,
  requireState,
  stateOf,
  tell,
  termsOfRenewing,
  withLines,
} from "./subscription-states.ts";
import { acknowledgeBy, type SubscriptionTerms } from "./terms.ts";
import type { VoidedOrder } from "./voided-purchases.ts";

type Step = (sold: SoldSubscription, details: ChangeDetails, now: Instant) => Outcome<SoldSubscription>;

/** Changes of one subscription; those that make another purchase are the shop's. */
type OwnChange = Exclude<Change, "replace" | "upgrade" | "top-up">;

const MONTH = "P1M";
/** Price of everything after a change. */
const NEW_PRICE = { currencyCode: "USD", units: "9", nanos: 990_000_000 };

const withTerms = (sold: SoldSubscription, terms: Partial<SubscriptionTerms>): SoldSubscription => ({
  ...sold,
  terms: sold.terms === null ? null : { ...sold.terms, ...terms },
});

const latestOrder = (sold: SoldSubscription): string | null => {
  const end = endOf(sold.answer);
  const paid = linesOf(sold).filter(({ latestSuccessfulOrderId }) => latestSuccessfulOrderId != null);
  const latest =
    paid.find(({ expiryTime }) => expiryTime != null && Date.parse(expiryTime) === end) ?? paid[0];
  return latest?.latestSuccessfulOrderId ?? null;
};

const voidOf = (
  sold: SoldSubscription,
  now: Instant,
  reason: Pick<VoidedOrder, "by" | "for">,
): VoidedOrder | null => {
  const order = latestOrder(sold);
  const start = sold.answer.startTime;
  const orderedAt = sold.terms?.orderedAt ?? (start == null ? now : Date.parse(start));
  return order === null ? null : { orderId: order, orderedAt, quantity: null, ...reason };
};

/** Refunded and revoked: over at once, and the order is voided. */
export const revokedSubscription = (
  sold: SoldSubscription,
  now: Instant,
  reason: Pick<VoidedOrder, "by" | "for">,
): Outcome<SoldSubscription> => {
  const over = stateOf(sold) === "EXPIRED";
  return {
    ...(over ? outcome(sold) : tell(expired(sold, now), "REVOKED")),
    voided: voidOf(sold, now, reason),
  };
};

const revoke: Step = (sold, _, now) => revokedSubscription(sold, now, { by: "developer", for: "other" });

const complete: Step = (sold, { period }, now) => {
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

const renew: Step = (sold, { period }, now) => {
  const until = after(Math.max(endOf(sold.answer) ?? now, now), period ?? sold.terms?.period ?? MONTH);
  const resumed = ["ON_HOLD", "PAUSED"].includes(stateOf(sold));
  return tell(active(sold, until, now), resumed ? "RECOVERED" : "RENEWED");
};

const restart: Step = (sold, _, now) => {
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

const failBilling: Step = (sold, { silentPeriod, gracePeriod, accountHold }) => {
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

const recover: Step = (sold, _, now) => {
  const { period, paidUntil, paymentFails, stateUntil } = termsOfRenewing(sold);
  requireState(sold, "ACTIVE", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED");
  if (!paymentFails) throw new ImpossibleChange("No payment fails.");
  if (stateOf(sold) === "ON_HOLD") return tell(active(sold, after(now, period), now), "RECOVERED");
  const silent = stateOf(sold) === "ACTIVE" && stateUntil !== null;
  if (!silent && stateOf(sold) !== "IN_GRACE_PERIOD") return tell(withTerms(sold, { paymentFails: false }));
  const until = after(paidUntil ?? now, period);
  return tell(active(sold, until > now ? until : after(now, period), now), "RENEWED");
};

const schedulePause: Step = (sold, { period = MONTH }) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  return tell(withTerms(sold, { pause: period }), "PAUSE_SCHEDULE_CHANGED");
};

const resume: Step = (sold, _, now) => {
  const { pause, period, paymentFails } = termsOfRenewing(sold);
  if (stateOf(sold) === "PAUSED")
    return paymentFails
      ? tell(onHold(sold, now), "ON_HOLD")
      : tell(active(sold, after(now, period), now), "RECOVERED");
  if (pause === null) throw new ImpossibleChange("No pause is scheduled.");
  return tell(withTerms(sold, { pause: null }), "PAUSE_SCHEDULE_CHANGED");
};

const defer: Step = (sold, { period }, now) => {
  requireState(sold, "ACTIVE");
  const end = endOf(sold.answer);
  if (end === null || end <= now) throw new ImpossibleChange("The period has ended.");
  const until = after(end, period ?? sold.terms?.period ?? MONTH);
  const moved = (line: SubscriptionLine): SubscriptionLine =>
    line.expiryTime == null ? line : { ...line, expiryTime: isoTime(until) };
  return tell(withLines(sold, moved, { paidUntil: until }), "DEFERRED");
};

const changeItems: Step = (sold, { adds, removes }) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  const running = linesOf(sold).filter((line) => !endsWithPeriod(line));
  const end = endOf(sold.answer);
  if (adds === undefined && removes === undefined)
    throw new ImpossibleChange("Name an item that is added (adds) or removed (removes).");
  if (linesOf(sold).some(({ productId }) => productId === adds))
    throw new ImpossibleChange("The subscription has that item.");
  if (removes !== undefined && !running.some(({ productId }) => productId === removes))
    throw new ImpossibleChange("The subscription has no such item.");
  if (removes !== undefined && adds === undefined && running.length === 1)
    throw new ImpossibleChange("The last item cannot be removed: cancel the subscription.");
  const marked = withLines(sold, (line) =>
    line.productId === removes && !endsWithPeriod(line)
      ? {
          ...line,
          autoRenewingPlan: { ...line.autoRenewingPlan, autoRenewEnabled: false },
          deferredItemRemoval: {},
        }
      : line,
  );
  const added: SubscriptionLine[] =
    adds === undefined || end === null
      ? []
      : [
          {
            productId: adds,
            expiryTime: isoTime(end),
            latestSuccessfulOrderId: orderId(),
            autoRenewingPlan: { autoRenewEnabled: true },
          },
        ];
  return tell(
    { ...marked, answer: { ...marked.answer, lineItems: [...linesOf(marked), ...added] } },
    "ITEMS_CHANGED",
  );
};

type Plan = NonNullable<SubscriptionLine["autoRenewingPlan"]>;

const withPlans = (sold: SoldSubscription, change: (plan: Plan, line: SubscriptionLine) => Plan) =>
  withLines(sold, (line) =>
    line.autoRenewingPlan === undefined || endsWithPeriod(line)
      ? line
      : { ...line, autoRenewingPlan: change(line.autoRenewingPlan, line) },
  );

const changePrice: Step = (sold) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  const raised = withPlans(sold, (plan, { expiryTime }) => ({
    ...plan,
    priceChangeDetails: {
      newPrice: NEW_PRICE,
      priceChangeMode: "PRICE_INCREASE",
      priceChangeState: "OUTSTANDING",
      ...(expiryTime != null && { expectedNewPriceChargeTime: expiryTime }),
    },
  }));
  return tell(raised, "PRICE_CHANGE_UPDATED");
};

const consentToPriceChange: Step = (sold) => {
  if (!linesOf(sold).some(awaitsPriceConsent)) throw new ImpossibleChange("No price change is outstanding.");
  const agreed = withPlans(sold, (plan) =>
    plan.priceChangeDetails?.priceChangeState === "OUTSTANDING"
      ? { ...plan, priceChangeDetails: { ...plan.priceChangeDetails, priceChangeState: "CONFIRMED" } }
      : plan,
  );
  const alone = linesOf(sold).length === 1;
  return alone
    ? tell(agreed, "PRICE_CHANGE_UPDATED", "PRICE_CHANGE_CONFIRMED")
    : tell(agreed, "PRICE_CHANGE_UPDATED");
};

const stepUpPrice: Step = (sold) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  const asked = withPlans(sold, (plan, { expiryTime }) => ({
    ...plan,
    priceStepUpConsentDetails: {
      newPrice: NEW_PRICE,
      state: "PENDING",
      ...(expiryTime != null && { consentDeadlineTime: expiryTime }),
    },
  }));
  return tell(asked, "PRICE_STEP_UP_CONSENT_UPDATED");
};

const consentToStepUp: Step = (sold) => {
  if (!linesOf(sold).some(awaitsStepUpConsent)) throw new ImpossibleChange("No consent is pending.");
  const agreed = withPlans(sold, (plan) =>
    plan.priceStepUpConsentDetails?.state === "PENDING"
      ? { ...plan, priceStepUpConsentDetails: { ...plan.priceStepUpConsentDetails, state: "CONFIRMED" } }
      : plan,
  );
  return tell(agreed, "PRICE_STEP_UP_CONSENT_UPDATED");
};

const awaitsPriceConsent = ({ autoRenewingPlan: plan }: SubscriptionLine): boolean =>
  plan?.priceChangeDetails?.priceChangeState === "OUTSTANDING";

const awaitsStepUpConsent = ({ autoRenewingPlan: plan }: SubscriptionLine): boolean =>
  plan?.priceStepUpConsentDetails?.state === "PENDING";

/** Whether the user has yet to agree to a price before the subscription can be renewed. */
export const awaitsConsent = (sold: SoldSubscription): boolean =>
  linesOf(sold).some((line) => awaitsPriceConsent(line) || awaitsStepUpConsent(line));

/** Price of the latest order is given back; the store says so nowhere. */
const refundWithoutRevocation: Step = (sold) => {
  if (latestOrder(sold) === null) throw new ImpossibleChange("Nothing was paid.");
  return tell(sold);
};

const voidOrder: Step = (sold, _, now) => {
  const voided = voidOf(sold, now, { by: "user", for: "chargeback" });
  if (voided === null) throw new ImpossibleChange("Nothing was paid.");
  return { ...outcome(sold), voided };
};

const reviewRefund: Step = (sold) => {
  const order = latestOrder(sold);
  if (order === null) throw new ImpossibleChange("Nothing was paid.");
  return outcome(sold, { refundReview: `review.${order}`, orderId: order });
};

const oneTimeOnly: Step = () => {
  throw new ImpossibleChange("The change is possible for one-time purchases only.");
};

const STEPS: Record<OwnChange, Step> = {
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
  "price-change": changePrice,
  "price-change-consent": consentToPriceChange,
  "price-step-up": stepUpPrice,
  "price-step-up-consent": consentToStepUp,
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
