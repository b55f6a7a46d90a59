import type { Environment, ProductKind, Store } from "../contract/schemas.ts";
import type { PurchaseKey } from "../identifiers.ts";
import { compare, sameList } from "../order.ts";
import { sameRenewal, type Renewal } from "./renewal.ts";
import type { Instant } from "./time.ts";

/**
 * Product types in the stores' terms. `consumable` may be consumed and bought again: iOS consumables, and every Android
 * one-time product, because Google does not say which of them an app consumes.
 */
export const NATURES = ["auto_renewable", "non_renewing", "non_consumable", "consumable"] as const;
export type Nature = (typeof NATURES)[number];

/** State of a line at its last verification, regardless of its dates. */
export const STANDINGS = [
  "entitled",
  "grace_period",
  "billing_retry",
  "paused",
  "expired",
  "revoked",
] as const;
export type Standing = (typeof STANDINGS)[number];

/** One product of a purchase. An iOS line is one transaction id's copy of a purchase event, which may have several. */
export interface Line {
  /** iOS transaction id; null on Android, where an answer replaces all lines at once. */
  readonly transactionIdentifier: string | null;
  /** Identifies the purchase event within its lineage and product, under every transaction id; null on Android. */
  readonly event: string | null;
  readonly productIdentifier: string;
  readonly basePlanIdentifier: string | null;
  readonly purchaseOptionIdentifier: string | null;
  readonly nature: Nature;
  readonly standing: Standing;
  readonly startsAt: Instant | null;
  /** iOS: purchase date of this copy; in a restored copy, the date of the restore. */
  readonly purchasedAt: Instant | null;
  /** End date set by the store; null where it sets none: lifetime, unless the catalog gives an access duration. */
  readonly endsAt: Instant | null;
  readonly revokedAt: Instant | null;
  /**
   * Since when units are refunded, even if that was taken back. iOS: the earliest revocation date under this
   * transaction id. Android: the first answer that showed it, as Google gives no date. Null: never.
   */
  readonly revokedSince: Instant | null;
  readonly quantity: number;
  /** Refunded units of a line whose other units still grant; 0 where none or all were refunded. */
  readonly refundedQuantity: number;
  /** Android: a rental. The catalog's `accessDuration` limits its access; without one it grants nothing. */
  readonly rented: boolean;
  readonly willRenew: boolean | null;
  readonly verifiedAt: Instant;
  /** Values that a newer version stored with the line; kept as they are. */
  readonly further?: readonly unknown[];
}

/** Whether the whole line is revoked. A partly refunded line still grants with its other units. */
export const isRevoked = ({ standing, revokedAt }: Line): boolean =>
  standing === "revoked" || revokedAt !== null;

/** Whether the store has said that a line is over. Google calls a prepaid plan active or cancelled after its end. */
export const isOverAt = (line: Line, moment: Instant): boolean => {
  const { standing, endsAt, willRenew } = line;
  const hasEnded = standing === "entitled" && endsAt !== null && endsAt <= moment && !willRenew;
  return isRevoked(line) || standing === "expired" || hasEnded;
};

export interface PurchaseReference {
  readonly store: Store;
  readonly environment: Environment;
  readonly key: PurchaseKey;
}

export interface Purchase extends PurchaseReference {
  readonly lines: readonly Line[];
  /** Products requested from a one-time purchase, sorted; null: all of them. */
  readonly selectedProducts: readonly string[] | null;
  /** Purchase that replaced this one. Lines that started by the time of the replacement grant nothing after it. */
  readonly replacedBy: PurchaseKey | null;
  /** Start of the replacing period; null where the store gives none, so all lines are replaced. */
  readonly replacedAt: Instant | null;
  /** iOS: the latest renewal info of the lineage; null: none is known. */
  readonly renewal: Renewal | null;
  /** Last time the store vouched for the purchase; 0 where only another purchase mentions it. */
  readonly verifiedAt: Instant;
  /** Values that a newer version stored with the holding; kept until the holding is recomputed. */
  readonly further?: readonly unknown[];
}

/** A store-verified fact that identifies one customer. Every purchase is an identity as well. */
export interface IdentityReference {
  readonly store: Store;
  readonly kind: "app-transaction";
  readonly environment: Environment;
  readonly value: string;
}

export interface ProvenPurchase {
  readonly purchase: Purchase;
  /** Purchases that it only mentions: as replaced by it, or as the same person's. */
  readonly mentioned: readonly Purchase[];
  /** An identity named by its own signed payloads, which agree with the request's; null where they name none. */
  readonly identity: IdentityReference | null;
}

export const productKindOf = (nature: Nature): ProductKind =>
  nature === "auto_renewable" || nature === "non_renewing" ? "subscription" : "one_time_product";

