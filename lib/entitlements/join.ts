import type { Environment } from "../contract/schemas.ts";
import type { PurchaseKey } from "../identifiers.ts";
import { compare } from "../order.ts";
import {
  eventName,
  eventsOf,
  lastEnd,
  lastRefunded,
  laterLine,
  latestCopies,
  newestCopyFirst,
  type PurchaseEvent,
} from "./events.ts";
import {
  lineOrder,
  lineText,
  referenceText,
  sameLine,
  sameLines,
  type Line,
  type Purchase,
} from "./purchase.ts";
import { laterRenewal, type Renewal } from "./renewal.ts";
import type { Instant } from "./time.ts";

/**
 * Events kept per product of a lineage, those that end last; the first, and those that had not ended when the lineage
 * was last verified, are kept besides. With three, a period that an upgrade overtook is kept together with the one
 * before it when the person returns to its product.
 */
const EVENTS_KEPT_PER_PRODUCT = 3;

/** Events kept per lineage, those that end last: a bound for lineages with very many products. */
const EVENTS_KEPT = 100;

/**
 * Newest copies kept per event, of those ever refunded and of the others. The last signed of each, the last signed that is marked as
 * upgraded, and the first signed of the last refund, are kept too; and the oldest of all, which is the purchase's own: it is what is
 * refunded, and its refund may be told after the reversal.
 */
const COPIES_KEPT = 32;

const boundedCopies = ({ copies }: PurchaseEvent): readonly Line[] => {
  if (copies.length <= COPIES_KEPT) return copies;
  const newest = copies.toSorted(newestCopyFirst);
  const oldest = newest.slice(-1);
  const kept = [true, false].flatMap((refunded) => {
    const [first, ...others] = newest.filter(({ revokedSince }) => (revokedSince !== null) === refunded);
    if (first === undefined) return [];
    const lastSigned = others.reduce(laterLine, first);
    const refund = lastRefunded([first, ...others]) ?? first;
    const marked = [first, ...others].filter(({ standing }) => standing === "expired");
    const lastMarked = marked.reduce(laterLine, marked[0] ?? first);
    return [...[first, ...others].slice(0, COPIES_KEPT), lastSigned, lastMarked, refund];
  });
  return [...new Set([...kept, ...oldest])];
};

const endOf = ({ endsAt }: Line): number => endsAt ?? Infinity;

/**
 * The {@link EVENTS_KEPT_PER_PRODUCT}th latest end among each product's events; 0: it has fewer. Compares event names
 * and each copy's own end, not joined events: a later copy may show that copies are one event, and an earlier one when
 * the event began.
 */
const outlasted = (copies: readonly Line[]): ReadonlyMap<string, number> => {
  const lastEnds = new Map<string, Map<string, number>>();
  for (const copy of copies) {
    const name = eventName(copy);
    const ends = lastEnds.get(copy.productIdentifier) ?? new Map<string, number>();
    lastEnds.set(copy.productIdentifier, ends.set(name, Math.max(ends.get(name) ?? 0, endOf(copy))));
  }
  return new Map(
    [...lastEnds].map(([product, ends]) => {
      const lastFirst = [...ends.values()].sort((a, b) => b - a);
      return [product, lastFirst[EVENTS_KEPT_PER_PRODUCT - 1] ?? 0];
    }),
  );
};

/**
 * The earliest start among the copies of each product. A subscription's first period is kept, because it may have ended
 * another product's early: that end would move if its cause were dropped. Compares each copy's own start, as
 * {@link outlasted} does each copy's own end. None in Xcode, where the copy of a restore replaces the purchase's.
 * (Lines without an end are kept in any case.)
 */
const firstStarts = (copies: readonly Line[], environment: Environment): ReadonlyMap<string, Instant> => {
  const starts = new Map<string, Instant>();
  if (environment === "xcode") return starts;
  for (const { productIdentifier, startsAt } of copies)
    if (startsAt !== null)
      starts.set(productIdentifier, Math.min(starts.get(productIdentifier) ?? Infinity, startsAt));
  return starts;
};

const lastEndFirst = (a: PurchaseEvent, b: PurchaseEvent): number =>
  compare(lastEnd(b), lastEnd(a)) ||
  compare(b.line.startsAt ?? 0, a.line.startsAt ?? 0) ||
  compare(eventName(b.line), eventName(a.line));

/**
 * Joins the lines of one iOS lineage and bounds its events. An event that had not ended when the lineage was last
 * verified stays, up to {@link EVENTS_KEPT}. So the current one is kept, however many periods were renewed ahead of
 * time.
 */
const joinTransactions = (
  lines: readonly Line[],
  environment: Environment,
  lastHeard: Instant,
): readonly Line[] => {
  // Fast path: most often a line is repeated.
  const [first] = lines;
  if (first !== undefined && lines.every((line) => sameLine(line, first))) return [first];
  const copies = latestCopies(lines, environment);
  const endsOutlasted = outlasted(copies);
  const starts = firstStarts(copies, environment);
  const isKept = (copy: Line): boolean =>
    endOf(copy) > lastHeard ||
    endOf(copy) >= (endsOutlasted.get(copy.productIdentifier) ?? 0) ||
    copy.startsAt === starts.get(copy.productIdentifier);
  return eventsOf(copies.filter(isKept))
    .toSorted(lastEndFirst)
    .slice(0, EVENTS_KEPT)
    .flatMap(boundedCopies)
    .sort(lineOrder);
};

