import type { ProductKind } from "../../contract/schemas.ts";
import {
  mentionedPurchase,
  type Line,
  type Purchase,
  type PurchaseReference,
  type ProvenPurchase,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { PurchaseKey } from "../../identifiers.ts";
import { purchaseKeyOfToken } from "./purchase-token.ts";

/** An acknowledgement that the store waits for. Holds the purchase token, so it is never logged. */
export interface PendingAcknowledgement {
  readonly purchase: PurchaseReference;
  readonly packageName: string;
  readonly purchaseToken: string;
  readonly productKind: ProductKind;
  /** One product of the purchase: the store's call requires one, and acknowledges the whole purchase. */
  readonly productIdentifier: string;
  /** The store refunds the purchase at this time unless it is acknowledged. */
  readonly deadline: Instant;
}

export const purchaseReferenceOf = (purchaseToken: string, isTest: boolean): PurchaseReference => ({
  store: "android-store",
  environment: isTest ? "sandbox" : "production",
  key: purchaseKeyOfToken(purchaseToken),
});

/** Fields of a line that Google does not tell, or not of this kind of purchase. */
const UNTOLD = {
  transactionIdentifier: null,
  event: null,
  basePlanIdentifier: null,
  purchaseOptionIdentifier: null,
  purchasedAt: null,
  endsAt: null,
  revokedAt: null,
  revokedSince: null,
  quantity: 1,
  refundedQuantity: 0,
  rented: false,
  willRenew: null,
} as const satisfies Partial<Line>;

export const lineOf = (told: Omit<Line, keyof typeof UNTOLD> & Partial<Line>): Line => ({
  ...UNTOLD,
  ...told,
});

/** The requested purchase, and the time of the request, used as the time of the answer. */
export interface Question {
  readonly packageName: string;
  readonly purchaseToken: string;
  readonly productIdentifier: string | null;
  readonly answeredAt: Instant;
}

/**
 * A purchase as the store reports it, with the other purchases of the same person. The obfuscated account id is not
 * read: the client chooses it, so it proves nothing.
 */
export interface VerifiedPurchase {
  readonly purchase: Purchase;
  /** Purchase that this one replaced; null: none, or this one is pending. */
  readonly replaces: PurchaseKey | null;
  /** Other purchases of the same person, according to the store, that this one did not replace. */
  readonly samePerson: readonly PurchaseKey[];
  /** Tokens of the purchases in `replaces` and `samePerson`: in memory only, as only their hashes are stored. */
  readonly predecessors: readonly string[];
  /** Whether its payment is pending, or unknown: the store did not answer, or shows nothing paid and does not say expired. */
  readonly isPending: boolean;
  /** Whether its state is final: it was cancelled before it was paid, or the store dropped it. */
  readonly isClosed: boolean;
  /** Token of the subscription that continues because this one, its replacement, was never paid; null: none. */
  readonly goesOn: string | null;
  /** Acknowledgement to make once the purchase is stored; null: none. */
  readonly acknowledgement: PendingAcknowledgement | null;
}

/** A purchase as the store would report it, without others of the same person. */
export const reportOf = (purchase: Purchase): VerifiedPurchase => ({
  purchase,
  replaces: null,
  samePerson: [],
  predecessors: [],
  isPending: false,
  isClosed: false,
  goesOn: null,
  acknowledgement: null,
});

/** The same, limited to these products of a one-time purchase; null: all of them. */
export const selecting = (
  verified: VerifiedPurchase,
  productKind: ProductKind,
  products: readonly string[] | null,
): VerifiedPurchase =>
  productKind === "subscription"
    ? verified
    : { ...verified, purchase: { ...verified.purchase, selectedProducts: products } };
export const provenPurchaseOf = ({
  purchase,
  replaces,
  samePerson,
}: Pick<VerifiedPurchase, "purchase" | "replaces" | "samePerson">): ProvenPurchase => ({
  purchase,
  mentioned: [
    ...(replaces === null ? [] : [mentionedPurchase({ ...purchase, key: replaces }, purchase.key)]),
    ...samePerson
      .filter((key) => key !== replaces)
      .map((key) => mentionedPurchase({ ...purchase, key }, null)),
  ],
  identity: null,
});

/** Null where the body is not of the documented shape. */
export type Reading = VerifiedPurchase | "product-not-in-purchase" | null;
