import type { Store } from "../contract/schemas.ts";
import { compare } from "../order.ts";
import type { Catalog } from "./catalog.ts";
import { decidingCopies, eventLines, eventsOf } from "./events.ts";
import { endOfUnits, takenUntil } from "./passes.ts";
import {
  grantingLines,
  isBeforeReplacement,
  isRevoked,
  referenceText,
  sameLines,
  type Line,
  type Nature,
  type Purchase,
} from "./purchase.ts";
import { sameRenewal } from "./renewal.ts";
import type { Period } from "./time.ts";

/** Newest repeatable purchases held per product. `valid` counts those with an end and those without separately. */
export const NEWEST_HELD_PER_PRODUCT = { valid: 40, revoked: 10 } as const;

/** Largest stored size of one customer's holdings, in bytes; DynamoDB limits an item to 400 KB. */
export const HOLDINGS_BYTES = 256 * 1024;

const REPEATABLE: ReadonlySet<Nature> = new Set(["non_renewing", "consumable"]);
const PRECEDENCE: Record<Nature, number> = {
  auto_renewable: 0,
  non_consumable: 1,
  non_renewing: 2,
  consumable: 3,
};
const BYTES_PER_PURCHASE = 48;
const BYTES_PER_LINE = 136;
const BYTES_PER_RENEWAL = 64;

const utf8Bytes = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text));

const renewalBytes = ({ renewal }: Purchase): number =>
  renewal === null ? 0 : BYTES_PER_RENEWAL + utf8Bytes(renewal.renewsInto);

/** Upper bound of a held purchase's size in DynamoDB: its texts in UTF-8, and a margin for numbers and structure. */
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
    BYTES_PER_PURCHASE + utf8Bytes(purchase.key) + renewalBytes(purchase),
  );

/** Natures that only the App Store has: Google's one-time products are consumables. */
const ONCE: ReadonlySet<Nature> = new Set(["non_consumable", "non_renewing"]);

/**
 * Reduces a non-consumable or non-renewing iOS purchase to its deciding copies; restores create any number of others.
 */
const withDecidingCopies = (purchase: Purchase): Purchase => {
  const { lines } = purchase;
  if (lines.length <= 1 || !lines.every(({ nature }) => ONCE.has(nature))) return purchase;
  const deciding = new Set(eventsOf(lines).flatMap(({ copies }) => decidingCopies(copies)));
  return { ...purchase, lines: lines.filter((line) => deciding.has(line)) };
};

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

const durationOf = (line: Line, store: Store, catalog: Catalog): Period | null =>
  line.endsAt === null ? (catalog.productOf(store, line)?.accessDuration ?? null) : null;

const endOf = (line: Line, store: Store, catalog: Catalog): number => {
  const duration = durationOf(line, store, catalog);
  if (duration === null) return line.endsAt ?? Infinity;
  return endOfUnits(line.quantity - line.refundedQuantity, duration, startOf(line));
};

/** A rental without an access duration grants nothing. */
const isMapped = (line: Line, store: Store, catalog: Catalog): boolean => {
  const product = catalog.productOf(store, line);
  return product !== undefined && !(line.rented && product.accessDuration === null);
};

const candidate = (purchase: Purchase, catalog: Catalog): Candidate | null => {
  const { store } = purchase;
  const lines = grantingLines(purchase);
  const [first] =
    lines.length <= 1 ? lines : [...lines].sort((a, b) => PRECEDENCE[a.nature] - PRECEDENCE[b.nature]);
  if (first === undefined) return null;
  // By its events: a copy restored before a refund, or the nominal end of what was refunded or upgraded, is worth nothing.
  const said = store === "ios-store" ? eventLines(lines) : lines;
  const valid = said.filter((line) => !isRevoked(line));
  const counting = valid.length > 0 ? valid : lines;
  const ends = counting.map((line) =>
    isBeforeReplacement(purchase, line)
      ? Math.min(endOf(line, store, catalog), purchase.replacedAt ?? Infinity)
      : endOf(line, store, catalog),
  );
  return {
    purchase: { ...purchase, lines },
    reference: referenceText(purchase),
    nature: first.nature,
    mapped: lines.some((line) => isMapped(line, store, catalog)),
    revoked: valid.length === 0,
    start: Math.max(...lines.map(startOf)),
    end: Math.max(...ends),
  };
};

