import * as z from "zod/mini";
import { DAY } from "../../duration.ts";
import {
  isOverAt,
  lineOrder,
  purchaseOf,
  type Line,
  type Purchase,
  type Standing,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { ACKNOWLEDGED, orNull, text, timestamp } from "./answers.ts";
import {
  lineOf,
  pendingAcknowledgement,
  purchaseKeyOfToken,
  purchaseReferenceOf,
  type PendingAcknowledgement,
  type Question,
  type Reading,
} from "./reading.ts";

/** By the states of a subscription. Null: bought but not paid, so nothing is owned. */
const STANDING = {
  SUBSCRIPTION_STATE_PENDING: null,
  SUBSCRIPTION_STATE_ACTIVE: "entitled",
  SUBSCRIPTION_STATE_PAUSED: "paused",
  SUBSCRIPTION_STATE_IN_GRACE_PERIOD: "grace_period",
  SUBSCRIPTION_STATE_ON_HOLD: "billing_retry",
  SUBSCRIPTION_STATE_CANCELED: "entitled",
  SUBSCRIPTION_STATE_EXPIRED: "expired",
  SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED: null,
  // The reference has no such state; the page on pending transactions of subscriptions names it where such a payment ran out.
  SUBSCRIPTION_STATE_PENDING_PURCHASE_EXPIRED: null,
} as const satisfies Record<string, Standing | null>;

export type SubscriptionState = keyof typeof STANDING;

const subscriptionLine = once(() =>
  z.object({
    productId: text(),
    expiryTime: orNull(timestamp()),
    latestSuccessfulOrderId: orNull(z.string()),
    offerDetails: orNull(z.object({ basePlanId: orNull(text()) })),
    autoRenewingPlan: orNull(z.object({ autoRenewEnabled: orNull(z.boolean()) })),
    prepaidPlan: orNull(z.object({})),
    deferredItemReplacement: orNull(z.object({ productId: orNull(z.string()) })),
    deferredItemRemoval: orNull(z.object({})),
  }),
);

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionPurchaseV2 */
export const subscriptionAnswer = once(() =>
  z.object({
    subscriptionState: z.enum(Object.keys(STANDING) as SubscriptionState[]),
    startTime: orNull(timestamp()),
    lineItems: orNull(z.array(subscriptionLine())),
    linkedPurchaseToken: orNull(z.string()),
    acknowledgementState: orNull(z.string()),
    outOfAppPurchaseContext: orNull(z.object({ expiredPurchaseToken: orNull(z.string()) })),
    testPurchase: orNull(z.object({})),
  }),
);

type Answer = z.output<ReturnType<typeof subscriptionAnswer>>;
type Item = NonNullable<Answer["lineItems"]>[number];

/**
 * Whether a line is owned. One without an end or a successful order is not owned yet: it is the product of a deferred
 * replacement. One that will be replaced or removed needs only an end.
 */
const isOwned = ({
  expiryTime,
  latestSuccessfulOrderId,
  deferredItemReplacement,
  deferredItemRemoval,
}: Item): boolean =>
  expiryTime !== null &&
  (latestSuccessfulOrderId !== null || deferredItemReplacement !== null || deferredItemRemoval !== null);

/**
 * The lines that are owned. If none is, those with an end: an active subscription owns something (a promotion has no order), and
 * an expired one ends what was paid. If no line of an expired one has an end, all end at the purchase's start: the time of
 * the answer would differ each time.
 */
const ownedOf = (
  items: readonly Item[],
  standing: Standing | null,
  startTime: Instant | null,
): readonly Item[] => {
  const owned = items.filter(isOwned);
  const hasOrder = items.some(({ latestSuccessfulOrderId }) => latestSuccessfulOrderId !== null);
  if (owned.length > 0 || standing === null || (hasOrder && standing !== "expired")) return owned;
  const ended = items.filter(({ expiryTime }) => expiryTime !== null);
  if (ended.length > 0 || standing !== "expired") return ended;
  return items.map((item) => ({ ...item, expiryTime: startTime ?? 0 }));
};

/** Whether the line is charged again at its end: a replaced one as another product, a removed one never. */
const renews = ({ autoRenewingPlan, deferredItemReplacement, deferredItemRemoval }: Item): boolean =>
  deferredItemReplacement !== null ||
  (autoRenewingPlan?.autoRenewEnabled === true && deferredItemRemoval === null);

/** The item that will replace this one; undefined: the answer has none. */
const replacementOf = (item: Item, items: readonly Item[]): Item | undefined => {
  const { deferredItemReplacement: replacement } = item;
  if (replacement === null) return undefined;
  return items.find((other) => other !== item && other.productId === replacement.productId);
};

const lastEndOf = (items: readonly Item[]): Instant =>
  Math.max(...items.map(({ expiryTime }) => expiryTime ?? 0));

/**
 * Whether an item past its date is over although the subscription continues: Google renews, retries and holds each item by
 * itself. One that does not renew was cancelled or removed, if another renews or lasts. One that is to be replaced waits for its
 * replacement's payment.
 */
const isOver = (item: Item, owned: readonly Item[], items: readonly Item[], answeredAt: Instant): boolean => {
  if (renews(item) && item.deferredItemReplacement === null) return false;
  const replacement = replacementOf(item, items);
  return replacement === undefined
    ? lastEndOf(owned) > answeredAt || (!renews(item) && owned.some(renews))
    : owned.includes(replacement) && (replacement.expiryTime ?? 0) > answeredAt;
};

/**
 * End, during a grace period, of an item whose own date has passed: the next date ahead, at most a day after the
 * answer. Google moves the declined item's date to the end of the grace period and leaves later dates as they are.
 * Until then all items keep their access; then all go on hold. The answer looks the same at the end of the grace period, so
 * one day is assumed; also if a replacement's first payment failed, because its date may be the only one that moves.
 *
 * @param renewing those that renew
 * @see https://developer.android.com/google/play/billing/subscription-with-addons
 */
const endInGrace = (renewing: readonly Item[], items: readonly Item[], answeredAt: Instant): Instant => {
  const replaced = renewing.filter(({ deferredItemReplacement }) => deferredItemReplacement !== null);
  const replacements = replaced.flatMap((item) => replacementOf(item, items) ?? []);
  const ends = [...renewing, ...replacements].map(({ expiryTime }) => expiryTime ?? 0);
  const ahead = ends.filter((end) => end > answeredAt);
  return ahead.length > 0 || replaced.length > 0 ? Math.min(...ahead, answeredAt + DAY) : Math.max(...ends);
};

/** The owned lines, in the standing that the answer gives the whole subscription. */
const linesOf = (
  { subscriptionState, startTime, lineItems }: Answer,
  owned: readonly Item[],
  standing: Standing | null,
  answeredAt: Instant,
): readonly Line[] => {
  if (standing === null) return [];
  const items = lineItems ?? [];
  const carriedTo = standing === "grace_period" ? endInGrace(owned.filter(renews), items, answeredAt) : null;
  const isRenewed = subscriptionState !== "SUBSCRIPTION_STATE_CANCELED" && standing !== "expired";
  return owned.map((item) => {
    const isPast = (item.expiryTime ?? 0) <= answeredAt;
    const hasLeft = isPast && isOver(item, owned, items, answeredAt);
    return lineOf({
      productIdentifier: item.productId,
      basePlanIdentifier: item.offerDetails?.basePlanId ?? null,
      nature: "auto_renewable",
      standing: hasLeft ? "expired" : standing,
      startsAt: startTime,
      endsAt: carriedTo !== null && renews(item) && isPast && !hasLeft ? carriedTo : item.expiryTime,
      willRenew: isRenewed && !hasLeft && renews(item),
      verifiedAt: answeredAt,
    });
  });
};

/** The acknowledgement that is due. What is over has nothing left to refund; a hold or a pause may still end. */
const acknowledgementOf = (
  { startTime, acknowledgementState, linkedPurchaseToken }: Answer,
  owned: readonly Item[],
  purchase: Purchase,
  question: Question,
): PendingAcknowledgement | null => {
  const { lines } = purchase;
  // Google wants one of the purchase's products, of which the first may be over.
  const kept = lines.find(({ standing }) => standing !== "expired") ?? lines[0];
  const isOverNow = lines.every((line) => isOverAt(line, question.answeredAt));
  if (acknowledgementState === ACKNOWLEDGED || kept === undefined || isOverNow) return null;
  const prepaidUntil = owned.some(({ prepaidPlan }) => prepaidPlan !== null) ? lastEndOf(owned) : null;
  return pendingAcknowledgement(purchase, question, {
    productKind: "subscription",
    productIdentifier: kept.productIdentifier,
    madeAt: startTime,
    prepaidUntil,
    isTopUp: prepaidUntil !== null && linkedPurchaseToken !== null,
  });
};

/**
 * Parses the answer of `purchases.subscriptionsv2.get`.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions
 * @see https://developer.android.com/google/play/billing/subscription-with-addons
 */
export const readSubscription = (body: unknown, question: Question): Reading => {
  const { data: answer } = subscriptionAnswer().safeParse(body);
  if (answer === undefined) return null;
  const { purchaseToken, answeredAt } = question;
  const standing: Standing | null = STANDING[answer.subscriptionState];
  const items = answer.lineItems ?? [];
  const owned = ownedOf(items, standing, answer.startTime);
  const isPaid = items.some(({ latestSuccessfulOrderId }) => latestSuccessfulOrderId !== null);
  // A paid line has an end; without one the answer does not have the documented shape.
  if (standing !== null && (items.length === 0 || (owned.length === 0 && isPaid))) return null;

  const lines = linesOf(answer, owned, standing, answeredAt);
  const reference = purchaseReferenceOf(purchaseToken, answer.testPurchase !== null);
  const purchase = purchaseOf(reference, lines.toSorted(lineOrder), answeredAt);
  const isClosed = standing === null && answer.subscriptionState !== "SUBSCRIPTION_STATE_PENDING";
  // The purchase that it replaces, and an expired one after which the person bought again.
  const [linked = null, expired = null] = [
    answer.linkedPurchaseToken,
    answer.outOfAppPurchaseContext?.expiredPurchaseToken,
  ].map((token) => (token === purchaseToken ? null : token));
  // Only a purchase with an order replaces another.
  const replaced = items.some(isOwned) && lines.length > 0 ? linked : null;
  const present = (...tokens: readonly (string | null)[]): readonly string[] =>
    standing === null ? [] : tokens.filter((token) => token !== null);
  return {
    purchase,
    replaces: replaced === null ? null : purchaseKeyOfToken(replaced),
    isPending: lines.length === 0 && !isClosed,
    isClosed,
    goesOn: isClosed ? linked : null,
    samePerson: present(replaced === null ? linked : null, expired).map(purchaseKeyOfToken),
    predecessors: present(linked, expired),
    acknowledgement: acknowledgementOf(answer, owned, purchase, question),
  };
};
