import type { PurchaseKey } from "../identifiers.ts";
import { eventLines, wasRenewed } from "./events.ts";
import type { Holding } from "./holding.ts";
import { countingEvents, type CountingEvent } from "./lineages.ts";
import { CLOCK_TOLERANCE_MILLISECONDS, type Moment } from "./moment.ts";
import {
  CHARGED_AHEAD_MILLISECONDS,
  isGivenBackBeside,
  isPeriod,
  isSucceeded,
  neverBegan,
  periodOf,
} from "./periods.ts";
import { isBeforeReplacement, type Line, type Purchase } from "./purchase.ts";
import type { Renewal } from "./renewal.ts";
import type { Instant } from "./time.ts";

/** Whether a line is a period with a length, and not refunded before it began. */
const hasRun = (line: Line): boolean =>
  isPeriod(line) && (line.startsAt ?? 0) < (line.endsAt ?? Infinity) && !neverBegan(line);

/**
 * Whether a period of another product began within an upgraded one: it ran, and is no period that was charged ahead of time
 * and overtaken before its start.
 */
const wasLeft = ({ productIdentifier, startsAt, endsAt }: Line, periods: readonly Line[]): boolean =>
  periods.some(
    (other) =>
      hasRun(other) &&
      other.productIdentifier !== productIdentifier &&
      (other.startsAt ?? 0) > (startsAt ?? 0) &&
      (other.startsAt ?? 0) <= (endsAt ?? Infinity),
  );

/**
 * Whether a period that was refunded and given back ran beside `line`, which was bought no more than
 * {@link CHARGED_AHEAD_MILLISECONDS} before it began, and was renewed at its end.
 */
const ranBeside = (
  { revokedAt, revokedSince, startsAt }: Line,
  line: Line,
  periods: readonly Line[],
): boolean =>
  revokedSince !== null &&
  revokedAt === null &&
  (startsAt ?? 0) - (line.startsAt ?? 0) <= CHARGED_AHEAD_MILLISECONDS &&
  wasRenewed(line, periods);

/**
 * Whether a later period ends `line` early. One of the same product does, unless it was upgraded, ends no later, as a
 * restored copy does, or was refunded: the refund of one that starts in the middle of the line, as after an untold
 * change of product, brings nothing back, unless the store signed the line since. One of another product does, refunded or not, if it starts in the middle of the
 * line, as an upgrade. But not if it starts with the line, as another part of a bundle, nor within
 * {@link CHARGED_AHEAD_MILLISECONDS} of the line's end: it was charged ahead of time. Neither does one that began after the
 * line's refund, if that was reversed, nor one that was itself given back and ran beside the line. A period that was
 * refunded before it began ends nothing, nor does one that was
 * itself upgraded, unless its upgrade shows that it ran. If the store marks `line` as upgraded, the next period of another
 * product is the upgrade.
 */
const takesPlaceOf = (next: Line, line: Line, periods: readonly Line[]): boolean => {
  const { standing, revokedAt, startsAt, endsAt } = next;
  if (!hasRun(next) || isGivenBackBeside(line, next)) return false;
  const isInMiddle = (line.endsAt ?? 0) - (startsAt ?? 0) > CHARGED_AHEAD_MILLISECONDS;
  if (next.productIdentifier === line.productIdentifier)
    return (
      standing !== "expired" &&
      (revokedAt === null || (isInMiddle && line.verifiedAt < (startsAt ?? 0))) &&
      (endsAt ?? Infinity) > (line.endsAt ?? Infinity)
    );
  if (startsAt === line.startsAt) return false;
  if (line.standing === "expired") return true;
  return isInMiddle && !ranBeside(next, line, periods) && (standing !== "expired" || wasLeft(next, periods));
};

/**
 * Whether the store's renewal info names `line` as the most recent purchase, although it was signed when `next` was charged
 * or had begun: `line` was bought after that charge, and overtook it before it began. Where `next` is refunded, only what was
 * signed since its refund says so: a refund brings nothing back that an upgrade ended. One that starts where `line` ends was
 * not overtaken: a payment that recovers late is dated from there, and the renewal info may be of before it.
 *
 * @param endsAt the line's own end, even if its purchase is replaced before
 */
