import type { Environment } from "../contract/schemas.ts";
import type { PurchaseKey } from "../identifiers.ts";
import { compare } from "../order.ts";
import { eventName, eventsOf, keptCopies, latestCopies, type PurchaseEvent } from "./purchase-events.ts";
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

/** Events kept per product of a lineage, those that end last; those that had not ended when last signed besides. */
const EVENTS_KEPT_PER_PRODUCT = 3;

/** Events kept per lineage, those that end last: a bound for lineages with very many products. */
const EVENTS_KEPT = 100;

const endOf = ({ endsAt }: Line): number => endsAt ?? Infinity;

/**
 * The {@link EVENTS_KEPT_PER_PRODUCT}th latest end among each product's events; 0: it has fewer. Compares each copy's
 * own end: a later copy may show that copies are one event.
 */
const outlasted = (copies: readonly Line[]): ReadonlyMap<string, number> => {
  const products = Map.groupBy(copies, ({ productIdentifier }) => productIdentifier);
  return new Map(
    [...products].map(([product, ofProduct]) => {
      const ends = [...Map.groupBy(ofProduct, eventName).values()]
        .map((event) => Math.max(...event.map(endOf)))
        .sort((a, b) => b - a);
      return [product, ends[EVENTS_KEPT_PER_PRODUCT - 1] ?? 0];
    }),
  );
};

const lastEnd = (event: PurchaseEvent): number => Math.max(...event.map(endOf));

const lastEndFirst = (a: PurchaseEvent, b: PurchaseEvent): number =>
  compare(lastEnd(b), lastEnd(a)) || compare(eventName(b[0]), eventName(a[0]));

/** Joins the lines of one iOS lineage, and bounds its events and their copies. */
const joinTransactions = (
  lines: readonly Line[],
  environment: Environment,
  lastHeard: Instant,
): readonly Line[] => {
  // Fast path: most often a line is repeated.
  const [first] = lines;
  if (first !== undefined && lines.every((line) => sameLine(line, first))) return [first];
  const copies = latestCopies(lines, environment);
  const ends = outlasted(copies);
  const isKept = (copy: Line): boolean =>
    endOf(copy) > lastHeard || endOf(copy) >= (ends.get(copy.productIdentifier) ?? 0);
  return eventsOf(copies.filter(isKept))
    .toSorted(lastEndFirst)
    .slice(0, EVENTS_KEPT)
    .flatMap(keptCopies)
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

/** The answer's lines, each refunded since the first answer that showed it. */
const withFirstRefunds = ({ lines }: Purchase, all: readonly Purchase[]): readonly Line[] =>
  lines.map((line) => {
    const ofProduct = all
      .flatMap((answer) => answer.lines)
      .filter(({ productIdentifier }) => productIdentifier === line.productIdentifier);
    const since = Math.min(...ofProduct.map(({ revokedSince }) => revokedSince ?? Infinity));
    return since === Infinity ? line : { ...line, revokedSince: since };
  });

const union = (a: readonly string[] | null, b: readonly string[] | null): readonly string[] | null =>
  a === null || b === null ? null : [...new Set([...a, ...b])].sort();

interface Replacement {
  readonly replacedBy: PurchaseKey | null;
  readonly replacedAt: Instant | null;
}

/** One without a time replaces everything and wins; otherwise the earliest: each renewal names the older lineage again. */
const firstReplacement = (a: Replacement, b: Replacement): Replacement => {
  if (a.replacedBy === null || b.replacedBy === null) return a.replacedBy === null ? b : a;
  const order =
    compare(a.replacedAt ?? -Infinity, b.replacedAt ?? -Infinity) || compare(b.replacedBy, a.replacedBy);
  return order <= 0 ? a : b;
};

/**
 * Joins facts about one purchase: commutative, associative and idempotent. iOS: per transaction id, and of renewal infos,
 * the later signed copy wins. Android: the later answer replaces the earlier one.
 */
export const joinPurchases = (first: Purchase, ...others: readonly Purchase[]): Purchase => {
  // Fast path: most often there is one fact with one line.
  if (others.length === 0 && first.lines.length <= 1 && (first.selectedProducts?.length ?? 0) <= 1)
    return first;
  const { store, environment, key } = first;
  const facts = [first, ...others];
  const verifiedAt = facts.reduce((last, one) => Math.max(last, one.verifiedAt), 0);
  const { replacedBy, replacedAt } = facts.reduce<Replacement>(firstReplacement, first);
  const allLines = facts.flatMap(({ lines }) => lines);
  return {
    store,
    environment,
    key,
    lines:
      store === "ios-store"
        ? joinTransactions(allLines, environment, verifiedAt)
        : withFirstRefunds(others.reduce(laterAnswer, first), facts),
    selectedProducts: facts.reduce((all, one) => union(all, one.selectedProducts), first.selectedProducts),
    replacedBy,
    replacedAt,
    renewal: facts.reduce<Renewal | null>((latest, one) => laterRenewal(latest, one.renewal), null),
    verifiedAt,
  };
};

/** Joins facts into one purchase per reference, sorted by reference. */
export const joinAll = (purchases: Iterable<Purchase>): Purchase[] =>
  [...Map.groupBy(purchases, referenceText)]
    .sort(([a], [b]) => compare(a, b))
    .flatMap(([, [first, ...others]]) => (first === undefined ? [] : [joinPurchases(first, ...others)]));
