import type { Environment, ProductKind, Store } from "../contract/schemas.ts";
import type { PurchaseKey } from "../identifiers.ts";
import type { Instant } from "./time.ts";

/** What kind of product a line is, in the stores' own terms. */
export const NATURES = ["auto_renewable", "non_renewing", "non_consumable", "consumable"] as const;
export type Nature = (typeof NATURES)[number];

/** What the store said of a line when it last vouched for it, apart from its dates. */
export const STANDINGS = [
  "entitled",
  "grace_period",
  "billing_retry",
  "paused",
  "expired",
  "revoked",
] as const;
export type Standing = (typeof STANDINGS)[number];

/** One product, with its start and its end, that a purchase gave. */
export interface Line {
  /** iOS transaction id; null for Android, whose answer replaces all lines together. */
  readonly transactionIdentifier: string | null;
  readonly productIdentifier: string;
  readonly basePlanIdentifier: string | null;
  readonly nature: Nature;
  readonly standing: Standing;
  readonly startsAt: Instant | null;
  /** The natural end; null where the store sets none: lifetime, unless the catalog gives an access duration. */
  readonly endsAt: Instant | null;
  readonly revokedAt: Instant | null;
  readonly willRenew: boolean | null;
  /** When the store last vouched for this line. */
  readonly verifiedAt: Instant;
}

/** What names a purchase within an application. */
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
  /** The purchase that took this one's place: a replaced purchase grants nothing. */
  readonly replacedBy: PurchaseKey | null;
  /** When the store last said anything of it; 0 where it is known only from another purchase that names it. */
  readonly verifiedAt: Instant;
}

export const productKindOf = (nature: Nature): ProductKind =>
  nature === "auto_renewable" || nature === "non_renewing" ? "subscription" : "one_time_product";

/** A purchase known only because another names it as its predecessor. */
export const mentionedPurchase = (
  reference: PurchaseReference,
  replacedBy: PurchaseKey | null,
): Purchase => ({
  store: reference.store,
  environment: reference.environment,
  key: reference.key,
  lines: [],
  selectedProducts: [],
  replacedBy,
  verifiedAt: 0,
});

/** One text for one purchase within an application: for maps and comparisons, never for storage. */
export const referenceText = ({ store, environment, key }: PurchaseReference): string =>
  `${store} ${environment} ${key}`;

/** Lines of an iOS lineage that are kept for each product: the current one and one that is renewed ahead of time. */
const LINES_KEPT_PER_PRODUCT = 2;

/** Newest lines kept of a lineage that has had very many products, so that its item stays far below DynamoDB's limit. */
const LINES_KEPT = 200;

const LINE_FIELDS = Object.keys({
  transactionIdentifier: true,
  productIdentifier: true,
  basePlanIdentifier: true,
  nature: true,
  standing: true,
  startsAt: true,
  endsAt: true,
  revokedAt: true,
  willRenew: true,
  verifiedAt: true,
} satisfies Record<keyof Line, true>) as (keyof Line)[];

const compare = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

const lineText = (line: Line): string => JSON.stringify(LINE_FIELDS.map((field) => line[field]));
const linesText = (lines: readonly Line[]): string => lines.map(lineText).join();

const sameLine = (a: Line, b: Line): boolean => LINE_FIELDS.every((field) => a[field] === b[field]);

const sameList = <T>(a: readonly T[], b: readonly T[], same: (a: T, b: T) => boolean): boolean =>
  a === b || (a.length === b.length && a.every((value, index) => same(value, b[index] as T)));

/** Oldest first; at the same start a line that has ended comes before one that has not. Total, so that order never matters. */
export const lineOrder = (a: Line, b: Line): number =>
  compare(a.startsAt ?? 0, b.startsAt ?? 0) ||
  compare(b.standing === "expired", a.standing === "expired") ||
  compare(a.endsAt ?? Infinity, b.endsAt ?? Infinity) ||
  compare(a.transactionIdentifier ?? "", b.transactionIdentifier ?? "") ||
  compare(lineText(a), lineText(b));

/** The line that was said later; of two said at once always the same one. */
const laterLine = (a: Line, b: Line): Line => {
  if (a.verifiedAt !== b.verifiedAt) return a.verifiedAt > b.verifiedAt ? a : b;
  return sameLine(a, b) || lineText(a) > lineText(b) ? a : b;
};

