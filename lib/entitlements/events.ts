import type { Environment } from "../contract/schemas.ts";
import { compare } from "../order.ts";
import { CHARGED_AHEAD_MILLISECONDS, isPeriod } from "./periods.ts";
import { lineOrder, lineText, type Line } from "./purchase.ts";
import type { Instant } from "./time.ts";

/**
 * A purchase event: one product, bought once. It may have several transaction ids, because each restore and, in older
 * clients, each device creates another.
 */
export interface PurchaseEvent {
  /** One copy per transaction id. */
  readonly copies: readonly Line[];
  /** The deciding copy, not yet cut at an upgrade. */
  readonly line: Line;
}

/** The later verified line; ties are broken deterministically. */
export const laterLine = (a: Line, b: Line): Line => {
  if (a.verifiedAt !== b.verifiedAt) return a.verifiedAt > b.verifiedAt ? a : b;
  return lineText(a) >= lineText(b) ? a : b;
};

const latest = (copies: readonly [Line, ...Line[]]): Line => copies.reduce(laterLine);

const isSome = <T>(values: readonly T[]): values is readonly [T, ...T[]] => values.length > 0;

const purchaseDate = ({ purchasedAt, startsAt }: Line): number => purchasedAt ?? startsAt ?? 0;

/** The line with the refunds of both: since the earlier `revokedSince`, by the later `refundedBy`. */
export const refundedAsBoth = (line: Line, other: Line): Line => {
  if (other.revokedSince === null) return line;
  const revokedSince = Math.min(line.revokedSince ?? Infinity, other.revokedSince);
  return { ...line, revokedSince, refundedBy: Math.max(line.refundedBy ?? 0, other.refundedBy ?? 0) };
};

const laterCopy = (a: Line, b: Line): Line => {
  const later = laterLine(a, b);
  return refundedAsBoth(later, later === a ? b : a);
};

/** Last signed copy of each transaction id. In Xcode every id is "0", so the key includes the event. */
export const latestCopies = (lines: readonly Line[], environment: Environment): readonly Line[] => {
  const copies = new Map<string, Line>();
  for (const line of lines) {
    const id = line.transactionIdentifier ?? "";
    const key = environment === "xcode" ? `${id} ${eventName(line)}` : id;
    const known = copies.get(key);
    copies.set(key, known === undefined ? line : laterCopy(known, line));
  }
  return [...copies.values()];
};

/** A refund, standing or reversed, on the copy that was first signed with it. */
interface Refund {
  readonly copy: Line;
  readonly at: Instant;
  /** Time at which it was first signed. */
  readonly since: Instant;
}

/** One refund per date, latest first. */
const refundsOf = (copies: readonly Line[]): readonly Refund[] => {
  const refunds = copies
    .flatMap((copy): Refund[] => {
      const { refundedBy: at, revokedSince: since } = copy;
      return at === null || since === null ? [] : [{ copy, at, since }];
    })
    .sort((a, b) => compare(b.at, a.at) || compare(a.since, b.since));
  return refunds.filter(({ at }, index) => at !== refunds[index - 1]?.at);
};

/** Copy of the last refund, standing or reversed. */
export const lastRefunded = (copies: readonly Line[]): Line | undefined => refundsOf(copies)[0]?.copy;

/** Copies of one purchase of an event: a non-consumable may be bought again, but only after a refund. */
type PurchaseCopies = readonly [Line, ...Line[]];

/**
 * Copies of each purchase, latest purchase first. A transaction id belongs to a new purchase if its date is after a
 * refund, and it was not signed before that refund first was. A restore from before the refund does not, however late
 * it is signed again: nobody can buy what they own.
 */
const purchasesIn = (copies: PurchaseCopies): readonly PurchaseCopies[] => {
  if (copies[0].nature !== "non_consumable") return [copies];
  const refunds = refundsOf(copies);
  const refundBefore = (copy: Line): number =>
    refunds.findIndex(({ at, since }) => purchaseDate(copy) > at && copy.verifiedAt >= since);
  const purchases = Map.groupBy(copies, refundBefore);
  return [...refunds.keys(), -1].flatMap((refund) => {
    const purchase = purchases.get(refund) ?? [];
    return isSome(purchase) ? [purchase] : [];
  });
};

const wasRefunded = ({ revokedSince }: Line): boolean => revokedSince !== null;

/**
 * The copy that decides a purchase. The store marks a refund on one transaction id and keeps signing the others without
 * it, so the last signed copy among the ids ever refunded decides. If there was no refund, or it was reversed, the last
 * signed copy of all decides.
 */
const decidingOfPurchase = (copies: PurchaseCopies): Line => {
  const refunded = copies.filter(wasRefunded);
  if (!isSome(refunded)) return latest(copies);
  const said = latest(refunded);
  return said.revokedAt === null && said.refundedQuantity === 0 ? latest(copies) : said;
};

