import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../routes.ts";
import {
  ACKNOWLEDGED,
  after,
  endOf,
  instantOf,
  isPaid,
  orderId,
  outcome,
  skuOf,
  withAnswer,
  withOffer,
  withPurchaseState,
  type Outcome,
  type SoldOneTimePurchase,
  type SoldPurchase,
  type SoldSubscription,
  type SubscriptionLine,
  type VoidedOrder,
} from "./purchases.ts";
import type { AndroidChange, ChangeDetails } from "./requests.ts";
import { completed, completedOnce } from "./sale.ts";
import {
  active,
  afterPause,
  canceled,
  currentLinesOf,
  endsWithPeriod,
  expired,
  failedPaymentPhases,
  inGracePeriod,
  linesOf,
  MONTH,
  onHold,
  paused,
  periodFrom,
  recovered,
  requireState,
  stateOf,
  tell,
  termsOfRenewing,
  withLines,
  withRenewal,
  withTerms,
} from "./subscription-states.ts";

/** The latest order that was paid; null: none was. */
const latestOrder = (sold: SoldPurchase, now: Instant): Pick<VoidedOrder, "orderId" | "orderedAt"> | null => {
  if (sold.productKind === "one_time_product") {
    const { orderId, purchaseCompletionTime } = sold.answer;
    return orderId == null ? null : { orderId, orderedAt: instantOf(purchaseCompletionTime) ?? now };
  }
  const end = endOf(sold.answer);
  const paid = linesOf(sold).filter(({ latestSuccessfulOrderId }) => latestSuccessfulOrderId != null);
  const latest = paid.find(({ expiryTime }) => instantOf(expiryTime) === end) ?? paid[0];
  const orderId = latest?.latestSuccessfulOrderId;
  const orderedAt = sold.terms?.orderedAt ?? instantOf(sold.answer.startTime) ?? now;
  return orderId == null ? null : { orderId, orderedAt };
};

const paidOrder = (sold: SoldPurchase, now: Instant) => {
  const order = latestOrder(sold, now);
  if (order === null) throw new ImpossibleChange("Nothing was paid.");
  return order;
};

/** Refunded and revoked: over at once, and the order is voided. Of a one-time purchase, only the void is notified. */
export const revoked = (
  sold: SoldPurchase,
  now: Instant,
  reason: Pick<VoidedOrder, "by" | "for">,
): Outcome => {
  const order = latestOrder(sold, now);
  const voided = order === null ? null : { ...order, quantity: null, ...reason };
  if (sold.productKind === "one_time_product") {
    const refunded = withOffer(sold, { refundableQuantity: 0 });
    return { ...outcome(withPurchaseState(refunded, "CANCELLED")), voided };
  }
  const over = stateOf(sold) === "EXPIRED" ? outcome(sold) : tell(expired(sold, now), "REVOKED");
  return { ...over, voided };
};

/** A change of a purchase. Throws ImpossibleChange. */
type Step<Sold> = (sold: Sold, details: ChangeDetails, now: Instant) => Outcome;
type Steps<Sold> = Partial<Record<AndroidChange, Step<Sold>>>;

const revoke: Step<SoldPurchase> = (sold, _, now) => revoked(sold, now, { by: "developer", for: "other" });

const acknowledged: Step<SoldPurchase> = (sold) => {
  if (!isPaid(sold) || sold.answer.acknowledgementState === ACKNOWLEDGED)
    throw new ImpossibleChange("The purchase does not wait to be acknowledged.");
  const answer = { ...sold.answer, acknowledgementState: ACKNOWLEDGED };
  // Google leaves out of an acknowledged purchase that it was bought outside the app.
  if ("outOfAppPurchaseContext" in answer) delete answer.outOfAppPurchaseContext;
  return outcome({ ...sold, answer } as SoldPurchase);
};

