import type { AndroidStoreConfiguration, Application } from "../applications/application.ts";
import { isRevoked, productKindOf } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AndroidPurchaseRequest, AndroidStoreAnswer } from "../stores/android-store/android-store.ts";
import { purchasesOfToken } from "../stores/android-store/purchase-token.ts";
import type { AndroidStorePurchases } from "./store-android-store-purchase.ts";

/** HTTP statuses for a purchase that the store does not know, or says it has dropped. */
export const UNKNOWN_STATUSES: ReadonlySet<number | null> = new Set([404, 410]);

/**
 * Looks up a purchase. If Google has voided all of a stored one-time purchase and does not know its token any more, the
 * answer is the stored purchase, revoked: the token is of one order, and that order is voided.
 *
 * @param fullyVoidedAt null: Google does not say that it voided all of the token's order
 */
export const lookUpVoided = async (
  { androidStore, table, now }: Pick<AndroidStorePurchases, "androidStore" | "table" | "now">,
  { identifier }: Application,
  configuration: AndroidStoreConfiguration,
  request: AndroidPurchaseRequest,
  fullyVoidedAt: Instant | null,
): Promise<AndroidStoreAnswer> => {
  const answer = await androidStore.lookUp(configuration, request);
  if (answer.outcome !== "rejected" && answer.outcome !== "gone") return answer;
  if (fullyVoidedAt === null || !UNKNOWN_STATUSES.has(answer.status)) return answer;
  const verifiedAt = now();
  const known = await table.findFacts(identifier, [], purchasesOfToken(request.purchaseToken), verifiedAt);
  const stored = [...known.purchases.values()].find(({ purchase: { lines } }) => lines.length > 0)?.purchase;
  if (stored?.lines.every(({ nature }) => productKindOf(nature) === "one_time_product") !== true)
    return answer;
  const revokedAt = Math.min(fullyVoidedAt, verifiedAt);
  const revoked = { standing: "revoked", revokedAt, revokedSince: revokedAt, refundedQuantity: 0 } as const;
  const lines = stored.lines.map((line) => ({ ...line, ...revoked, verifiedAt }));
  return {
    outcome: "verified",
    // A repeated void changes nothing.
    purchase: stored.lines.every(isRevoked) ? stored : { ...stored, lines, verifiedAt },
    replaces: null,
    samePerson: [],
    predecessors: [],
    isPending: false,
    isClosed: true,
    goesOn: null,
    acknowledgement: null,
  };
};