/** The copy that decides: the last signed of the purchases that are not refunded; if all are, the last purchase's. */
const deciding = (copies: PurchaseCopies): Line => {
  const [last, ...earlier] = purchasesIn(copies).map(decidingOfPurchase);
  if (last === undefined) return latest(copies);
  const paid = [last, ...earlier].filter(({ revokedAt }) => revokedAt === null);
  return isSome(paid) ? latest(paid) : last;
};

/** The line, marked as upgraded as the last signed of the copies that are. */
const markedAs = (line: Line, copies: PurchaseCopies): Line => {
  const marked = copies.filter(({ standing }) => standing === "expired");
  if (!isSome(marked) || line.standing === "expired") return line;
  const { standing, verifiedAt } = latest(marked);
  return { ...line, standing, verifiedAt };
};

/**
 * The deciding copy. A subscription period starts at the earliest start of its copies, and carries a refund of any of
 * them, and the mark of an upgrade: a restored copy lacks either, however late it is signed.
 */
const decided = (copies: PurchaseCopies): Line => {
  const [first] = copies;
  if (copies.length === 1) return first;
  if (first.nature !== "auto_renewable") return deciding(copies);
  const line = markedAs(deciding(copies), copies);
  const startsAt = Math.min(...copies.map((copy) => copy.startsAt ?? Infinity));
  const refunded = copies.filter(wasRefunded);
  if (!isSome(refunded)) return { ...line, startsAt };
  const revokedSince = Math.min(...refunded.map((copy) => copy.revokedSince ?? Infinity));
  return { ...line, startsAt, revokedSince, refundedBy: lastRefunded(copies)?.refundedBy ?? null };
};

/**
 * Copies that determine the event: the deciding and the last signed one; after a refund also the last purchased one not
 * refunded now, each purchase's deciding and last signed refunded one, and each refund's first signed one.
 */
export const decidingCopies = (copies: readonly Line[]): readonly Line[] => {
  if (!isSome(copies) || copies.length === 1) return copies;
  const refunded = copies.filter(wasRefunded);
  if (!isSome(refunded)) return [latest(copies)];
  const lastPurchased = copies.toSorted(newestCopyFirst).find(({ revokedAt }) => revokedAt === null);
  const purchases = purchasesIn(copies).flatMap((purchase) => {
    const everRefunded = purchase.filter(wasRefunded);
    return [decidingOfPurchase(purchase), ...(isSome(everRefunded) ? [latest(everRefunded)] : [])];
  });
  return [
    ...new Set([
      latest(copies),
      latest(refunded),
      ...(lastPurchased === undefined ? [] : [lastPurchased]),
      ...purchases,
      ...refundsOf(copies).map(({ copy }) => copy),
    ]),
  ];
};

/** Ends an upgraded period at its signing time: the upgrade had ended it by then. */
const upToUpgrade = (line: Line): Line =>
  line.standing === "expired"
    ? { ...line, endsAt: Math.min(line.endsAt ?? Infinity, line.verifiedAt) }
    : line;

export const eventName = ({ productIdentifier, event }: Line): string => `${productIdentifier} ${event}`;

/**
 * Whether two copies under one name are of one subscription period: they have the same end or start, one contains the
 * other, or they overlap by more than a renewal charged ahead of time. The name alone does not suffice: the same web
 * order has been seen on a period and on its renewal. Dates of one period may differ: a copy may begin with its
 * restore, or end later because the period was extended.
 */
const areOnePeriod = (a: Line, b: Line): boolean => {
  const [aStart, bStart] = [a.startsAt ?? 0, b.startsAt ?? 0];
  const [aEnd, bEnd] = [a.endsAt ?? Infinity, b.endsAt ?? Infinity];
  if (aEnd === bEnd) return true;
  // A copy restored after the end does not show when its period began.
  if (aStart >= aEnd || bStart >= bEnd) return false;
  if (aStart === bStart) return true;
  const isWithin = aStart < bStart ? bEnd <= aEnd : aEnd <= bEnd;
  return isWithin || Math.min(aEnd, bEnd) - Math.max(aStart, bStart) > CHARGED_AHEAD_MILLISECONDS;
};

/** Groups copies under one name by subscription period. */
const periodsOf = (copies: readonly Line[]): readonly (readonly Line[])[] => {
  const [first, ...others] = copies;
  if (first?.nature !== "auto_renewable" || others.every(({ endsAt }) => endsAt === first.endsAt))
    return [copies];
  let periods: Line[][] = [];
  for (const copy of copies) {
    const isSame = (period: readonly Line[]): boolean => period.some((other) => areOnePeriod(copy, other));
    const apart = periods.filter((period) => !isSame(period));
    periods = [...apart, [...periods.filter(isSame).flat(), copy]];
  }
  return periods;
};