const isNamedLast = (
  renewal: Renewal | null,
  line: Line,
  endsAt: Instant | null | undefined,
  next: Line,
): boolean =>
  renewal !== null &&
  line.standing === "entitled" &&
  endsAt === renewal.periodEndsAt &&
  next.productIdentifier !== line.productIdentifier &&
  (next.startsAt ?? 0) < (endsAt ?? Infinity) &&
  renewal.signedAt >= (next.revokedAt ?? Math.min(next.verifiedAt, next.startsAt ?? 0));

/**
 * Ends each subscription period of an iOS lineage where the next one starts, even before its own end date.
 *
 * @param whole the same periods, not ended by a replacement of their purchase
 */
const inSuccession = (
  periods: readonly Line[],
  whole: readonly Line[],
  renewal: Renewal | null,
): readonly Line[] =>
  periods.length <= 1
    ? periods
    : periods.map((line, index) => {
        if (line.nature !== "auto_renewable" || line.endsAt === null) return line;
        const next = periods
          .slice(index + 1)
          .find(
            (other) =>
              takesPlaceOf(other, line, periods) && !isNamedLast(renewal, line, whole[index]?.endsAt, other),
          );
        return next?.startsAt == null ? line : { ...line, endsAt: Math.min(line.endsAt, next.startsAt) };
      });

/** A holding with its lines that may grant. */
export interface Granting {
  readonly holding: Holding;
  readonly lines: readonly Line[];
}

/**
 * Whether this purchase and another replace each other. A line that starts at that very moment then counts in both;
 * otherwise neither would grant it.
 */
const areMutual = (purchase: Purchase, others: readonly Granting[]): boolean =>
  others.some(
    ({ holding: { purchase: other } }) =>
      other.key === purchase.replacedBy && other.replacedBy === purchase.key,
  );

/** The line, ended at the replacement of its purchase; null from then on. */
const untilReplaced = (
  moment: Moment,
  purchase: Purchase,
  others: readonly Granting[],
  line: Line,
): Line | null => {
  const { replacedAt } = purchase;
  if (replacedAt === null || !isBeforeReplacement(purchase, line)) return line;
  if (line.startsAt === replacedAt && areMutual(purchase, others)) return line;
  if (moment.hasCome(replacedAt)) return null;
  return line.endsAt === null ? line : { ...line, endsAt: Math.min(line.endsAt, replacedAt) };
};

/** A line as it counts, and the renewal info about it; null: none. */
export interface StandingLine {
  readonly line: Line;
  readonly renewal: Renewal | null;
  /** Start of access, where it is not the line's own. */
  readonly begins?: Instant;
}

/** End of a period's access, as of a later charge: a refund long before that charge ended it. */
const accessEndOf = ({ endsAt, revokedAt }: Line, chargedAt: Instant): Instant => {
  const end = endsAt ?? Infinity;
  const isEnded = revokedAt !== null && revokedAt < chargedAt - CHARGED_AHEAD_MILLISECONDS;
  return isEnded ? Math.min(end, revokedAt) : end;
};

/** Whether a refunded period ends where another starts: it is the one that was renewed, whenever it was refunded. */
const isRefundedBefore = ({ standing, revokedAt, endsAt }: Line, startsAt: Instant): boolean =>
  standing !== "expired" &&
  revokedAt !== null &&
  Math.abs((endsAt ?? 0) - startsAt) <= CLOCK_TOLERANCE_MILLISECONDS;

/**
 * Whether a renewal was charged ahead of time, and the running period is not known: no known period gives access until its
 * start, and none that ends there was refunded. Only a subscription that is running is renewed, so there is access from the
 * charge on, unless another lineage has just replaced this one. A client may hold the latest transaction alone, and a
 * notification tells one.
 *
 * @param known the lineage's lines, each until the next one took its place
 * @param whole the same lines as the store dates them
 */
