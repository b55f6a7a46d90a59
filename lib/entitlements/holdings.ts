import { customerId } from "../identifiers.ts";
import { compare, sameList } from "../order.ts";
import type { Catalog } from "./catalog.ts";
import { lastAccess } from "./entitlements.ts";
import { byReference, grantingLines, sameLines, type Purchase } from "./purchase.ts";
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

/** Best place of each purchase among those of its entitlements and environment; 0: it ends last. */
const ranksOf = (purchases: readonly Purchase[], catalog: Catalog): ReadonlyMap<Purchase, number> => {
  const ends = purchases.flatMap((purchase) =>
    Array.from(endsOf(purchase, catalog), ([grant, end]) => ({ purchase, grant, end })),
  );
  const ranks = new Map<Purchase, number>();
  for (const group of Map.groupBy(ends, ({ purchase, grant }) => `${purchase.environment} ${grant}`).values())
    group
      .sort((a, b) => compare(b.end, a.end))
      .forEach(({ purchase }, rank) => ranks.set(purchase, Math.min(ranks.get(purchase) ?? Infinity, rank)));
  return ranks;
};

/**
 * The facts that a customer's entitlements are computed from: each purchase that may grant, with only the lines that
 * may. What can be bought again is held only where the catalog maps it; of each entitlement the
 * {@link HELD_PER_ENTITLEMENT} that end last, within {@link HOLDINGS_BYTES}. Sorted by reference, so that equal
 * purchases give equal holdings.
 *
 * @param purchases of two with the same reference, the last counts
 * @param isHeld whether a purchase, by its reference, is held already: the catalog may be a minute old
 */
export const holdingsOf = (
  purchases: Iterable<Purchase>,
  catalog: Catalog,
  isHeld: (reference: string) => boolean = () => false,
): Purchase[] => {
  const granting = Array.from(byReference(purchases), ([reference, purchase]) => ({
    reference,
    purchase: { ...purchase, lines: grantingLines(purchase) },
  }))
    .filter(({ purchase }) => purchase.lines.length > 0)
    .sort((a, b) => compare(a.reference, b.reference));
  const ranks = ranksOf(
    granting.map(({ purchase }) => purchase),
    catalog,
  );
  const rankOf = ({ purchase }: (typeof granting)[number]): number => ranks.get(purchase) ?? Infinity;
  const held = new Set<Purchase>();
  let room = HOLDINGS_BYTES;
  for (const one of granting.toSorted((a, b) => compare(rankOf(a), rankOf(b)))) {
    const { purchase, reference } = one;
    const isMapped = purchase.lines.some((line) => catalog.productOf(purchase.store, line) !== undefined);
    if (!isMapped && !lasts(purchase) && !isHeld(reference)) continue;
    const bytes = bytesOf(purchase);
    if ((ranks.get(purchase) ?? 0) >= HELD_PER_ENTITLEMENT || bytes > room) continue;
    room -= bytes;
    held.add(purchase);
  }
  return granting.flatMap(({ purchase }) => (held.has(purchase) ? [purchase] : []));
};

/** Whether two holdings of a purchase have equal lines, replacements and renewal infos. */
export const heldAlike = (a: Purchase | undefined, b: Purchase | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.replacedBy === b.replacedBy &&
      a.replacedAt === b.replacedAt &&
      sameRenewal(a.renewal, b.renewal) &&
      sameLines(a, b);

export const sameHoldings = (a: readonly Purchase[], b: readonly Purchase[]): boolean =>
  sameList(a, b, heldAlike);