const byReferenceText = (a: Candidate, b: Candidate): number => compare(a.reference, b.reference);
const newestFirst = (a: Candidate, b: Candidate): number =>
  compare(b.start, a.start) || byReferenceText(a, b);

/** Mapped and possibly active purchases first, so that those cut for lack of room grant nothing or end first. */
const mostWorthFirst = (a: Candidate, b: Candidate): number =>
  Number(b.mapped) - Number(a.mapped) ||
  Number(a.revoked) - Number(b.revoked) ||
  compare(b.end, a.end) ||
  PRECEDENCE[a.nature] - PRECEDENCE[b.nature] ||
  newestFirst(a, b);

/** The part of a purchase that concerns one product. */
interface Share {
  readonly held: Candidate;
  readonly lines: readonly Line[];
  /** Duration of a unit; null: no line is a pass. */
  readonly duration: Period | null;
  readonly revoked: boolean;
  readonly start: number;
  readonly end: number;
}

const shareOf = (held: Candidate, lines: readonly Line[], catalog: Catalog): Share => {
  const valid = lines.filter((line) => !isRevoked(line));
  const { store } = held.purchase;
  const ends = (valid.length > 0 ? valid : lines).map((line) => endOf(line, store, catalog));
  return {
    held,
    lines,
    duration: lines.map((line) => durationOf(line, store, catalog)).find((found) => found !== null) ?? null,
    revoked: valid.length === 0,
    start: Math.max(...lines.map(startOf)),
    end: Math.max(...ends),
  };
};

const newestShareFirst = (a: Share, b: Share): number =>
  compare(b.start, a.start) || byReferenceText(a.held, b.held);

/** Passes add up: returns the newest one, and those before it that together reach past its purchase. */
const stillRunning = (newest: readonly Share[]): readonly Share[] => {
  let running: Share[] = [];
  let taken = 0;
  for (const pass of newest.toReversed()) {
    running = pass.start < taken ? [...running, pass] : [pass];
    for (const line of pass.lines) {
      const begins = Math.max(taken, startOf(line));
      taken =
        pass.duration === null || line.endsAt !== null
          ? Math.max(taken, line.endsAt ?? begins)
          : takenUntil(line, pass.duration, begins);
    }
  }
  return running;
};

const heldOfProduct = (shares: readonly Share[]): readonly Share[] => {
  if (shares.length <= NEWEST_HELD_PER_PRODUCT.revoked) return shares;
  const newest = shares.toSorted(newestShareFirst);
  const valid = newest.filter(({ revoked }) => !revoked);
  const passes = newest.filter(({ end }) => end < Infinity);
  return [
    ...valid.filter(({ end }) => end === Infinity).slice(0, NEWEST_HELD_PER_PRODUCT.valid),
    ...valid.filter(({ end }) => end < Infinity).slice(0, NEWEST_HELD_PER_PRODUCT.valid),
    ...newest.filter(({ revoked }) => revoked).slice(0, NEWEST_HELD_PER_PRODUCT.revoked),
    ...stillRunning(passes),
  ];
};

/** Bounds the purchases held per product. One of several products stays while any of them holds it. */
const boundedPerProduct = (
  candidates: readonly Candidate[],
  catalog: Catalog,
  isHeld: (reference: string) => boolean,
): Candidate[] => {
  const entries = candidates.flatMap((held) => {
    const { store, environment, lines } = held.purchase;
    const granting = lines.filter((line) => !line.rented || isMapped(line, store, catalog));
    return [...Map.groupBy(granting, ({ productIdentifier }) => productIdentifier)].map(
      ([name, ofProduct]) => ({
        product: JSON.stringify([store, environment, name]),
        share: shareOf(held, ofProduct, catalog),
      }),
    );
  });
  const kept = new Set(
    [...Map.groupBy(entries, ({ product }) => product).values()]
      .flatMap((group) => heldOfProduct(group.map(({ share }) => share)))
      .map(({ held }) => held),
  );
  // Only a re-projection drops holdings that the catalog no longer maps.
  return candidates.filter((held) => kept.has(held) || (!held.mapped && isHeld(held.reference)));
};