const provesRunningPeriod = (
  { key, environment, replacedAt }: Purchase,
  line: Line,
  known: readonly Line[],
  whole: readonly Line[],
): boolean => {
  const { nature, standing, revokedAt, startsAt, verifiedAt, transactionIdentifier } = line;
  return (
    nature === "auto_renewable" &&
    environment !== "xcode" &&
    standing === "entitled" &&
    revokedAt === null &&
    transactionIdentifier !== key &&
    startsAt !== null &&
    verifiedAt < startsAt &&
    startsAt - verifiedAt <= CHARGED_AHEAD_MILLISECONDS &&
    (replacedAt === null || replacedAt < verifiedAt - CHARGED_AHEAD_MILLISECONDS) &&
    !known.some(
      (other, index) =>
        isPeriod(other) &&
        (other.startsAt ?? 0) < startsAt &&
        (accessEndOf(other, verifiedAt) >= startsAt - CLOCK_TOLERANCE_MILLISECONDS ||
          isRefundedBefore(whole[index] ?? other, startsAt)),
    )
  );
};

/**
 * The running line; it will renew if the next period, of any product, is known: the App Store charges it up to a day
 * ahead.
 */
const withPaidRenewal = (moment: Moment, line: Line, periods: readonly Line[]): Line => {
  const { nature, verifiedAt, endsAt } = line;
  if (nature !== "auto_renewable" || endsAt === null || moment.hasCome(endsAt)) return line;
  const renewals = periods.filter(
    (other) =>
      other.standing === "entitled" &&
      other.revokedAt === null &&
      other.startsAt === endsAt &&
      (other.endsAt ?? 0) > endsAt,
  );
  return renewals.length === 0
    ? line
    : {
        ...line,
        willRenew: true,
        verifiedAt: Math.max(verifiedAt, ...renewals.map((renewal) => renewal.verifiedAt)),
      };
};

/**
 * Lines of an iOS purchase's events at the moment, cut at its replacement, unless the event was moved, and where the
 * next period starts. The renewal info is about one of them, and no longer counts once that one ended early or was
 * succeeded. A period with a known renewal will renew, even before that renewal begins.
 */
const standingLines = (
  moment: Moment,
  purchase: Purchase,
  others: readonly Granting[],
  events: readonly CountingEvent[],
): readonly StandingLine[] => {
  const counting = events.flatMap(({ line, isMoved }) => {
    const until = isMoved ? line : untilReplaced(moment, purchase, others, line);
    return until === null ? [] : [{ line, until }];
  });
  const periods = counting.map(({ until }) => until);
  const { renewal } = purchase;
  const whole = counting.map(({ line }) => line);
  const lines = inSuccession(periods, whole, renewal);
  const all = events.map(({ line }) => line);
  const spokenOf = renewal === null ? undefined : periodOf(renewal, all);
  return lines.map((line, index) => {
    const asDated = whole[index];
    const isWhole = asDated !== undefined && line.endsAt === asDated.endsAt;
    const speaks =
      isWhole &&
      asDated === spokenOf &&
      !isSucceeded(
        asDated,
        all.filter((other) => !isNamedLast(renewal, asDated, asDated.endsAt, other)),
      );
    const begins = provesRunningPeriod(purchase, line, lines, whole) ? { begins: line.verifiedAt } : {};
    if (speaks) return { line, renewal, ...begins };
    const paid = isWhole ? withPaidRenewal(moment, line, periods) : line;
    return { line: paid, renewal: null, ...begins };
  });
};

/** Returns a lookup of the lines a holding grants by: on iOS, those of the events that count in its lineage. */
export const standingAt = (
  moment: Moment,
  holdings: readonly Granting[],
): ((granting: Granting) => readonly StandingLine[]) => {
  const ofPerson = ({ customerIdentifier, purchase }: Holding): string | null =>
    purchase.store === "ios-store" && purchase.environment !== "xcode"
      ? `${customerIdentifier} ${purchase.environment}`
      : null;
  const persons = Map.groupBy(holdings, ({ holding }) => ofPerson(holding));
  const counting = new Map(
    [...persons].map(([person, theirs]) => [
      person,
      person === null
        ? new Map<PurchaseKey, readonly CountingEvent[]>()
        : countingEvents(theirs.map(({ holding: { purchase }, lines }) => ({ key: purchase.key, lines }))),
    ]),
  );
  return ({ holding, lines }) => {
    const { purchase } = holding;
    if (purchase.store !== "ios-store") return lines.map((line) => ({ line, renewal: null }));
    const events =
      counting.get(ofPerson(holding))?.get(purchase.key) ??
      eventLines(lines).map((line) => ({ line, isMoved: false }));
    return standingLines(moment, purchase, persons.get(ofPerson(holding)) ?? [], events);
  };
};
