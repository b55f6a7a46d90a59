import type { Environment } from "../contract/schemas.ts";
import { compare } from "../order.ts";
import {
  isRevoked,
  lineOrder,
  lineText,
  referenceText,
  sameLine,
  type Line,
  type Purchase,
} from "./purchase.ts";
import { laterRenewal, type Renewal } from "./renewal.ts";
import type { Instant } from "./time.ts";

/**
 * A purchase event: one product, bought once, as its copies tell it. Each restore, and in older clients each device,
 * makes another transaction id for the same event.
 */
export type PurchaseEvent = readonly [Line, ...Line[]];

export const eventName = ({ productIdentifier, event }: Line): string => `${productIdentifier} ${event}`;

const laterLine = (a: Line, b: Line): Line => {
  if (a.verifiedAt !== b.verifiedAt) return a.verifiedAt > b.verifiedAt ? a : b;
  return lineText(a) >= lineText(b) ? a : b;
};

/** Later signed copy of one transaction id, with the earliest revocation of both. */
const laterCopy = (a: Line, b: Line): Line => {
  const later = laterLine(a, b);
  if (a.revokedSince === null && b.revokedSince === null) return later;
  return { ...later, revokedSince: Math.min(a.revokedSince ?? Infinity, b.revokedSince ?? Infinity) };
};

/** Last signed copy of each transaction id. In Xcode every id is "0", so the event is part of the key. */
export const latestCopies = (lines: readonly Line[], environment: Environment): readonly Line[] => {
  const keyOf = (line: Line): string =>
    `${line.transactionIdentifier ?? ""} ${environment === "xcode" ? eventName(line) : ""}`;
  return [...Map.groupBy(lines, keyOf).values()].map((copies) => copies.reduce(laterCopy));
};

/** Purchase events of one iOS lineage, from one line per transaction id. */
export const eventsOf = (copies: readonly Line[]): readonly PurchaseEvent[] =>
  [...Map.groupBy(copies, eventName).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [[first, ...others] as const],
  );

const byPurchase = (a: Line, b: Line): number =>
  compare(a.purchasedAt ?? 0, b.purchasedAt ?? 0) ||
  compare(a.transactionIdentifier ?? "", b.transactionIdentifier ?? "");

const lastSigned = (copies: readonly Line[]): Line | undefined =>
  copies.length === 0 ? undefined : copies.reduce(laterLine);

/** Newest copies of an event that are kept beside the earliest. */
const NEWEST_KEPT = 6;

/** Kept by purchase date, which no later copy of an id changes: what was dropped never returns, in whatever order. */
export const keptCopies = (copies: PurchaseEvent): readonly Line[] => {
  const [earliest = copies[0], ...others] = copies.toSorted(byPurchase);
  return [earliest, ...others.slice(-NEWEST_KEPT)];
};

/**
 * The event as one line. The store marks a refund on one transaction id and keeps signing the others without it: an id
 * that ever was revoked speaks for the event until a later copy of that id takes it back. The mark of an upgrade and
 * the earliest start count under any id. A non-consumable bought after its refund is bought anew.
 */
export const decided = (copies: PurchaseEvent): Line => {
  if (copies.length === 1) return copies[0];
  const revoked = lastSigned(copies.filter(({ revokedSince }) => revokedSince !== null));
  const isRefunded = revoked !== undefined && (isRevoked(revoked) || revoked.refundedQuantity > 0);
  if (copies[0].nature !== "auto_renewable") {
    const newest = copies.reduce((a, b) => (byPurchase(a, b) > 0 ? a : b));
    const isBoughtAnew =
      newest.nature === "non_consumable" &&
      !isRevoked(newest) &&
      (newest.purchasedAt ?? 0) > (revoked?.revokedAt ?? Infinity);
    // Where the last word under another id took its refund back, the newest may still carry it.
    return revoked !== undefined && (isRefunded ? !isBoughtAnew : isRevoked(newest)) ? revoked : newest;
  }
  const marked = lastSigned(copies.filter(({ standing }) => standing === "expired"));
  return {
    ...(isRefunded ? revoked : copies.reduce(laterLine)),
    startsAt: Math.min(...copies.map(({ startsAt }) => startsAt ?? Infinity)),
    revokedSince: revoked?.revokedSince ?? null,
    ...(marked !== undefined && { standing: marked.standing, verifiedAt: marked.verifiedAt }),
  };
};

/** Events kept per product of a lineage, those that end last; those that had not ended when last signed besides. */
const EVENTS_KEPT_PER_PRODUCT = 3;

/** Events kept per lineage, those that end last: a bound for lineages with very many products. */
const EVENTS_KEPT = 100;

const endOf = ({ endsAt }: Line): number => endsAt ?? Infinity;

const lastEnd = (event: PurchaseEvent): number => Math.max(...event.map(endOf));

/**
 * The {@link EVENTS_KEPT_PER_PRODUCT}th latest end of each product; 0: it has fewer. By each copy's own end: a later
 * copy may show that copies are one event.
 */
const outlasted = (copies: readonly Line[]): ReadonlyMap<string, number> => {
  const products = Map.groupBy(copies, ({ productIdentifier }) => productIdentifier);
  return new Map(
    [...products].map(([product, ofProduct]) => {
      const ends = eventsOf(ofProduct)
        .map(lastEnd)
        .sort((a, b) => b - a);
      return [product, ends[EVENTS_KEPT_PER_PRODUCT - 1] ?? 0];
    }),
  );
};

const lastEndFirst = (a: PurchaseEvent, b: PurchaseEvent): number =>
  compare(lastEnd(b), lastEnd(a)) || compare(eventName(b[0]), eventName(a[0]));

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

/** Time of the answer that gave the lines; a later one without lines may have been joined since. */
const answeredAt = ({ lines, verifiedAt }: Purchase): Instant => lines[0]?.verifiedAt ?? verifiedAt;

/** Nothing paid becomes unpaid, so an answer without lines is older than one with lines: the store's reads may lag. */
const laterAnswer = (a: Purchase, b: Purchase): Purchase => {
  const textOf = ({ lines }: Purchase): string => lines.map(lineText).join();
  const order =
    compare(a.lines.length > 0, b.lines.length > 0) ||
    compare(answeredAt(a), answeredAt(b)) ||
    compare(textOf(a), textOf(b));
  return order < 0 ? b : a;
};

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

type Replacement = Pick<Purchase, "replacedBy" | "replacedAt">;

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

/** One purchase per reference, sorted by reference. */
export const joinAll = (purchases: Iterable<Purchase>): Purchase[] =>
  [...Map.groupBy(purchases, referenceText)]
    .sort(([a], [b]) => compare(a, b))
    .flatMap(([, [first, ...others]]) => (first === undefined ? [] : [joinPurchases(first, ...others)]));