/** The answer that was given later; of two given at once always the same one. */
const laterAnswer = (a: Purchase, b: Purchase): Purchase => {
  if (a.verifiedAt !== b.verifiedAt) return a.verifiedAt > b.verifiedAt ? a : b;
  return sameLines(a, b) || linesText(a.lines) > linesText(b.lines) ? a : b;
};

/** By what never changes of a transaction, so that what is kept does not depend on what was known of it before. */
const purchaseOrder = (a: Line, b: Line): number =>
  compare(a.startsAt ?? 0, b.startsAt ?? 0) ||
  compare(a.transactionIdentifier ?? "", b.transactionIdentifier ?? "");

const joinTransactions = (lines: readonly Line[]): readonly Line[] => {
  // Most often one line is said again.
  const [first] = lines;
  if (first !== undefined && lines.every((line) => sameLine(line, first))) return [first];
  const byTransaction = new Map<string | null, Line>();
  for (const line of lines) {
    const known = byTransaction.get(line.transactionIdentifier);
    byTransaction.set(line.transactionIdentifier, known === undefined ? line : laterLine(known, line));
  }
  const byProduct = Map.groupBy(byTransaction.values(), (line) => line.productIdentifier);
  return [...byProduct.values()]
    .flatMap((lines) => lines.sort(purchaseOrder).slice(-LINES_KEPT_PER_PRODUCT))
    .sort(purchaseOrder)
    .slice(-LINES_KEPT)
    .sort(lineOrder);
};

const union = (a: readonly string[] | null, b: readonly string[] | null): readonly string[] | null =>
  a === null || b === null ? null : [...new Set([...a, ...b])].sort();

const greater = (a: PurchaseKey | null, b: PurchaseKey | null): PurchaseKey | null =>
  a === null ? b : b === null ? a : a > b ? a : b;

const joinFacts = (first: Purchase, ...others: readonly Purchase[]): Purchase => {
  // Most often one line is said once.
  const { lines, selectedProducts } = first;
  if (others.length === 0 && lines.length <= 1 && (selectedProducts?.length ?? 0) <= 1) return first;
  const { store, environment, key } = first;
  const facts = [first, ...others];
  return {
    store,
    environment,
    key,
    lines:
      store === "ios-store"
        ? joinTransactions(facts.flatMap(({ lines }) => lines))
        : others.reduce(laterAnswer, first).lines,
    selectedProducts: facts.reduce((all, one) => union(all, one.selectedProducts), selectedProducts),
    replacedBy: others.reduce((last, one) => greater(last, one.replacedBy), first.replacedBy),
    verifiedAt: facts.reduce((latest, { verifiedAt }) => Math.max(latest, verifiedAt), 0),
  };
};

/**
 * Joins what is known of one purchase with more of it. Commutative, associative and idempotent, so facts may come in
 * any order and any number of times. iOS: of one transaction id the later signed wins; of each product's transactions
 * the latest stay. Android: the store's later answer takes the place of the earlier one.
 */
export const joinPurchases = (a: Purchase, b: Purchase): Purchase => joinFacts(a, b);

/** Joins all facts of the same purchase; one purchase for each reference, in order of reference. */
export const joinAll = (purchases: Iterable<Purchase>): Purchase[] =>
  [...Map.groupBy(purchases, referenceText)]
    .sort(([a], [b]) => compare(a, b))
    .flatMap(([, [first, ...others]]) => (first === undefined ? [] : [joinFacts(first, ...others)]));

/** Whether two are the same purchase with the same lines, whatever else is known of it. */
export const sameLines = (a: Purchase, b: Purchase): boolean =>
  a.store === b.store &&
  a.environment === b.environment &&
  a.key === b.key &&
  sameList(a.lines, b.lines, sameLine);

export const samePurchase = (a: Purchase, b: Purchase): boolean =>
  a.verifiedAt === b.verifiedAt &&
  a.replacedBy === b.replacedBy &&
  sameProducts(a.selectedProducts, b.selectedProducts) &&
  sameLines(a, b);

const sameProducts = (a: readonly string[] | null, b: readonly string[] | null): boolean =>
  a === null || b === null ? a === b : sameList(a, b, (one, other) => one === other);

/** The purchase as it was said at another time: to compare what was said without when. */
export const verifiedAs = (purchase: Purchase, verifiedAt: Instant): Purchase => ({
  ...purchase,
  verifiedAt,
  lines: purchase.lines.map((line) => ({ ...line, verifiedAt })),
});
