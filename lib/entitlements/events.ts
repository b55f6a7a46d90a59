import type { Environment } from "../contract/schemas.ts";
import { compare } from "../order.ts";
import { lineOrder, lineText, type Line } from "./purchase.ts";
import type { Instant } from "./time.ts";

/**
 * A purchase event: one thing bought, once. It can come under several transaction ids, because each restore and, in older
 * clients, each device makes another one.
 */
export interface PurchaseEvent {
  /** One copy for each transaction id. */
  readonly copies: readonly Line[];
  /** The copy that decides, with its natural end. */
  readonly line: Line;
}

/** The line that was said later; of two said at once always the same one. */
export const laterLine = (a: Line, b: Line): Line => {
  if (a.verifiedAt !== b.verifiedAt) return a.verifiedAt > b.verifiedAt ? a : b;
  return lineText(a) >= lineText(b) ? a : b;
};

const latest = (copies: readonly [Line, ...Line[]]): Line => copies.reduce(laterLine);

const isSome = <T>(values: readonly T[]): values is readonly [T, ...T[]] => values.length > 0;

const purchaseDate = ({ purchasedAt, startsAt }: Line): number => purchasedAt ?? startsAt ?? 0;

/** The line, with the first revocation that was signed under its id, in whichever copy of it. */
export const revokedAsFirst = (line: Line, other: Line): Line => {
  const since = Math.min(line.revokedSince ?? Infinity, other.revokedSince ?? Infinity);
  return since === (line.revokedSince ?? Infinity) ? line : { ...line, revokedSince: since };
};

/** The later signed copy of each transaction id. In Xcode every id is "0", so there the event is part of the key. */
export const latestCopies = (lines: readonly Line[], environment: Environment): readonly Line[] => {
  const copies = new Map<string, Line>();
  for (const line of lines) {
    const id = line.transactionIdentifier ?? "";
    const key = environment === "xcode" ? `${id} ${eventName(line)}` : id;
    const known = copies.get(key) ?? line;
    const later = laterLine(known, line);
    copies.set(key, revokedAsFirst(later, later === known ? line : known));
  }
  return [...copies.values()];
};

/**
 * Bought anew: another transaction id, purchased after the refund and signed after the refund first was. A restore before
 * the refund is none, however late it is signed again: nobody can buy what they own.
 */
const boughtAnew = (copies: readonly Line[], { nature, revokedAt, revokedSince }: Line): readonly Line[] =>
  nature !== "non_consumable"
    ? []
    : copies.filter(
        (copy) =>
          copy.revokedSince === null &&
          purchaseDate(copy) > (revokedAt ?? Infinity) &&
          copy.verifiedAt > (revokedSince ?? Infinity),
      );

const refundsOf = (copies: readonly Line[]): readonly Line[] =>
  copies.filter(({ revokedSince }) => revokedSince !== null);

/**
 * The copy that decides. Among the transaction ids under which a revocation was ever signed the one that was signed
 * last: the store marks a refund under one id, and goes on signing the others without it. A reversed refund, and an
 * event that was never refunded, is as its last signed copy says.
 */
const deciding = (copies: readonly [Line, ...Line[]]): Line => {
  const refunds = refundsOf(copies);
  if (!isSome(refunds)) return latest(copies);
  const said = latest(refunds);
  if (said.revokedAt === null && said.refundedQuantity === 0) return latest(copies);
  const anew = boughtAnew(copies, said);
  return isSome(anew) ? latest(anew) : said;
};

/** A period that several copies speak of began when the first of them says. */
const decided = (copies: readonly [Line, ...Line[]]): Line => {
  const [first] = copies;
  if (copies.length === 1) return first;
  const line = deciding(copies);
  if (line.nature !== "auto_renewable") return line;
  const startsAt = Math.min(...copies.map((copy) => copy.startsAt ?? Infinity));
  return { ...line, startsAt };
};

