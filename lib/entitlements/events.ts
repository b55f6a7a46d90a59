import { compare } from "../order.ts";
import { lineOrder, lineText, type Line } from "./purchase.ts";

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

/**
 * Bought anew: another transaction id, purchased after the refund and signed later than the refunded copy. A restore
 * before the refund is none, however late it is signed again: nobody can buy what they own.
 */
const boughtAnew = (copies: readonly Line[], refunded: Line): readonly Line[] =>
  refunded.nature !== "non_consumable"
    ? []
    : copies.filter(
        (copy) =>
          !copy.wasRevoked &&
          purchaseDate(copy) > (refunded.revokedAt ?? Infinity) &&
          copy.verifiedAt > refunded.verifiedAt,
      );

/**
 * The copy that decides. Among the transaction ids under which a revocation was ever signed the one that was signed
 * last: the store marks a refund under one id, and goes on signing the others without it. A reversed refund, and an
 * event that was never refunded, is as its last signed copy says.
 */
const deciding = (copies: readonly [Line, ...Line[]]): Line => {
  const refunds = copies.filter(({ wasRevoked }) => wasRevoked);
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

/** An upgrade had ended the period by the time that the store signed it as upgraded. */
export const upToUpgrade = (line: Line): Line =>
  line.standing === "expired"
    ? { ...line, endsAt: Math.min(line.endsAt ?? Infinity, line.verifiedAt) }
    : line;

export const eventName = ({ productIdentifier, event }: Line): string => `${productIdentifier} ${event}`;

const firstStart = (copies: readonly Line[]): number =>
  Math.min(...copies.map(({ startsAt }) => startsAt ?? 0));

/**
 * Copies of one subscription period have one end; where it was extended, one start. A web order has been seen on a first
 * period and on its renewal alike: those are two events.
 */
const periodsOf = (copies: readonly Line[]): readonly (readonly Line[])[] => {
  if (copies.length === 1 || copies[0]?.nature !== "auto_renewable") return [copies];
  const byEnd = [...Map.groupBy(copies, ({ endsAt }) => endsAt).values()];
  if (byEnd.length === 1) return byEnd;
  return [...Map.groupBy(byEnd, firstStart).values()].map((extended) => extended.flat());
};

/** The purchase events of one iOS lineage, in any order. Each transaction id must be among the lines only once. */
export const eventsOf = (lines: readonly Line[]): readonly PurchaseEvent[] => {
  const [first] = lines;
  // Most often there is one.
  if (first !== undefined && lines.length === 1) return [{ copies: lines, line: first }];
  return [...Map.groupBy(lines, eventName).values()]
    .flatMap(periodsOf)
    .flatMap((copies) => (isSome(copies) ? [{ copies, line: decided(copies) }] : []));
};

/** The purchase events of one iOS lineage, oldest first, each as far as it went. */
export const eventLines = (lines: readonly Line[]): readonly Line[] =>
  eventsOf(lines)
    .map(({ line }) => upToUpgrade(line))
    .sort(lineOrder);

/** Newest first by what never changes of a copy, so that what is kept does not depend on what was known before. */
export const newestCopyFirst = (a: Line, b: Line): number =>
  compare(purchaseDate(b), purchaseDate(a)) ||
  compare(b.transactionIdentifier ?? "", a.transactionIdentifier ?? "");
