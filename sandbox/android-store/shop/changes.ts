import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../routes.ts";
import {
  acknowledgeBy,
  ACKNOWLEDGED,
  after,
  endOf,
  isPaid,
  isPrepaid,
  orderId,
  outcome,
  withAnswer,
  withOffer,
  withPurchaseState,
  type Outcome,
  type SoldOneTimePurchase,
  type SoldPurchase,
  type SoldSubscription,
  type SubscriptionLine,
} from "./purchases.ts";
import { refundedPartly, REFUNDS } from "./refunds.ts";
import type { AndroidChange, ChangeDetails } from "./requests.ts";
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
  onHold,
  paused,
  recovered,
  requireState,
  stateOf,
  tell,
  termsOfRenewing,
  withLines,
  withRenewal,
  withTerms,
  type SubscriptionStep,
} from "./subscription-states.ts";

type OneTimeStep = (sold: SoldOneTimePurchase, details: ChangeDetails, now: Instant) => Outcome;

const skuOf = ({ answer }: SoldOneTimePurchase): string => answer.productLineItem?.[0]?.productId ?? "";

/** Paid now. */
export const completedOnce = (
  sold: SoldOneTimePurchase,
  now: Instant,
  orderIdentifier = orderId(),
): Outcome => {
  const test = sold.answer.testPurchaseContext !== undefined;
  const fields = { orderId: orderIdentifier, purchaseCompletionTime: isoTime(now) };
  const paid = withAnswer(withPurchaseState(sold, "PURCHASED"), fields);
  const terms =
    sold.terms === null ? null : { acknowledgeBy: acknowledgeBy(now, { test, prepaidUntil: null }) };
  return outcome({ ...paid, terms }, { oneTimeProduct: "PURCHASED", sku: skuOf(sold) });
};

const ONE_TIME_STEPS: Partial<Record<AndroidChange, OneTimeStep>> = {
  ...REFUNDS,
  complete: (sold, _, now) => completedOnce(sold, now),
  decline: (sold) =>
    outcome(withPurchaseState(sold, "CANCELLED"), { oneTimeProduct: "CANCELED", sku: skuOf(sold) }),
  "refund-partly": refundedPartly,
  consume: (sold) => {
    const consumed = withOffer(sold, { consumptionState: "CONSUMPTION_STATE_CONSUMED" });
    return outcome(withAnswer(consumed, { acknowledgementState: ACKNOWLEDGED }));
  },
};

const MONTH = "P1M";

/** End of a period that begins at the given time: the requested one, or as long as the subscription's own. */
const periodFrom = (begin: Instant, { terms }: SoldSubscription, { period }: ChangeDetails): Instant =>
  after(begin, period ?? terms?.period ?? MONTH);

/** Paid now, until the given end. */
export const completed = (
  sold: SoldSubscription,
  until: Instant,
  now: Instant,
  orderIdentifier = orderId(),
): SoldSubscription => {
  const paid = active(sold, until, now, orderIdentifier);
  const test = sold.answer.testPurchase !== undefined;
  const prepaidUntil = isPrepaid(sold.answer) ? periodFrom(now, sold, {}) : null;
  const started = withAnswer(paid, { startTime: isoTime(now) });
  return withTerms(started, { acknowledgeBy: acknowledgeBy(now, { test, prepaidUntil }) });
};

/** Adds an add-on at once, or removes one at the end of the period. */
const changeItems: SubscriptionStep = (sold, { adds, removes }) => {
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

const SUBSCRIPTION_STEPS: Partial<Record<AndroidChange, SubscriptionStep>> = {
  ...REFUNDS,
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
const acknowledged = (sold: SoldPurchase): Outcome => {
  if (!isPaid(sold) || sold.answer.acknowledgementState === ACKNOWLEDGED)
    throw new ImpossibleChange("The purchase does not wait to be acknowledged.");
  const answer = { ...sold.answer, acknowledgementState: ACKNOWLEDGED };
  // Google leaves out of an acknowledged purchase that it was bought outside the app.
  if ("outOfAppPurchaseContext" in answer) delete answer.outOfAppPurchaseContext;
  return outcome({ ...sold, answer } as SoldPurchase);
};

/** @throws ImpossibleChange */
export const changed = (
  before: SoldPurchase,
  change: AndroidChange,
  details: ChangeDetails,
  now: Instant,
): Outcome => {
  if (change === "acknowledge") return acknowledged(before);
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