/** Purchase events of copies that share a name. */
export const eventsUnderOneName = (copies: readonly Line[]): readonly PurchaseEvent[] =>
  periodsOf(copies).flatMap((period) => (isSome(period) ? [{ copies: period, line: decided(period) }] : []));

/**
 * Purchase events of one iOS lineage, unordered. Expects one line per transaction id, as {@link latestCopies} gives.
 */
export const eventsOf = (lines: readonly Line[]): readonly PurchaseEvent[] => {
  const [first] = lines;
  // Fast path: most often there is one line.
  if (first !== undefined && lines.length === 1) return [{ copies: lines, line: first }];
  return [...Map.groupBy(lines, eventName).values()].flatMap(eventsUnderOneName);
};

/** Whether a period was renewed at its end: nothing that began more than 48 hours before that end took its place. */
export const wasRenewed = ({ productIdentifier, endsAt }: Line, periods: readonly Line[]): boolean =>
  periods.some((other) => other.productIdentifier === productIdentifier && other.startsAt === endsAt);

/** Whether a period was refunded by a moment, whatever came of it: what was bought then may run beside it. */
const wasRefundedBy = ({ refundedBy, revokedSince }: Line, moment: Instant): boolean =>
  Math.min(refundedBy ?? Infinity, revokedSince ?? Infinity) <= moment;

/**
 * Whether a subscription period never ran: it was charged ahead of time, and the person upgraded between the charge and
 * its start, at most {@link CHARGED_AHEAD_MILLISECONDS} before that start. It starts where the period before it ends, of its product or of
 * the one that it was to replace, and the upgrade began in that period; or, as the period before may not be known, the upgrade was
 * renewed at its end, and was not refunded by that start, nor was the period itself refunded and given back. The store
 * refunds it, marks it as upgraded or says nothing, and may sign it again at any time, so only dates decide. An upgrade whose refund stood at that start, or that was itself overtaken, does not count.
 */
const isOvertaken = (
  { productIdentifier, startsAt, revokedAt, revokedSince }: Line,
  ran: readonly Line[],
  periods: readonly Line[],
): boolean => {
  if (startsAt === null) return false;
  const isGivenBack = revokedSince !== null && revokedAt === null;
  const beganAhead = (other: Line): number => startsAt - (other.startsAt ?? startsAt);
  const firstBegan = Math.max(...periods.filter(({ endsAt }) => endsAt === startsAt).map(beganAhead));
  return ran.some((upgrade) => {
    const { endsAt } = upgrade;
    const isInMiddle = (endsAt ?? 0) - startsAt > CHARGED_AHEAD_MILLISECONDS;
    return (
      upgrade.productIdentifier !== productIdentifier &&
      beganAhead(upgrade) > 0 &&
      beganAhead(upgrade) <= CHARGED_AHEAD_MILLISECONDS &&
      (endsAt ?? Infinity) > startsAt &&
      (upgrade.revokedAt ?? Infinity) > startsAt &&
      (beganAhead(upgrade) < firstBegan ||
        (isInMiddle && !isGivenBack && wasRenewed(upgrade, periods) && !wasRefundedBy(upgrade, startsAt)))
    );
  });
};

/** Events of one lineage that count, from their uncut lines: oldest first, cut at upgrades. */
export const countingOf = <Event extends Pick<PurchaseEvent, "line">>(events: readonly Event[]): Event[] => {
  const periods = events.map(({ line }) => line).filter(isPeriod);
  // In order of their starts: only a period that ran overtakes another, and it began earlier.
  const ran: Line[] = [];
  for (const line of periods.toSorted((a, b) => compare(a.startsAt ?? 0, b.startsAt ?? 0)))
    if (!isOvertaken(line, ran, periods)) ran.push(line);
  const counting = new Set(ran);
  return events
    .filter((event) => !isPeriod(event.line) || counting.has(event.line))
    .map((event) => ({ ...event, line: upToUpgrade(event.line) }))
    .sort((a, b) => lineOrder(a.line, b.line));
};

/** Lines of the purchase events of one iOS lineage that count, oldest first, cut at upgrades. */
export const eventLines = (lines: readonly Line[]): readonly Line[] =>
  countingOf(eventsOf(lines)).map(({ line }) => line);

/** Latest end of any copy: a refunded copy may predate an extension. */
export const lastEnd = ({ copies }: PurchaseEvent): Instant =>
  Math.max(...copies.map(({ endsAt }) => endsAt ?? Infinity));

/** Newest first, by fields that never change, so that the copies kept do not depend on those known before. */
export const newestCopyFirst = (a: Line, b: Line): number =>
  compare(purchaseDate(b), purchaseDate(a)) ||
  compare(b.transactionIdentifier ?? "", a.transactionIdentifier ?? "");