/** With all products requested, and not replaced. */
export const purchaseOf = (
  { store, environment, key }: PurchaseReference,
  lines: readonly Line[],
  verifiedAt: Instant,
): Purchase => ({
  store,
  environment,
  key,
  lines,
  selectedProducts: null,
  replacedBy: null,
  replacedAt: null,
  renewal: null,
  verifiedAt,
});

/** A purchase known only because another mentions it, as its predecessor where `replacedBy` is given. */
export const mentionedPurchase = (
  reference: PurchaseReference,
  replacedBy: PurchaseKey | null,
  replacedAt: Instant | null = null,
): Purchase => ({ ...purchaseOf(reference, [], 0), selectedProducts: [], replacedBy, replacedAt });

/** A renewal info as a fact of its lineage. It does not prove the lineage. */
export const renewedPurchase = (lineage: PurchaseReference, renewal: Renewal): Purchase => ({
  ...mentionedPurchase(lineage, null),
  renewal,
});

/**
 * Lines that may grant: none if the purchase was replaced as a whole; for a one-time purchase, those of the requested
 * products. A replacement at a given time ends periods (`subscription-periods.ts`).
 */
export const grantingLines = ({
  lines,
  selectedProducts,
  replacedBy,
  replacedAt,
}: Purchase): readonly Line[] => {
  if (replacedBy !== null && replacedAt === null) return [];
  if (selectedProducts === null) return lines;
  return lines.filter(({ productIdentifier }) => selectedProducts.includes(productIdentifier));
};

/** Whether no product was selected, so that it grants nothing: only a notification or another account has told. */
export const selectsNothing = ({ selectedProducts }: Purchase): boolean => selectedProducts?.length === 0;

/** Key of a purchase within an application; never stored. */
export const referenceText = ({ store, environment, key }: PurchaseReference): string =>
  `${store} ${environment} ${key}`;

export const byReference = (purchases: Iterable<Purchase>): Map<string, Purchase> =>
  new Map([...purchases].map((purchase) => [referenceText(purchase), purchase]));

const LINE_FIELDS = Object.keys({
  transactionIdentifier: true,
  event: true,
  productIdentifier: true,
  basePlanIdentifier: true,
  purchaseOptionIdentifier: true,
  nature: true,
  standing: true,
  startsAt: true,
  purchasedAt: true,
  endsAt: true,
  revokedAt: true,
  revokedSince: true,
  quantity: true,
  refundedQuantity: true,
  rented: true,
  willRenew: true,
  verifiedAt: true,
} satisfies Record<Exclude<keyof Line, "further">, true>) as Exclude<keyof Line, "further">[];

/** `revokedSince` is joined from all copies, so not part of any single one. */
const OWN_FIELDS = LINE_FIELDS.filter((field) => field !== "revokedSince");

/** Breaks ties between lines of the same time, deterministically. */
export const lineText = (line: Line): string => JSON.stringify(OWN_FIELDS.map((field) => line[field]));

export const sameLine = (a: Line, b: Line): boolean =>
  a === b || LINE_FIELDS.every((field) => a[field] === b[field]);

/** Oldest first; at the same start, an `expired` line first. Total, so the order of input never matters. */
export const lineOrder = (a: Line, b: Line): number =>
  compare(a.startsAt ?? 0, b.startsAt ?? 0) ||
  compare(b.standing === "expired", a.standing === "expired") ||
  compare(a.endsAt ?? Infinity, b.endsAt ?? Infinity) ||
  compare(a.transactionIdentifier ?? "", b.transactionIdentifier ?? "") ||
  compare(lineText(a), lineText(b));

/** Identifies a line within its purchase, without times: a span's line may start and end earlier than the stored one. */
export const lineName = (line: Line): string =>
  JSON.stringify([
    line.transactionIdentifier,
    line.event,
    line.productIdentifier,
    line.basePlanIdentifier,
    line.purchaseOptionIdentifier,
  ]);

export const sameLines = (a: Purchase, b: Purchase): boolean =>
  a.store === b.store &&
  a.environment === b.environment &&
  a.key === b.key &&
  sameList(a.lines, b.lines, sameLine);

const sameProducts = (a: readonly string[] | null, b: readonly string[] | null): boolean =>
  a === null || b === null ? a === b : sameList(a, b, (one, other) => one === other);

export const samePurchase = (a: Purchase, b: Purchase): boolean =>
  a.verifiedAt === b.verifiedAt &&
  a.replacedBy === b.replacedBy &&
  a.replacedAt === b.replacedAt &&
  sameRenewal(a.renewal, b.renewal) &&
  sameProducts(a.selectedProducts, b.selectedProducts) &&
  sameLines(a, b);

/** With another verification time, to compare facts regardless of when they were verified. */
export const verifiedAs = (purchase: Purchase, verifiedAt: Instant): Purchase => ({
  ...purchase,
  verifiedAt,
  lines: purchase.lines.map((line) => ({ ...line, verifiedAt })),
});
