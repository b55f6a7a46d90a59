import { compare } from "../order.ts";
import type { Catalog } from "./catalog.ts";
import { grantingLines } from "./entitlements.ts";
import { referenceText, sameLines, type Line, type Nature, type Purchase } from "./purchase.ts";
import { plusPeriod, times } from "./time.ts";

/** Purchases that can be bought again and again, held for each product: valid ones, and revoked ones. */
export const NEWEST_HELD_PER_PRODUCT = { valid: 40, revoked: 10 } as const;

/** The holdings of one customer stay below this many bytes as stored; DynamoDB's limit for an item is 400 KB. */
export const HOLDINGS_BYTES = 256 * 1024;

const REPEATABLE: ReadonlySet<Nature> = new Set(["non_renewing", "consumable"]);
const PRECEDENCE: Record<Nature, number> = {
  auto_renewable: 0,
  non_consumable: 1,
  non_renewing: 2,
  consumable: 3,
};
const BYTES_PER_PURCHASE = 48;
const BYTES_PER_LINE = 128;

const utf8Bytes = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text));

/** No less than what DynamoDB counts for a held purchase: its texts in UTF-8, and a margin for numbers and structure. */
const bytesOf = (purchase: Purchase): number =>
  purchase.lines.reduce(
    (sum, line) =>
      sum +
      BYTES_PER_LINE +
      utf8Bytes(line.productIdentifier) +
      utf8Bytes(line.basePlanIdentifier) +
      utf8Bytes(line.purchaseOptionIdentifier) +
      utf8Bytes(line.transactionIdentifier) +
      utf8Bytes(line.event),
    BYTES_PER_PURCHASE + utf8Bytes(purchase.key),
  );

interface Candidate {
  readonly purchase: Purchase;
  readonly reference: string;
  readonly nature: Nature;
  readonly mapped: boolean;
  readonly revoked: boolean;
  readonly start: number;
  readonly end: number;
}

const startOf = ({ startsAt, verifiedAt }: Line): number => startsAt ?? verifiedAt;

const endOf = (line: Line, purchase: Purchase, catalog: Catalog): number => {
  const duration = catalog.productOf(purchase.store, line)?.accessDuration ?? null;
  if (line.endsAt !== null || duration === null) return line.endsAt ?? Infinity;
  return plusPeriod(startOf(line), times(line.quantity, duration));
};

const candidate = (purchase: Purchase, catalog: Catalog): Candidate | null => {
  const lines = grantingLines(purchase);
  const [first] = [...lines].sort((a, b) => PRECEDENCE[a.nature] - PRECEDENCE[b.nature]);
  if (first === undefined) return null;
  return {
    purchase: { ...purchase, lines },
    reference: referenceText(purchase),
    nature: first.nature,
    mapped: lines.some((line) => catalog.productOf(purchase.store, line) !== undefined),
    revoked: lines.every((line) => line.standing === "revoked" || line.revokedAt !== null),
    start: Math.max(...lines.map(startOf)),
    end: Math.max(...lines.map((line) => endOf(line, purchase, catalog))),
  };
};

const byReferenceText = (a: Candidate, b: Candidate): number => compare(a.reference, b.reference);
const newestFirst = (a: Candidate, b: Candidate): number =>
  compare(b.start, a.start) || byReferenceText(a, b);

/** What is mapped and may be active goes before everything else: whatever there is no room for grants nothing, or ends first. */
const mostWorthFirst = (a: Candidate, b: Candidate): number =>
  Number(b.mapped) - Number(a.mapped) ||
  Number(a.revoked) - Number(b.revoked) ||
  compare(b.end, a.end) ||
  PRECEDENCE[a.nature] - PRECEDENCE[b.nature] ||
  newestFirst(a, b);

/** What a purchase is one of several of. */
const groupsOf = ({ purchase: { store, environment, lines } }: Candidate): string[] =>
  [...new Set(lines.map(({ productIdentifier }) => productIdentifier))].map((product) =>
    JSON.stringify([store, environment, product]),
  );

/** When a revoked purchase was revoked; null where the store does not say. */
const revocationOf = ({ purchase: { lines } }: Candidate): number | null =>
  lines.reduce<number | null>((last, { revokedAt }) => Math.max(last ?? 0, revokedAt ?? 0) || null, null);

/** Passes add up: those that reach, one after the other, beyond the purchase of the newest. */
const stillRunning = (newest: readonly Candidate[]): readonly Candidate[] => {
  let running: Candidate[] = [];
  let taken = 0;
  for (const pass of newest.toReversed()) {
    running = pass.start < taken ? [...running, pass] : [pass];
    const begins = Math.max(taken, pass.start);
    const ends = begins + pass.end - pass.start;
    taken = pass.revoked ? Math.max(begins, Math.min(ends, revocationOf(pass) ?? begins)) : ends;
  }
  return running;
};

const heldOfProduct = (group: readonly Candidate[]): readonly Candidate[] => {
  if (group.length <= NEWEST_HELD_PER_PRODUCT.revoked) return group;
  const newest = group.toSorted(newestFirst);
  const isPass = newest.every(({ end }) => end < Infinity);
  return [
    ...newest.filter(({ revoked }) => !revoked).slice(0, NEWEST_HELD_PER_PRODUCT.valid),
    ...newest.filter(({ revoked }) => revoked).slice(0, NEWEST_HELD_PER_PRODUCT.revoked),
    ...(isPass ? stillRunning(newest) : []),
  ];
};

/** A purchase of several products is kept while it is held for any of them. */
const boundedPerProduct = (candidates: readonly Candidate[]): Candidate[] => {
  const entries = candidates.flatMap((held) => groupsOf(held).map((group) => ({ held, group })));
  const kept = new Set(
    [...Map.groupBy(entries, ({ group }) => group).values()].flatMap((group) =>
      heldOfProduct(group.map(({ held }) => held)),
    ),
  );
  return candidates.filter((held) => kept.has(held));
};

/**
 * The few facts that a customer's entitlements are computed from: each purchase that can grant, with only its lines
 * that can. What may be consumed counts only where the catalog maps it. What can be bought again and again is bounded to
 * the newest of each product, and everything together by {@link HOLDINGS_BYTES}. In order of reference, so that the same
 * purchases give the same holdings.
 */
export const holdingsOf = (purchases: Iterable<Purchase>, catalog: Catalog): Purchase[] => {
  const candidates = [...purchases]
    .map((purchase) => candidate(purchase, catalog))
    .filter((held) => held !== null)
    .filter(({ nature, mapped }) => nature !== "consumable" || mapped);
  const bounded = [
    ...candidates.filter(({ nature }) => !REPEATABLE.has(nature)),
    ...boundedPerProduct(candidates.filter(({ nature }) => REPEATABLE.has(nature))),
  ].sort(mostWorthFirst);
  let bytes = 0;
  return bounded
    .filter(({ purchase }) => (bytes += bytesOf(purchase)) <= HOLDINGS_BYTES)
    .sort(byReferenceText)
    .map(({ purchase }) => purchase);
};

/** Whether a purchase is held alike: of one that is held only its lines are stored. */
export const heldAlike = (a: Purchase | undefined, b: Purchase | undefined): boolean =>
  a === undefined || b === undefined ? a === b : sameLines(a, b);

/** Of holdings as {@link holdingsOf} gives them. */
export const sameHoldings = (a: readonly Purchase[], b: readonly Purchase[]): boolean =>
  a.length === b.length && a.every((purchase, index) => heldAlike(purchase, b[index]));