/**
 * In the order in which they get room. First comes the best one for each entitlement and environment. Then come those that end, if the
 * best one of an entitlement ends too: passes add up. Then come the others, so that many lifetimes of one entitlement crowd out nothing
 * else.
 *
 * @param candidates those of most worth first
 */
const neededFirst = (candidates: readonly Candidate[], catalog: Catalog): readonly Candidate[] => {
  const grantsOf = ({ purchase: { store, environment, lines }, revoked }: Candidate): readonly string[] =>
    revoked
      ? []
      : lines
          .filter((line) => isMapped(line, store, catalog))
          .flatMap((line) => catalog.productOf(store, line)?.grants ?? [])
          .map((grant) => `${environment} ${grant}`);
  const grants = new Map(candidates.map((held) => [held, grantsOf(held)]));
  const best = new Map<string, Candidate>();
  for (const held of candidates)
    for (const grant of grants.get(held) ?? []) if (!best.has(grant)) best.set(grant, held);
  const firsts = new Set(best.values());
  const addsUp = (held: Candidate): boolean =>
    (grants.get(held) ?? []).some((grant) => (best.get(grant)?.end ?? Infinity) < Infinity);
  const rank = (held: Candidate): number => (firsts.has(held) ? 0 : addsUp(held) ? 1 : 2);
  return candidates.toSorted((a, b) => rank(a) - rank(b));
};

/** All of them if they fit; otherwise those that fit, in order of need and without copies that decide nothing. */
const withinBytes = (candidates: readonly Candidate[], catalog: Catalog): readonly Candidate[] => {
  let room = HOLDINGS_BYTES;
  const fits = ({ purchase }: Candidate): boolean => {
    const bytes = bytesOf(purchase);
    if (bytes > room) return false;
    room -= bytes;
    return true;
  };
  if (candidates.every(fits)) return candidates;
  room = HOLDINGS_BYTES;
  return neededFirst(
    candidates.map((held) => ({ ...held, purchase: withDecidingCopies(held.purchase) })),
    catalog,
  ).filter(fits);
};

const NOT_HELD = (): boolean => false;

/**
 * The facts that a customer's entitlements are computed from: each purchase that may grant, with only the lines that
 * may. A `consumable` is held only if the catalog maps it. Repeatable purchases are bounded to the newest of each
 * product, and all together by {@link HOLDINGS_BYTES}. Sorted by reference, so that equal purchases give equal
 * holdings.
 *
 * @param isHeld whether a purchase, by {@link referenceText}, is held already: it stays, mapped or not
 */
export const holdingsOf = (
  purchases: Iterable<Purchase>,
  catalog: Catalog,
  isHeld: (reference: string) => boolean = NOT_HELD,
): Purchase[] => {
  const candidates = [...purchases]
    .map((purchase) => candidate(purchase, catalog))
    .filter((held) => held !== null)
    .filter(({ nature, mapped, reference }) => nature !== "consumable" || mapped || isHeld(reference));
  const bounded = [
    ...candidates.filter(({ nature }) => !REPEATABLE.has(nature)),
    ...boundedPerProduct(
      candidates.filter(({ nature }) => REPEATABLE.has(nature)),
      catalog,
      isHeld,
    ),
  ].sort(mostWorthFirst);
  return withinBytes(bounded, catalog)
    .toSorted(byReferenceText)
    .map(({ purchase }) => purchase);
};

/** Whether two holdings of a purchase have equal lines, replacements and renewal infos. */
export const heldAlike = (a: Purchase | undefined, b: Purchase | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.replacedBy === b.replacedBy &&
      a.replacedAt === b.replacedAt &&
      a.isReplaced === b.isReplaced &&
      sameRenewal(a.renewal, b.renewal) &&
      sameLines(a, b);

/** Whether two lists of {@link holdingsOf} are the same. */
export const sameHoldings = (a: readonly Purchase[], b: readonly Purchase[]): boolean =>
  a.length === b.length && a.every((purchase, index) => heldAlike(purchase, b[index]));
