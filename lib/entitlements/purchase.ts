import type { Environment, ProductKind, Store } from "../contract/schemas.ts";
import type { PurchaseKey } from "../identifiers.ts";
import { compare, sameList } from "../order.ts";
import type { Instant } from "./time.ts";

/**
 * Product types, in the stores' own terms. `consumable`: may be consumed and bought again, which is true of iOS
 * consumables and of every one-time product of the Android store, which does not say which of them an app consumes.
 */
export const NATURES = ["auto_renewable", "non_renewing", "non_consumable", "consumable"] as const;
export type Nature = (typeof NATURES)[number];

/** State of a line when the store last vouched for it, apart from its dates. */
export const STANDINGS = [
  "entitled",
  "grace_period",
  "billing_retry",
  "paused",
  "expired",
  "revoked",
] as const;
export type Standing = (typeof STANDINGS)[number];

/**
 * One product, with its start and its end, that a purchase gave. An iOS line is one transaction id's copy of a purchase
 * event; several copies may speak of one event (`events.ts`).
 */
export interface Line {
  /** iOS transaction id; null for Android, whose answer replaces all lines together. */
  readonly transactionIdentifier: string | null;
  /** Names the purchase event within its lineage and product, the same under every transaction id; null for Android. */
  readonly event: string | null;
  readonly productIdentifier: string;
  readonly basePlanIdentifier: string | null;
  /** Android: the purchase option of a one-time product. */
  readonly purchaseOptionIdentifier: string | null;
  readonly nature: Nature;
  readonly standing: Standing;
  readonly startsAt: Instant | null;
  /** iOS: this copy's own purchase date, which is the moment of the restore in a restored copy. */
  readonly purchasedAt: Instant | null;
  /** The natural end; null where the store sets none: lifetime, unless the catalog gives an access duration. */
  readonly endsAt: Instant | null;
  readonly revokedAt: Instant | null;
  /**
   * Latest time by which units of it were refunded, in part or as a whole: iOS gives it; for the Android store it is when
   * the largest refund was first heard of.
   */
  readonly refundedBy: Instant | null;
  /** Android: the most units that any answer called refunded. */
  readonly mostRefunded: number;
  /** iOS: when the store first signed a revocation, in full or in part, under this transaction id; null: never. */
  readonly revokedSince: Instant | null;
  /** Units bought. */
  readonly quantity: number;
  /** Units refunded of a line that still grants with the others; 0 where none was, and where all are revoked. */
  readonly refundedQuantity: number;
  /** Android: rented, so access lasts as long as the catalog says, and is none where it does not. */
  readonly rented: boolean;
  readonly willRenew: boolean | null;
  /** When the store last vouched for this line. */
  readonly verifiedAt: Instant;
  /** What a later version has stored of the line, which this one does not know and keeps. */
  readonly further?: readonly unknown[];
}

/** Revoked in whole: a line of which units were refunded in part still grants with the others. */
export const isRevoked = ({ standing, revokedAt }: Line): boolean =>
  standing === "revoked" || revokedAt !== null;

/** The name of a purchase within an application. */
export interface PurchaseReference {
  readonly store: Store;
  readonly environment: Environment;
  readonly key: PurchaseKey;
}

/** All that is known of one store lineage. */
export interface Purchase extends PurchaseReference {
  readonly lines: readonly Line[];
  /** The products of a one-time purchase that were asked for, sorted; null: all of them. */
  readonly selectedProducts: readonly string[] | null;
  /** The purchase that took this one's place: what this one gave before that grants nothing. */
  readonly replacedBy: PurchaseKey | null;
  /** The start of the period that took its place; null where the store gives none, so all its lines are replaced. */
  readonly replacedAt: Instant | null;
  /** When the store last said anything of it; 0 where it is known only from another purchase that names it. */
  readonly verifiedAt: Instant;
  /** What a later version has stored of the holding, which this one does not know and keeps. */
  readonly further?: readonly unknown[];
}

export const productKindOf = (nature: Nature): ProductKind =>
  nature === "auto_renewable" || nature === "non_renewing" ? "subscription" : "one_time_product";

/** A purchase known only because another names it: as its predecessor, where `replacedBy` is given. */
export const mentionedPurchase = (
  { store, environment, key }: PurchaseReference,
  replacedBy: PurchaseKey | null,
  replacedAt: Instant | null = null,
): Purchase => ({
  store,
  environment,
  key,
  lines: [],
  selectedProducts: [],
  replacedBy,
  replacedAt,
  verifiedAt: 0,
});

/** One text for one purchase within an application: for maps and comparisons, never for storage. */
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
  refundedBy: true,
  mostRefunded: true,
  revokedSince: true,
  quantity: true,
  refundedQuantity: true,
  rented: true,
  willRenew: true,
  verifiedAt: true,
} satisfies Record<Exclude<keyof Line, "further">, true>) as Exclude<keyof Line, "further">[];

/** Fields that are joined from all copies or answers, and are not of any one. */
const JOINED_FIELDS: ReadonlySet<keyof Line> = new Set(["revokedSince", "refundedBy", "mostRefunded"]);

const TELLING_FIELDS = LINE_FIELDS.filter((field) => !JOINED_FIELDS.has(field));

/** One text for what a line says: to decide between two that were said at once, always alike. */
export const lineText = (line: Line): string => JSON.stringify(TELLING_FIELDS.map((field) => line[field]));

/** Field by field, and not over {@link LINE_FIELDS}: a replay of a thousand purchases compares thousands of lines. */
export const sameLine = (a: Line, b: Line): boolean =>
  a === b ||
  (a.transactionIdentifier === b.transactionIdentifier &&
    a.event === b.event &&
    a.productIdentifier === b.productIdentifier &&
    a.basePlanIdentifier === b.basePlanIdentifier &&
    a.purchaseOptionIdentifier === b.purchaseOptionIdentifier &&
    a.nature === b.nature &&
    a.standing === b.standing &&
    a.startsAt === b.startsAt &&
    a.purchasedAt === b.purchasedAt &&
    a.endsAt === b.endsAt &&
    a.revokedAt === b.revokedAt &&
    a.refundedBy === b.refundedBy &&
    a.mostRefunded === b.mostRefunded &&
    a.revokedSince === b.revokedSince &&
    a.quantity === b.quantity &&
    a.refundedQuantity === b.refundedQuantity &&
    a.rented === b.rented &&
    a.willRenew === b.willRenew &&
    a.verifiedAt === b.verifiedAt);

/** Oldest first; at the same start a line that has ended comes before one that has not. Total, so that order never matters. */
export const lineOrder = (a: Line, b: Line): number =>
  compare(a.startsAt ?? 0, b.startsAt ?? 0) ||
  compare(b.standing === "expired", a.standing === "expired") ||
  compare(a.endsAt ?? Infinity, b.endsAt ?? Infinity) ||
  compare(a.transactionIdentifier ?? "", b.transactionIdentifier ?? "") ||
  compare(lineText(a), lineText(b));

/** Whether two are the same purchase with the same lines, whatever else is known of it. */
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
  sameProducts(a.selectedProducts, b.selectedProducts) &&
  sameLines(a, b);

/** The purchase as it was said at another time: to compare what was said without when. */
export const verifiedAs = (purchase: Purchase, verifiedAt: Instant): Purchase => ({
  ...purchase,
  verifiedAt,
  lines: purchase.lines.map((line) => ({ ...line, verifiedAt })),
});
