import { customerId } from "../identifiers.ts";
import { compare } from "../order.ts";
import type { Catalog } from "./catalog.ts";
import { lastAccess } from "./entitlements.ts";
import { grantingLines, referenceText, sameLines, type Purchase } from "./purchase.ts";
import { sameRenewal } from "./renewal.ts";
import type { Instant } from "./time.ts";
import { timelineOf } from "./timeline.ts";

/** Purchases held for each entitlement of an environment: those that end last. */
export const HELD_PER_ENTITLEMENT = 50;

/** Largest stored size of one customer's holdings, in bytes; DynamoDB limits an item to 400 KB. */
export const HOLDINGS_BYTES = 256 * 1024;

const BYTES_PER_PURCHASE = 48;
const BYTES_PER_LINE = 136;
const BYTES_PER_RENEWAL = 96;

const utf8Bytes = (...texts: readonly (string | null)[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ""), 0);

/** Upper bound of a held purchase's size in DynamoDB: its texts in UTF-8, and a margin for numbers and structure. */
const bytesOf = ({ key, lines, renewal }: Purchase): number => {
  const texts = lines.flatMap((line) => [
    line.productIdentifier,
    line.basePlanIdentifier,
    line.purchaseOptionIdentifier,
    line.transactionIdentifier,
    line.event,
  ]);
  const renewing = renewal === null ? 0 : BYTES_PER_RENEWAL + utf8Bytes(renewal.renewsInto);
  return BYTES_PER_PURCHASE + BYTES_PER_LINE * lines.length + utf8Bytes(key, ...texts) + renewing;
};

/** A timeline of one purchase needs no customer. */
const NOBODY = customerId("");

/** Last end of access that a purchase gives to each entitlement. */
const endsOf = (purchase: Purchase, catalog: Catalog): ReadonlyMap<string, Instant> => {
  const ends = new Map<string, Instant>();
  const holding = { customerIdentifier: NOBODY, assertedBy: null, purchase };
  for (const span of timelineOf([holding], { catalog, renewalLeeway: 0 }))
    for (const grant of span.product.grants)
      ends.set(grant, Math.max(ends.get(grant) ?? 0, lastAccess(span)));
  return ends;
};

/** Whether a purchase is held although the catalog maps nothing of it: a later catalog may. */
const lasts = ({ lines }: Purchase): boolean =>
  lines.some(({ nature }) => nature === "auto_renewable" || nature === "non_consumable");

interface Ranked {
  readonly purchase: Purchase;
  /** Place among the purchases of its entitlements, the best one; 0: it ends last. Null: it never gives access. */
  readonly rank: number | null;
}

/** Ranks purchases by their ends within each entitlement and environment; those without access come last. */
const ranked = (purchases: readonly Purchase[], catalog: Catalog): readonly Ranked[] => {
  const groups = new Map<string, { readonly purchase: Purchase; readonly end: Instant }[]>();
  for (const purchase of purchases)
    for (const [grant, end] of endsOf(purchase, catalog)) {
      const name = `${purchase.environment} ${grant}`;
      groups.set(name, [...(groups.get(name) ?? []), { purchase, end }]);
    }
  const ranks = new Map<Purchase, number>();
  for (const group of groups.values())
    group
      .toSorted(
        (a, b) => compare(b.end, a.end) || compare(referenceText(a.purchase), referenceText(b.purchase)),
      )
      .forEach(({ purchase }, rank) => ranks.set(purchase, Math.min(ranks.get(purchase) ?? Infinity, rank)));
  return purchases
    .map((purchase) => ({ purchase, rank: ranks.get(purchase) ?? null }))
    .sort(
      (a, b) =>
        compare(a.rank ?? Infinity, b.rank ?? Infinity) ||
        compare(referenceText(a.purchase), referenceText(b.purchase)),
    );
};

/**
 * The facts that a customer's entitlements are computed from: each purchase that may grant, with only the lines that
 * may. What can be bought again is held only where the catalog maps it; of each entitlement the
 * {@link HELD_PER_ENTITLEMENT} that end last, within {@link HOLDINGS_BYTES}. Sorted by reference, so that equal
 * purchases give equal holdings.
 *
 * @param isHeld whether a purchase, by {@link referenceText}, is held already: the catalog may be a minute old
 */
export const holdingsOf = (
  purchases: Iterable<Purchase>,
  catalog: Catalog,
  isHeld: (reference: string) => boolean = () => false,
): Purchase[] => {
  const granting = [...purchases]
    .map((purchase) => ({ ...purchase, lines: grantingLines(purchase) }))
    .filter(({ lines }) => lines.length > 0);
  let room = HOLDINGS_BYTES;
  return ranked(granting, catalog)
    .filter(({ purchase, rank }) => {
      const isMapped = purchase.lines.some((line) => catalog.productOf(purchase.store, line) !== undefined);
      if (!isMapped && !lasts(purchase) && !isHeld(referenceText(purchase))) return false;
      const bytes = bytesOf(purchase);
      if ((rank !== null && rank >= HELD_PER_ENTITLEMENT) || bytes > room) return false;
      room -= bytes;
      return true;
    })
    .map(({ purchase }) => purchase)
    .sort((a, b) => compare(referenceText(a), referenceText(b)));
};

/** Whether two holdings of a purchase have equal lines, replacements and renewal infos. */
export const heldAlike = (a: Purchase | undefined, b: Purchase | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.replacedBy === b.replacedBy &&
      a.replacedAt === b.replacedAt &&
      sameRenewal(a.renewal, b.renewal) &&
      sameLines(a, b);

/** Whether two lists of {@link holdingsOf} are the same. */
export const sameHoldings = (a: readonly Purchase[], b: readonly Purchase[]): boolean =>
  a.length === b.length && a.every((purchase, index) => heldAlike(purchase, b[index]));
