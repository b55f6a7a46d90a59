import type * as z from "zod/mini";
import { DAY } from "../../duration.ts";
import { isOverAt, lineOrder, type Line, type Standing } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { acknowledgementDeadline } from "./acknowledgement-deadline.ts";
import { ACKNOWLEDGED, subscriptionAnswer, type SubscriptionState } from "./answers.ts";
import { purchaseKeyOfToken } from "./purchase-token.ts";
import type { Question, Reading } from "./reading.ts";

/** Null: bought but not paid, so nothing is owned. */
const STANDING: Record<SubscriptionState, Standing | null> = {
  SUBSCRIPTION_STATE_PENDING: null,
  SUBSCRIPTION_STATE_ACTIVE: "entitled",
  SUBSCRIPTION_STATE_PAUSED: "paused",
  SUBSCRIPTION_STATE_IN_GRACE_PERIOD: "grace_period",
  SUBSCRIPTION_STATE_ON_HOLD: "billing_retry",
  SUBSCRIPTION_STATE_CANCELED: "entitled",
  SUBSCRIPTION_STATE_EXPIRED: "expired",
  SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED: null,
  SUBSCRIPTION_STATE_PENDING_PURCHASE_EXPIRED: null,
};

type Item = NonNullable<z.output<ReturnType<typeof subscriptionAnswer>>["lineItems"]>[number];

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

/**
 * Parses the answer of `purchases.subscriptionsv2.get`.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions
 * @see https://developer.android.com/google/play/billing/subscription-with-addons
 */
export const readSubscription = (body: unknown, question: Question): Reading => {
  const parsed = subscriptionAnswer().safeParse(body);
  if (!parsed.success) return null;
  const answer = parsed.data;
  const { packageName, purchaseToken, answeredAt } = question;
  const standing = STANDING[answer.subscriptionState];
  const canceled = answer.subscriptionState === "SUBSCRIPTION_STATE_CANCELED";
  const items = answer.lineItems ?? [];
  if (standing !== null && items.length === 0) return null;

  const paid = items.filter(({ latestSuccessfulOrderId }) => latestSuccessfulOrderId !== null);
  const owned = ownedOf(items, standing, answer.startTime);
  // A paid line has an end; without one the answer does not have the documented shape.
  if (standing !== null && owned.length === 0 && paid.length > 0) return null;
  const lastEnd = lastEndOf(owned);
  const carriedTo = standing === "grace_period" ? endInGrace(owned.filter(renews), items, answeredAt) : null;
  const lines =
    standing === null
      ? []
      : owned.map((item): Line => {
          const isPast = (item.expiryTime ?? 0) <= answeredAt;
          const hasLeft = isPast && isOver(item, owned, items, answeredAt);
          return {
            transactionIdentifier: null,
            event: null,
            productIdentifier: item.productId,
            basePlanIdentifier: item.offerDetails?.basePlanId ?? null,
            purchaseOptionIdentifier: null,
            nature: "auto_renewable",
            standing: hasLeft ? "expired" : standing,
            startsAt: answer.startTime,
            purchasedAt: null,
            endsAt: carriedTo !== null && renews(item) && isPast && !hasLeft ? carriedTo : item.expiryTime,
            revokedAt: null,
            revokedSince: null,
            quantity: 1,
            refundedQuantity: 0,
            rented: false,
            willRenew: !canceled && standing !== "expired" && !hasLeft && renews(item),
            verifiedAt: answeredAt,
          };
        });

  const isClosed = standing === null && answer.subscriptionState !== "SUBSCRIPTION_STATE_PENDING";
  const key = purchaseKeyOfToken(purchaseToken);
  const otherToken = (token: string | null | undefined): string | null =>
    standing === null || token == null || token === purchaseToken ? null : token;
  const linkedToken = otherToken(answer.linkedPurchaseToken);
  const expiredToken = otherToken(answer.outOfAppPurchaseContext?.expiredPurchaseToken);
  const linked = linkedToken === null ? null : purchaseKeyOfToken(linkedToken);
  const expired = expiredToken === null ? null : purchaseKeyOfToken(expiredToken);
  const [first] = lines;
  // Google wants one of the purchase's products, of which the first may be over.
  const kept = lines.find((line) => line.standing !== "expired") ?? first;
  // Only a purchase with an order replaces another.
  const replaces = items.some(isOwned) && first !== undefined ? linked : null;
  const prepaidUntil = owned.some(({ prepaidPlan }) => prepaidPlan !== null) ? lastEnd : null;
  const environment = answer.testPurchase === null ? "production" : "sandbox";
  // A purchase that is over was paid once, but has nothing left to refund; a hold or a pause may still end.
  const due =
    answer.acknowledgementState !== ACKNOWLEDGED && !lines.every((line) => isOverAt(line, answeredAt));
  const reference = { store: "android-store", environment, key } as const;
  return {
    purchase: {
      ...reference,
      lines: lines.toSorted(lineOrder),
      selectedProducts: null,
      replacedBy: null,
      replacedAt: null,
      renewal: null,
      verifiedAt: answeredAt,
    },
    replaces,
    isPending: lines.length === 0 && !isClosed,
    isClosed,
    goesOn:
      isClosed && answer.linkedPurchaseToken !== purchaseToken ? (answer.linkedPurchaseToken ?? null) : null,
    samePerson: [replaces === null ? linked : null, expired].filter((other) => other !== null),
    predecessors: [linkedToken, expiredToken].filter((token) => token !== null),
    acknowledgement:
      due && kept !== undefined
        ? {
            purchase: reference,
            packageName,
            purchaseToken,
            productKind: "subscription",
            productIdentifier: kept.productIdentifier,
            deadline: acknowledgementDeadline({
              environment,
              madeAt: answer.startTime,
              answeredAt,
              prepaidUntil,
              isTopUp: prepaidUntil !== null && linkedToken !== null,
            }),
          }
        : null,
  };
};
