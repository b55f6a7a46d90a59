import { lineOrder, type Line, type Standing } from "../../entitlements/purchase.ts";
import { ACKNOWLEDGEMENT_PENDING, subscriptionAnswer, type SubscriptionState } from "./answers.ts";
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
};

/**
 * Reads the answer of `purchases.subscriptionsv2.get`. A line without a successful order is not owned yet (a deferred
 * replacement), so it is left out.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions
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

  const lines: Line[] = [];
  for (const item of items) {
    if (standing === null || item.latestSuccessfulOrderId === null) continue;
    if (item.expiryTime === null) return null;
    lines.push({
      transactionIdentifier: null,
      productIdentifier: item.productId,
      basePlanIdentifier: item.offerDetails?.basePlanId ?? null,
      nature: "auto_renewable",
      standing,
      startsAt: answer.startTime,
      endsAt: item.expiryTime,
      revokedAt: null,
      willRenew: !canceled && (item.autoRenewingPlan?.autoRenewEnabled ?? false),
      verifiedAt: answeredAt,
    });
  }

  const key = purchaseKeyOfToken(purchaseToken);
  const otherKey = (token: string | null | undefined) => {
    const other = standing === null || token == null ? null : purchaseKeyOfToken(token);
    return other === key ? null : other;
  };
  const expired = otherKey(answer.outOfAppPurchaseContext?.expiredPurchaseToken);
  const owned = lines[0];
  // What has expired was paid once, but there is nothing left to refund; a hold or a pause may still end.
  const due = answer.acknowledgementState === ACKNOWLEDGEMENT_PENDING && standing !== "expired";
  return {
    purchase: {
      store: "android-store",
      environment: answer.testPurchase === null ? "production" : "sandbox",
      key,
      lines: lines.toSorted(lineOrder),
      selectedProducts: null,
      replacedBy: null,
      verifiedAt: answeredAt,
    },
    identities: {
      obfuscatedAccountIdentifier: answer.externalAccountIdentifiers?.obfuscatedExternalAccountId ?? null,
    },
    replaces: otherKey(answer.linkedPurchaseToken),
    samePerson: expired === null ? [] : [expired],
    acknowledgement:
      due && owned !== undefined
        ? {
            packageName,
            purchaseToken,
            productKind: "subscription",
            productIdentifier: owned.productIdentifier,
          }
        : null,
  };
};