/** The copies of an event without which it would be another: those that decide, and the one that was purchased last. */
export const decidingCopies = (copies: readonly Line[]): readonly Line[] => {
  if (!isSome(copies) || copies.length === 1) return copies;
  const refunds = refundsOf(copies);
  const lastPurchased = copies.toSorted(newestCopyFirst).find(({ revokedSince }) => revokedSince === null);
  return [
    ...new Set([
      deciding(copies),
      latest(copies),
      ...(isSome(refunds) ? [latest(refunds)] : []),
      ...(lastPurchased === undefined || !isSome(refunds) ? [] : [lastPurchased]),
    ]),
  ];
};

/** An upgrade had ended the period by the time that the store signed it as upgraded. */
export const upToUpgrade = (line: Line): Line =>
  line.standing === "expired"
    ? { ...line, endsAt: Math.min(line.endsAt ?? Infinity, line.verifiedAt) }
    : line;

export const eventName = ({ productIdentifier, event }: Line): string => `${productIdentifier} ${event}`;

/** What is charged for the next period begins at most so long before the end of this one; a day is usual. */
export const CHARGED_AHEAD_MILLISECONDS = 48 * 3600 * 1000;

/**
 * Whether two copies under one name are of one subscription period: with one end or one start, one within the other, or
 * further into each other than a renewal ahead of time goes. A web order has been seen on a period and on its renewal
 * alike; and a copy may begin with its restore, or end later because the period was extended.
 */
const areOnePeriod = (a: Line, b: Line): boolean => {
  const [aStart, bStart] = [a.startsAt ?? 0, b.startsAt ?? 0];
  const [aEnd, bEnd] = [a.endsAt ?? Infinity, b.endsAt ?? Infinity];
  if (aEnd === bEnd) return true;
  // A copy that was restored after the end says nothing of when its period began.
  if (aStart >= aEnd || bStart >= bEnd) return false;
  if (aStart === bStart) return true;
  const isWithin = aStart < bStart ? bEnd <= aEnd : aEnd <= bEnd;
  return isWithin || Math.min(aEnd, bEnd) - Math.max(aStart, bStart) > CHARGED_AHEAD_MILLISECONDS;
};

/** The copies under one name, by the subscription period that they speak of. */
const periodsOf = (copies: readonly Line[]): readonly (readonly Line[])[] => {
  const [first, ...others] = copies;
  if (first?.nature !== "auto_renewable" || others.every(({ endsAt }) => endsAt === first.endsAt))
    return [copies];
  let periods: Line[][] = [];
  for (const copy of copies) {
    const [same, apart] = [true, false].map((wanted) =>
      periods.filter((period) => period.some((other) => areOnePeriod(copy, other)) === wanted),
    );
    periods = [...(apart ?? []), [...(same ?? []).flat(), copy]];
  }
  return periods;
};

/** The purchase events among copies that share a name. */
export const eventsUnderOneName = (copies: readonly Line[]): readonly PurchaseEvent[] =>
  periodsOf(copies).flatMap((period) => (isSome(period) ? [{ copies: period, line: decided(period) }] : []));

/** The purchase events of one iOS lineage, in any order. Each transaction id must be among the lines only once. */
export const eventsOf = (lines: readonly Line[]): readonly PurchaseEvent[] => {
  const [first] = lines;
  // Most often there is one.
  if (first !== undefined && lines.length === 1) return [{ copies: lines, line: first }];
  return [...Map.groupBy(lines, eventName).values()].flatMap(eventsUnderOneName);
};

/** The purchase events of one iOS lineage, oldest first, each as far as it went. */
export const eventLines = (lines: readonly Line[]): readonly Line[] =>
  eventsOf(lines)
    .map(({ line }) => upToUpgrade(line))
    .sort(lineOrder);

/** The last end that any copy of the event gives; a refunded copy may be older than an extension. */
export const lastEnd = ({ copies }: PurchaseEvent): Instant =>
  Math.max(...copies.map(({ endsAt }) => endsAt ?? Infinity));

/** Newest first by what never changes of a copy, so that what is kept does not depend on what was known before. */
export const newestCopyFirst = (a: Line, b: Line): number =>
  compare(purchaseDate(b), purchaseDate(a)) ||
  compare(b.transactionIdentifier ?? "", a.transactionIdentifier ?? "");