const linesText = (lines: readonly Line[]): string => lines.map(lineText).join();

/** Time of the answer that the lines are of; a later one without lines may have been joined since. */
const answeredAt = ({ lines, verifiedAt }: Purchase): Instant => lines[0]?.verifiedAt ?? verifiedAt;

/**
 * The later answer; ties are broken deterministically. Nothing paid becomes unpaid, so an answer without lines is older
 * than one with lines, whenever it came: the store's reads may lag.
 */
const laterAnswer = (a: Purchase, b: Purchase): Purchase => {
  const showsPurchase = ({ lines }: Purchase): number => Number(lines.length > 0);
  const order = compare(showsPurchase(a), showsPurchase(b)) || compare(answeredAt(a), answeredAt(b));
  if (order !== 0) return order > 0 ? a : b;
  return sameLines(a, b) || linesText(a.lines) > linesText(b.lines) ? a : b;
};

type Refunds = Pick<Line, "refundedBy" | "mostRefunded" | "leastRefunded">;

/** The larger refund, or the earlier seen of equal ones, and the smallest refund of both. */
const joinRefunds = (a: Refunds, b: Refunds): Refunds => {
  const order =
    compare(b.mostRefunded, a.mostRefunded) || compare(a.refundedBy ?? Infinity, b.refundedBy ?? Infinity);
  const { refundedBy, mostRefunded } = order > 0 ? b : a;
  return { refundedBy, mostRefunded, leastRefunded: Math.min(a.leastRefunded, b.leastRefunded) };
};

/**
 * The answer's lines, with the largest refund of their product in any answer, when it was first seen, and the smallest
 * one.
 */
const withAllRefunds = (answer: Purchase, all: readonly Purchase[]): readonly Line[] => {
  const joined = new Map<string, Refunds>();
  for (const line of all.flatMap(({ lines }) => lines))
    joined.set(line.productIdentifier, joinRefunds(joined.get(line.productIdentifier) ?? line, line));
  return answer.lines.map((line) => ({ ...line, ...joined.get(line.productIdentifier) }));
};

const union = (a: readonly string[] | null, b: readonly string[] | null): readonly string[] | null =>
  a === null || b === null ? null : [...new Set([...a, ...b])].sort();

interface Replacement {
  readonly replacedBy: PurchaseKey | null;
  readonly replacedAt: Instant | null;
}

/**
 * A replacement without a time replaces everything and wins. Otherwise the earliest wins: every renewal names the older
 * lineage again.
 */
const firstReplacement = (a: Replacement, b: Replacement): Replacement => {
  if (a.replacedBy === null || b.replacedBy === null) return a.replacedBy === null ? b : a;
  const order =
    compare(a.replacedAt ?? -Infinity, b.replacedAt ?? -Infinity) || compare(b.replacedBy, a.replacedBy);
  return order <= 0 ? a : b;
};

const joinFacts = (first: Purchase, ...others: readonly Purchase[]): Purchase => {
  // Fast path: most often there is one fact with one line.
  if (others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1)
    return first;
  const { store, environment, key } = first;
  const facts = [first, ...others];
  const verifiedAt = facts.reduce((last, one) => Math.max(last, one.verifiedAt), 0);
  const { replacedBy, replacedAt } = facts.reduce<Replacement>(firstReplacement, first);
  return {
    store,
    environment,
    key,
    lines:
      store === "ios-store"
        ? joinTransactions(
            facts.flatMap(({ lines }) => lines),
            environment,
            verifiedAt,
          )
        : withAllRefunds(others.reduce(laterAnswer, first), facts),
    selectedProducts: facts.reduce((all, one) => union(all, one.selectedProducts), first.selectedProducts),
    replacedBy,
    replacedAt,
    ...(facts.some(({ isReplaced }) => isReplaced) && { isReplaced: true }),
    renewal: facts.reduce<Renewal | null>((latest, one) => laterRenewal(latest, one.renewal), null),
    verifiedAt,
  };
};

/**
 * Joins two sets of facts about one purchase. Commutative, associative and idempotent, so facts may arrive in any
 * order, any number of times. iOS: per transaction id, and of renewal infos, the later signed copy wins. Android: the later answer replaces
 * the earlier one.
 */
export const joinPurchases = (a: Purchase, b: Purchase): Purchase => joinFacts(a, b);

/** Joins facts into one purchase per reference, sorted by reference. */
export const joinAll = (purchases: Iterable<Purchase>): Purchase[] =>
  [...Map.groupBy(purchases, referenceText)]
    .sort(([a], [b]) => compare(a, b))
    .flatMap(([, [first, ...others]]) => (first === undefined ? [] : [joinFacts(first, ...others)]));