/** Changes of both kinds of purchase. */
const STEPS: Steps<SoldPurchase> = {
  acknowledge: acknowledged,
  refund: revoke,
  revoke,
  // Neither a subscription's answer nor a notification says so.
  "refund-without-revocation": (sold, _, now) => {
    paidOrder(sold, now);
    return outcome(sold.productKind === "subscription" ? sold : withOffer(sold, { refundableQuantity: 0 }));
  },
  "void-order": (sold, _, now) => ({
    ...outcome(sold),
    voided: { ...paidOrder(sold, now), quantity: null, by: "user", for: "chargeback" },
  }),
  "refund-review": (sold, _, now) => {
    const { orderId } = paidOrder(sold, now);
    return outcome(sold, { refundReview: `review.${orderId}`, orderId });
  },
};

/** Refunds and revokes a part of a quantity, or what remains of it. */
const refundedPartly: Step<SoldOneTimePurchase> = (sold, { quantity = 1 }, now) => {
  const offer = sold.answer.productLineItem?.[0]?.productOfferDetails;
  const refundableQuantity = (offer?.refundableQuantity ?? offer?.quantity ?? 1) - quantity;
  if (refundableQuantity < 0) throw new ImpossibleChange("That quantity is not left to be refunded.");
  if (refundableQuantity === 0) return revoke(sold, {}, now);
  const voided = { ...paidOrder(sold, now), quantity, by: "developer", for: "other" } as const;
  return { ...outcome(withOffer(sold, { refundableQuantity })), voided };
};

const ONE_TIME_STEPS: Steps<SoldOneTimePurchase> = {
  ...STEPS,
  complete: (sold, _, now) => completedOnce(sold, now),
  decline: (sold) =>
    outcome(withPurchaseState(sold, "CANCELLED"), { oneTimeProduct: "CANCELED", sku: skuOf(sold) }),
  "refund-partly": refundedPartly,
  consume: (sold) => {
    const consumed = withOffer(sold, { consumptionState: "CONSUMPTION_STATE_CONSUMED" });
    return outcome(withAnswer(consumed, { acknowledgementState: ACKNOWLEDGED }));
  },
};

/** Adds an add-on at once, or removes one at the end of the period. */
const changeItems: Step<SoldSubscription> = (sold, { adds, removes }) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  const current = currentLinesOf(sold);
  const running = current.filter((line) => !endsWithPeriod(line));
  const end = endOf(sold.answer);
  if (adds === undefined && removes === undefined)
    throw new ImpossibleChange("Name an item that is added (adds) or removed (removes).");
  if (current.some(({ productId }) => productId === adds))
    throw new ImpossibleChange("The subscription has that item.");
  if (removes !== undefined && !running.some(({ productId }) => productId === removes))
    throw new ImpossibleChange("The subscription has no such item.");
  if (removes !== undefined && adds === undefined && running.length === 1)
    throw new ImpossibleChange("The last item cannot be removed: cancel the subscription.");
  const marked = withLines(sold, (line) =>
    line.productId === removes && !endsWithPeriod(line)
      ? { ...withRenewal(line, false), deferredItemRemoval: {} }
      : line,
  );
  // An item that was removed and is over returns in its own place.
  const lineItems = linesOf(marked).filter(({ productId }) => productId !== adds);
  if (adds !== undefined && end !== null)
    lineItems.push({
      productId: adds,
      expiryTime: isoTime(end),
      latestSuccessfulOrderId: orderId(),
      autoRenewingPlan: { autoRenewEnabled: true },
    });
  return tell(withAnswer(marked, { lineItems }), "ITEMS_CHANGED");
};

