import type { ProductKind } from "../../contract/schemas.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { PurchaseKey } from "../../identifiers.ts";

/** A purchase that the store refunds unless it is acknowledged. Holds the purchase token, so it is no matter for a log. */
export interface PendingAcknowledgement {
  readonly packageName: string;
  readonly purchaseToken: string;
  readonly productKind: ProductKind;
  /** One of the purchase's products: the store's call wants one, and acknowledges the whole purchase. */
  readonly productIdentifier: string;
}

/** Which purchase was asked for, and when the store answered. */
export interface Question {
  readonly packageName: string;
  readonly purchaseToken: string;
  readonly productIdentifier: string | null;
  readonly answeredAt: Instant;
}

/** What the store's answer says of a purchase and of whose it is. */
export interface VerifiedPurchase {
  readonly purchase: Purchase;
  /** The application's own obfuscated name of the person, given when buying. */
  readonly identities: { readonly obfuscatedAccountIdentifier: string | null };
  /** The purchase whose place this one took; null while this one is pending. */
  readonly replaces: PurchaseKey | null;
  /** Purchases that the store says are the same person's, and that this one did not replace. */
  readonly samePerson: readonly PurchaseKey[];
  /** What is to be acknowledged once the purchase is stored; null where nothing is. */
  readonly acknowledgement: PendingAcknowledgement | null;
}

/** Null where the body is not of the documented shape. */
export type Reading = VerifiedPurchase | "product-not-in-purchase" | null;
