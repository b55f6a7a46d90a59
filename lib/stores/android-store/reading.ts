import { createHash } from "node:crypto";
import type { Environment, ProductKind } from "../../contract/schemas.ts";
import { DAY, MINUTE } from "../../duration.ts";
import {
  mentionedPurchase,
  type Line,
  type Purchase,
  type ProvenPurchase,
  type PurchaseReference,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { purchaseKey, type PurchaseKey } from "../../identifiers.ts";

/** Purchase key of a token: its SHA-256, so that what is stored cannot be used with the store. */
export const purchaseKeyOfToken = (purchaseToken: string): PurchaseKey =>
  purchaseKey(createHash("sha256").update(purchaseToken, "utf8").digest("hex"));

export const purchaseReferenceOf = (purchaseToken: string, isTest: boolean): PurchaseReference => ({
  store: "android-store",
  environment: isTest ? "sandbox" : "production",
  key: purchaseKeyOfToken(purchaseToken),
});

/** Purchases that a token may name: the token does not tell its environment. */
export const purchasesOfToken = (purchaseToken: string): readonly PurchaseReference[] =>
  [false, true].map((isTest) => purchaseReferenceOf(purchaseToken, isTest));

/** The requested purchase, and the time of the request, used as the time of the answer. */
export interface Question {
  readonly packageName: string;
  readonly purchaseToken: string;
  readonly productIdentifier: string | null;
  readonly answeredAt: Instant;
}

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

const WEEK = 7 * DAY;

interface Bought extends Pick<PendingAcknowledgement, "productKind" | "productIdentifier"> {
  readonly madeAt: Instant | null;
  /** End of a prepaid plan; null: the purchase renews, or is not a subscription. */
  readonly prepaidUntil: Instant | null;
  /** Whether a prepaid plan continues an older purchase: the end covers all time bought, so a day is assumed. */
  readonly isTopUp?: boolean;
}

/**
 * The store refunds an unacknowledged purchase after three days, three minutes for a licence tester, half of a prepaid
 * plan shorter than a week. While Google still asks, a third of that is assumed to be left.
 *
 * @see https://developer.android.com/google/play/billing/integrate#process
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#prepaid-plans
 */
export const pendingAcknowledgement = (
  { store, environment, key }: PurchaseReference,
  { packageName, purchaseToken, answeredAt }: Question,
  { productKind, productIdentifier, madeAt, prepaidUntil, isTopUp = false }: Bought,
): PendingAcknowledgement => {
  const from = madeAt ?? answeredAt;
  const bought = prepaidUntil === null ? Infinity : Math.max(0, prepaidUntil - from);
  const plan = isTopUp ? Math.min(bought, DAY) : bought;
  const usual = 3 * (environment === "production" ? DAY : MINUTE);
  const within = plan < WEEK ? Math.min(usual, plan / 2) : usual;
  const deadline = Math.floor(Math.max(from + within, answeredAt + within / 3));
  const purchase = { store, environment, key };
  return { purchase, packageName, purchaseToken, productKind, productIdentifier, deadline };
};

/**
 * Time at which an acknowledgement is given up: its deadline, in production at least three days after it became due: a
 * top-up's plan is not known, and a replacement may keep the start time of the purchase before it.
 */
export const givenUpAt = (
  environment: Environment,
  { deadline, dueSince }: { readonly deadline: Instant; readonly dueSince: Instant },
): Instant => (environment === "production" ? Math.max(deadline, dueSince + 3 * DAY) : deadline);