const SUBSCRIPTION_STEPS: Steps<SoldSubscription> = {
  ...STEPS,
  complete: (sold, { period = sold.terms?.period ?? MONTH }, now) =>
    tell(completed(withTerms(sold, { period }), after(now, period), now), "PURCHASED"),
  decline: (sold) =>
    tell(
      withAnswer(sold, { subscriptionState: "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED" }),
      "PENDING_PURCHASE_CANCELED",
    ),
  renew: (sold, details, now) => {
    const until = periodFrom(Math.max(endOf(sold.answer) ?? now, now), sold, details);
    const resumed = ["ON_HOLD", "PAUSED"].includes(stateOf(sold));
    return tell(active(sold, until, now), resumed ? "RECOVERED" : "RENEWED");
  },
  cancel: (sold, _, now) => canceled(sold, now),
  restart: (sold, _, now) => {
    requireState(sold, "CANCELED");
    const until = endOf(sold.answer);
    if (until === null || until <= now) throw new ImpossibleChange("The subscription has ended.");
    const { canceledStateContext: _context, ...answer } = sold.answer;
    const restored = withLines(
      { ...sold, answer: { ...answer, subscriptionState: "SUBSCRIPTION_STATE_ACTIVE" } },
      (line) => (endsWithPeriod(line) ? line : withRenewal(line, true)),
    );
    return tell(restored, "RESTARTED");
  },
  "fail-billing": (sold, details) => {
    const terms = termsOfRenewing(sold);
    requireState(sold, "ACTIVE", "PAUSED");
    return tell(withTerms(sold, { paymentFails: true, ...failedPaymentPhases(terms, details) }));
  },
  recover: (sold, _, now) => {
    const terms = termsOfRenewing(sold);
    const { period, paidUntil, paymentFails, stateUntil } = terms;
    requireState(sold, "ACTIVE", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED");
    if (!paymentFails) throw new ImpossibleChange("No payment fails.");
    if (stateOf(sold) === "ON_HOLD") return recovered(sold, terms, now);
    const silent = stateOf(sold) === "ACTIVE" && stateUntil !== null;
    if (!silent && stateOf(sold) !== "IN_GRACE_PERIOD") return tell(withTerms(sold, { paymentFails: false }));
    const until = after(paidUntil ?? now, period);
    return tell(active(sold, until > now ? until : after(now, period), now), "RENEWED");
  },
  grace: (sold, { period = MONTH }, now) =>
    inGracePeriod(withTerms(sold, { paidUntil: now }), after(now, period)),
  hold: (sold, _, now) => onHold(sold, now),
  pause: (sold, { period = MONTH }, now) => paused(sold, after(now, period), now),
  "schedule-pause": (sold, { period = MONTH }) => {
    termsOfRenewing(sold);
    requireState(sold, "ACTIVE");
    return tell(withTerms(sold, { pause: period }), "PAUSE_SCHEDULE_CHANGED");
  },
  resume: (sold, _, now) => {
    const terms = termsOfRenewing(sold);
    if (stateOf(sold) === "PAUSED") return afterPause(sold, terms, now);
    if (terms.pause === null) throw new ImpossibleChange("No pause is scheduled.");
    return tell(withTerms(sold, { pause: null }), "PAUSE_SCHEDULE_CHANGED");
  },
  expire: (sold, _, now) => tell(expired(sold, now), "EXPIRED"),
  defer: (sold, details, now) => {
    requireState(sold, "ACTIVE");
    const end = endOf(sold.answer);
    if (end === null || end <= now) throw new ImpossibleChange("The period has ended.");
    const until = periodFrom(end, sold, details);
    const moved = (line: SubscriptionLine): SubscriptionLine =>
      line.expiryTime == null ? line : { ...line, expiryTime: isoTime(until) };
    return tell(withTerms(withLines(sold, moved), { paidUntil: until }), "DEFERRED");
  },
  "items-changed": changeItems,
};

/** @throws ImpossibleChange */
export const changed = (
  before: SoldPurchase,
  change: AndroidChange,
  details: ChangeDetails,
  now: Instant,
): Outcome => {
  const isSubscription = before.productKind === "subscription";
  const state = stateOf(before);
  const wasPaid = isSubscription ? !state.startsWith("PENDING") : state === "PURCHASED";
  const isAllowed = change === "complete" || change === "decline" ? state === "PENDING" : wasPaid;
  if (!isAllowed)
    throw new ImpossibleChange(`The change is not possible for a purchase in ${state || "no state"}.`);
  const made = isSubscription
    ? SUBSCRIPTION_STEPS[change]?.(before, details, now)
    : ONE_TIME_STEPS[change]?.(before, details, now);
  if (made === undefined)
    throw new ImpossibleChange(`The change is not possible for a ${before.productKind}.`);
  return made;
};
