import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";
import { eventLines, eventsOf, type PurchaseEvent } from "../entitlements/events.ts";
import {
  beganBy,
  beganLast,
  CHARGED_AHEAD_MILLISECONDS,
  isPeriod,
  isSameEnd,
  periodOf,
  reportsFailure,
  untoldEndOf,
} from "../entitlements/periods.ts";
import { isOverAt, isRevoked, type Line, type Purchase } from "../entitlements/purchase.ts";
import {
  BILLING_RETRY_MILLISECONDS,
  graceEndOf,
  isUndecided,
  type Renewal,
} from "../entitlements/renewal.ts";
import { isInstant, type Instant } from "../entitlements/time.ts";
import { compare } from "../order.ts";

/** Why a purchase is refreshed. */
const REFRESH_REASONS = [
  /** Its renewal may have been charged ahead of time. */
  "renewal-ahead",
  /** It may have been renewed at its end. */
  "renewal",
  "grace-period-end",
  /** A renewal is known from the renewal info alone. */
  "renewal-unseen",
  /** The payment is pending, as far as is known. */
  "payment",
  /** A refund, or the reversal of one, may not have been notified. */
  "refund",
  /** It is over, and might come back. */
  "return",
  /** Its cancellation may have been taken back. */
  "restart",
  /** Transaction ids of one purchase event disagree on a refund. */
  "disagreement",
  /** Another product may be its upgrade, which only its mark tells: its refund was reversed before. */
  "upgrade",
] as const;
export type RefreshReason = (typeof REFRESH_REASONS)[number];

export interface Refresh {
  readonly at: Instant;
  readonly because: RefreshReason;
}

/** Time after an end by which the store has decided on the renewal. */
const JUST_AFTER = 5 * SECOND;

/** Steps after an end, followed by daily ones. */
const STEPS_AFTER_END = [JUST_AFTER, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR];

/** Further steps after an end while the App Store only says that it will renew: the renewal may be some minutes late. */
const STEPS_WHILE_UNDECIDED = [14, 20, 30, 45].map((minutes) => minutes * MINUTE);

/** Time before an end: the App Store charges a renewal up to a day before it begins, and a cancellation can be taken back. */
const BEFORE_END = HOUR;

/** Steps after a moment from which nothing is expected, followed by quarterly ones. */
const SPARSE_STEPS = [DAY, 7 * DAY, 30 * DAY];

/** Steps after an end that Google calls over, before the sparse ones: it has been seen to renew a minute after it said so. */
const STEPS_AFTER_EXPIRY = [2 * MINUTE, HOUR];
const MONTH = 30 * DAY;
const QUARTER = 91 * DAY;

/** Pause between refreshes of a purchase whose payment is pending. */
const PAYMENT_STEP = 6 * HOUR;

/** Steps after the time for which a refresh was asked, while the store gives no answer that can be used. */
const STEPS_AFTER_ASKED = [10 * MINUTE, 6 * HOUR, DAY];

/** Time for which a refresh that was asked for stays so. */
const ASKED_FOR = DAY;

/**
 * Time for which an iOS purchase that ended is refreshed: as long as the App Store retries a payment. One that was revoked is for as long,
 * and for as long as it would give access.
 */
export const KEPT_AFTER_END = BILLING_RETRY_MILLISECONDS;

/** Time for which a pass is refreshed after its purchase, whatever its access duration. */
const PASS_KEPT = 400 * DAY;

/** Copies of one purchase event that were signed within this time of each other were read together. */
const READ_TOGETHER = 10 * MINUTE;

const periodic = (from: Instant, step: number, after: Instant): Instant =>
  from + Math.max(1, Math.floor((after - from) / step) + 1) * step;

/** The next time later than `after` that is a number of whole days from another time, which may be later or earlier. */
const nextDaily = (time: Instant, after: Instant): Instant =>
  time + (Math.floor((after - time) / DAY) + 1) * DAY;

/** First of the steps later than `after`: just after the moment, 2 and 10 minutes, 1 and 6 hours, then daily. */
const denseAfter = (from: Instant, after: Instant): Instant => {
  const step = STEPS_AFTER_END.find((delay) => from + delay > after);
  return step === undefined ? periodic(from, DAY, after) : from + step;
};

/** The next further step where the App Store said after the end that it will renew, and nothing else. */
const ofUndecided = (endsAt: Instant, renewal: Renewal | null, after: Instant): readonly Refresh[] =>
  renewal !== null && renewal.signedAt >= endsAt && isUndecided(renewal)
    ? STEPS_WHILE_UNDECIDED.map((delay) => endsAt + delay)
        .filter((at) => at > after)
        .slice(0, 1)
        .map((at) => ({ at, because: "renewal" }))
    : [];

/** First of the steps later than `after`: a day, a week and a month after the moment, then quarterly. */
const sparseAfter = (from: Instant, after: Instant): Instant => {
  const step = SPARSE_STEPS.find((delay) => from + delay > after);
  return step === undefined ? periodic(from + MONTH, QUARTER, after) : from + step;
};

/** First of the steps later than `after`: two minutes and an hour after the end, then the sparse ones. */
const afterExpiry = (from: Instant, after: Instant): Instant => {
  const step = STEPS_AFTER_EXPIRY.find((delay) => from + delay > after);
  return step === undefined ? sparseAfter(from, after) : from + step;
};

/** The refresh, unless it lies beyond a limit. */
const upTo = (limit: Instant, at: Instant, because: RefreshReason): Refresh[] =>
  at <= limit ? [{ at, because }] : [];

/** The first sparse step later than `after`; the last of them is the limit itself. */
const sparseUpTo = (from: Instant, limit: Instant, after: Instant, because: RefreshReason): Refresh[] =>
  after < limit ? [{ at: Math.min(sparseAfter(from, after), limit), because }] : [];

/** Whether the App Store said, at or after the end, that the subscription is over and its payment not retried. */
const isSaidOver = (renewal: Renewal, endsAt: Instant): boolean => {
  const { signedAt, willRenew, isInBillingRetry } = renewal;
  const graceEndsAt = graceEndOf(endsAt, renewal) ?? 0;
  return signedAt >= endsAt && !willRenew && !isInBillingRetry && graceEndsAt <= signedAt;
};

/**
 * Sparse steps of a year from a period's start, in place of those after its end: an upgraded period ends where it was signed
 * last, so an answer would move them.
 */
const ofMovingEnd = ({ startsAt }: Line, after: Instant, asked: Instant): readonly Refresh[] => {
  const from = startsAt ?? asked;
  return sparseUpTo(from, from + PASS_KEPT, after, "renewal");
};

/** Times after an end that may be renewed, until 60 days after it; sparse ones once the store has said that it is over. */
const ofEnd = (endsAt: Instant, renewal: Renewal | null, after: Instant): readonly Refresh[] => {
  const last = endsAt + KEPT_AFTER_END;
  if (renewal !== null && isSaidOver(renewal, endsAt)) return sparseUpTo(endsAt, last, after, "return");
  const graceEndsAt = renewal === null ? null : graceEndOf(endsAt, renewal);
  return [
    ...upTo(last, denseAfter(endsAt, after), "renewal"),
    ...ofUndecided(endsAt, renewal, after),
    ...(graceEndsAt !== null && graceEndsAt > endsAt
      ? upTo(last, denseAfter(graceEndsAt, after), "grace-period-end")
      : []),
  ];
};

/**
 * Times to ask about a period that only the renewal info names, whatever else the lineage has: soon, and daily until that end; and after
 * it, if nothing that is known ends later. Daily from the first known start, which no answer moves: the named end may be the next attempt
 * to charge a payment that failed.
 *
 * @param copies of the lineage
 * @param periods of its events: a restored copy may lack a mark or a refund
 * @param wasNamed whether the end was named before, so that the store has been asked, or is to be
 */
const ofUntold = (
  copies: readonly Line[],
  periods: readonly Line[],
  renewal: Renewal | null,
  after: Instant,
  wasNamed: boolean,
): readonly Refresh[] => {
  const named = untoldEndOf(renewal, copies);
  if (named === null || renewal === null) return [];
  const first = Math.min(named, ...copies.map(({ startsAt }) => startsAt ?? named));
  const heard = Math.max(renewal.signedAt, ...copies.map(({ verifiedAt }) => verifiedAt));
  const at = wasNamed ? nextDaily(first, after) : denseAfter(heard, after);
  const mayRun = (period: Line): boolean => period.standing !== "expired" && !isRevoked(period);
  const isLast = periods.every((period) => (mayRun(period) ? (period.endsAt ?? 0) : beganBy(period)) < named);
  const over = Math.max(after, named);
  const last = named + KEPT_AFTER_END;
  const graceEndsAt = graceEndOf(named, renewal);
  const ofItsEnd = reportsFailure(renewal)
    ? [
        ...upTo(last, nextDaily(first, over), "renewal"),
        ...(graceEndsAt === null ? [] : upTo(last, denseAfter(graceEndsAt, over), "grace-period-end")),
      ]
    : ofEnd(named, renewal, over);
  return [
    ...(renewal.isInBillingRetry ? [] : upTo(named, at, "renewal-unseen")),
    ...(isLast ? ofItsEnd : []),
  ];
};

/** End of a paid period that only the renewal info names; null: none. */
const paidUntold = ({ renewal, lines }: Pick<Purchase, "renewal" | "lines">): Instant | null =>
  renewal?.isInBillingRetry === true ? null : untoldEndOf(renewal, lines);

const ofRunningPeriod = (
  period: Line,
  endsAt: Instant,
  renewal: Renewal | null,
  after: Instant,
  asked: Instant | null,
): readonly Refresh[] => {
  if (asked !== null && period.standing === "expired") return ofMovingEnd(period, after, asked);
  const ofItsEnd = ofEnd(endsAt, renewal, after);
  if (renewal !== null && isSaidOver(renewal, endsAt)) return ofItsEnd;
  const startsAt = period.startsAt ?? endsAt;
  const ahead = endsAt - BEFORE_END;
  const isAhead = ahead > after && ahead > startsAt;
  const month = startsAt + MONTH;
  const midway = month > after ? month : periodic(month, QUARTER, after);
  return [
    ...(isAhead
      ? [{ at: ahead, because: renewal?.willRenew === false ? "restart" : "renewal-ahead" } as const]
      : []),
    ...upTo(ahead - DAY, midway, "refund"),
    ...ofItsEnd,
  ];
};

/**
 * Time up to which the reversal of a refund is looked for, as it would give access: that of a pass as long as the pass would be refreshed,
 * that of a period last an hour before its end.
 */
const reversibleUntil = ({ nature, startsAt, endsAt, verifiedAt }: Line): Instant => {
  if (nature === "non_renewing") return (startsAt ?? verifiedAt) + PASS_KEPT;
  return endsAt === null ? Infinity : endsAt - BEFORE_END;
};

const ofRevoked = (line: Line, after: Instant): readonly Refresh[] => {
  const revokedAt = line.revokedAt ?? line.verifiedAt;
  const until = reversibleUntil(line);
  const last = revokedAt + KEPT_AFTER_END;
  return [
    ...sparseUpTo(revokedAt, Math.max(last, until), after, "refund"),
    ...[last, ...(isPeriod(line) ? [until] : [])]
      .filter((at) => at > after)
      .map((at) => ({ at, because: "refund" }) as const),
  ];
};

/**
 * A period whose refund was reversed, and that was not signed since another product began, is asked about closely for some hours;
 * then, and after an answer that left it out, sparsely.
 */
const ofUpgrade = (
  period: Line,
  periods: readonly Line[],
  after: Instant,
  asked: Instant | null,
): readonly Refresh[] => {
  const [from] = periods
    .filter((other) => other.productIdentifier !== period.productIdentifier)
    .map(({ startsAt }) => startsAt ?? 0)
    .filter((startsAt) => period.verifiedAt < startsAt && startsAt < (period.endsAt ?? 0))
    .sort(compare);
  if (from === undefined || period.refundedBy === null || isRevoked(period)) return [];
  const isSoon = asked === null && after < from + 6 * HOUR;
  const at = isSoon ? denseAfter(from, after) : sparseAfter(from, after);
  return upTo(period.endsAt ?? 0, at, "upgrade");
};

/**
 * A renewal that is charged ahead begins after an upgrade that was bought since, and overtook it. Where nothing is known of the period
 * before both, it looks like a change of plan that took the upgrade's place, until a renewal info tells which of them runs.
 */
const ofOvertaking = (
  periods: readonly Line[],
  renewal: Renewal | null,
  after: Instant,
  asked: Instant | null,
): readonly Refresh[] => {
  const saidAt = ({ startsAt, verifiedAt }: Line): Instant => Math.min(startsAt ?? 0, verifiedAt);
  const doubtful = periods.filter((earlier) =>
    periods.some(
      (later) =>
        later.productIdentifier !== earlier.productIdentifier &&
        beganBy(later) > beganBy(earlier) &&
        beganBy(later) <= beganBy(earlier) + CHARGED_AHEAD_MILLISECONDS &&
        (earlier.endsAt ?? 0) > beganBy(later) &&
        (renewal === null || renewal.signedAt < Math.max(saidAt(earlier), saidAt(later))),
    ),
  );
  if (asked !== null || doubtful.length === 0) return [];
  const signedAt = Math.max(...periods.map(({ verifiedAt }) => verifiedAt));
  return upTo(signedAt + 6 * HOUR, denseAfter(signedAt, after), "upgrade");
};

/** The period that began last, if it is upgraded, and its upgrade unknown: nothing that runs ends later. */
const withoutItsUpgrade = (known: readonly Line[], running: readonly Line[]): readonly Line[] => {
  const last = beganLast(known);
  return last?.standing === "expired" && running.every(({ endsAt }) => (endsAt ?? 0) <= (last.endsAt ?? 0))
    ? [last]
    : [];
};

/**
 * Periods that are followed: without those that were upgraded, unless nothing else is known. An upgrade may end before the period that it
 * replaced, so the one that began last is followed closely.
 */
const followedPeriods = (lines: readonly Line[]): readonly Line[] => {
  const known = lines.filter(isPeriod);
  const running = known.filter(({ standing }) => standing !== "expired");
  return running.length > 0 ? running : known;
};

const ofSubscription = (
  lines: readonly Line[],
  renewal: Renewal | null,
  after: Instant,
  asked: Instant | null,
): readonly Refresh[] => {
  const known = lines.filter(isPeriod);
  const running = known.filter(({ standing }) => standing !== "expired");
  const cut = running.length > 0 ? withoutItsUpgrade(known, running) : [];
  const periods = followedPeriods(lines);
  const last = beganLast(periods);
  if (last === undefined) return [];
  const saidOf = (period: Line): Renewal | null =>
    renewal !== null && periodOf(renewal, lines) === period ? renewal : null;
  const end = last.endsAt ?? 0;
  // A reversed refund restores a period that may end after what was bought in between; and the store may name one that
  // overtook a period which begins later.
  const longer = periods.filter(
    (period) =>
      period.revokedAt === null &&
      (period.endsAt ?? 0) > end &&
      (period.refundedBy !== null || saidOf(period) !== null),
  );
  const beside = [
    ...[...longer, ...cut].flatMap((period) =>
      ofRunningPeriod(period, period.endsAt ?? 0, saidOf(period), after, asked),
    ),
    ...periods.flatMap((period) => ofUpgrade(period, periods, after, asked)),
    ...ofOvertaking(
      periods.filter((period) => !isRevoked(period)),
      renewal,
      after,
      asked,
    ),
    // Its refund may be reversed, whatever was bought since.
    ...periods
      .filter((period) => period !== last && isRevoked(period) && (period.endsAt ?? 0) > after)
      .flatMap((period) => ofRevoked(period, after)),
  ];
  if (isRevoked(last)) {
    const ofRenewal =
      asked !== null && last.standing === "expired"
        ? ofMovingEnd(last, after, asked)
        : upTo(end + KEPT_AFTER_END, denseAfter(end, after), "renewal");
    // A refund of one period does not end the subscription: only the person can, and the store tells, if it is asked.
    const said = saidOf(last);
    const mayRenew = said === null ? asked === null : said.willRenew;
    return [...beside, ...ofRevoked(last, after), ...(mayRenew ? ofRenewal : [])];
  }
  return [...beside, ...ofRunningPeriod(last, end, saidOf(last), after, asked)];
};

/**
 * A period that becomes known in the hour before its end, or after it, and of whose renewal the store has said nothing, is asked about
 * at once: it may be in its grace period, which only a renewal info tells, and its own times to ask may have passed.
 *
 * @param events lines of its events
 */
const ofKnownLate = (
  purchase: Purchase,
  events: readonly Line[],
  after: Instant,
  before: Purchase | null,
): readonly Refresh[] => {
  const { renewal } = purchase;
  const last = beganLast(followedPeriods(events));
  const end = last?.endsAt ?? null;
  if (end === null || (before !== null && endsOf(before).some((known) => isSameEnd(known, end)))) return [];
  const heard = lastHeard(purchase);
  const isSpokenOf = renewal !== null && periodOf(renewal, events) === last;
  const isTold = isSpokenOf && (renewal.signedAt >= end || heard < end);
  const at = heard + JUST_AFTER;
  return heard >= end - BEFORE_END && !isTold && after < at ? upTo(end + KEPT_AFTER_END, at, "renewal") : [];
};

const ofOneTime = (line: Line, after: Instant): readonly Refresh[] => {
  if (line.nature !== "non_consumable" && line.nature !== "non_renewing") return [];
  if (isRevoked(line)) return ofRevoked(line, after);
  const startsAt = line.startsAt ?? line.verifiedAt;
  const limit = line.nature === "non_renewing" ? startsAt + PASS_KEPT : Infinity;
  return upTo(limit, sparseAfter(startsAt, after), "refund");
};

/** Whether the transaction ids of an event disagree on a refund, and have not been read together since. */
export const isDisputed = ({ copies }: PurchaseEvent): boolean => {
  const refunded = copies.filter(({ revokedAt }) => revokedAt !== null).length;
  if (refunded === 0 || refunded === copies.length) return false;
  const times = copies.map(({ verifiedAt }) => verifiedAt);
  return Math.max(...times) - Math.min(...times) > READ_TOGETHER;
};

/** Whether transaction ids of an event of the purchase disagree. */
export const hasDispute = ({ lines }: Purchase): boolean => eventsOf(lines).some(isDisputed);

/**
 * An event whose ids disagree is read at once, then at most daily while the app keeps sending one of them. After an answer that
 * left one of them out, it is read sparsely, counted from the signing that is left: the answer has moved the others.
 */
const ofDispute = (event: PurchaseEvent, after: Instant, asked: Instant | null): readonly Refresh[] => {
  if (!isDisputed(event)) return [];
  const times = event.copies.map(({ verifiedAt }) => verifiedAt);
  const oldest = Math.min(...times);
  if (asked !== null) return [{ at: sparseAfter(oldest, after), because: "disagreement" }];
  const at = Math.max(Math.max(...times) + JUST_AFTER, oldest + DAY);
  return [{ at: at > after ? at : denseAfter(at, after), because: "disagreement" }];
};

/**
 * A refund that a copy signed later lacks: the copy may have been read before the refund, so the store is asked closely for
 * a day after the refund was first signed.
 */
const ofWithdrawnRefund = (line: Line, after: Instant): readonly Refresh[] => {
  const { revokedSince, refundedQuantity } = line;
  if (revokedSince === null || isRevoked(line) || refundedQuantity > 0) return [];
  return upTo(revokedSince + DAY, denseAfter(revokedSince, after), "refund");
};

const ofIosStore = (
  purchase: Purchase,
  after: Instant,
  asked: Instant | null,
  before: Purchase | null,
): readonly Refresh[] => {
  const { lines, renewal } = purchase;
  const wasNamed = before !== null && isSameEnd(paidUntold(before), paidUntold({ renewal, lines }));
  const standing = eventLines(lines);
  return [
    ...ofSubscription(standing, renewal, after, asked),
    ...(asked === null ? ofKnownLate(purchase, standing, after, before) : []),
    ...ofUntold(
      lines.filter(isPeriod),
      standing.filter(isPeriod),
      renewal,
      after,
      asked !== null || wasNamed,
    ),
    ...standing.flatMap((line) => [...ofOneTime(line, after), ...ofWithdrawnRefund(line, after)]),
    ...eventsOf(lines).flatMap((event) => ofDispute(event, after, asked)),
  ];
};

const ofAndroidStore = (purchase: Purchase, after: Instant): readonly Refresh[] => {
  const { lines, replacedBy, replacedAt, verifiedAt } = purchase;
  // What replaced a purchase proves that it was paid for; only its own answer tells what it replaced.
  if (lines.length === 0) return [{ at: Math.max(verifiedAt, after) + PAYMENT_STEP, because: "payment" }];
  if (replacedBy !== null && replacedAt === null) return [];
  // Refunds of one-time purchases are on the store's list of voided purchases.
  const subscribed = lines.filter(({ nature }) => nature === "auto_renewable");
  // Google calls a prepaid plan active after its end, too.
  const running = subscribed.filter((line) => !isOverAt(line, line.verifiedAt));
  const endOf = (line: Line): Instant => line.endsAt ?? line.verifiedAt;
  /** Latest step where the store says that the payment failed, or that access has stopped, and names an end that is yet to come. */
  const latestOf = (line: Line): Instant =>
    line.standing !== "entitled" && endOf(line) > after ? after + DAY : Infinity;
  if (running.length > 0)
    return running.flatMap((line) => [
      ...(endOf(line) - BEFORE_END > after && line.willRenew === false
        ? [{ at: endOf(line) - BEFORE_END, because: "restart" } as const]
        : []),
      {
        at: Math.min(denseAfter(endOf(line), after), latestOf(line)),
        because: line.standing === "grace_period" ? "grace-period-end" : "renewal",
      } as const,
    ]);
  return subscribed.map((line) => ({
    at: Math.min(afterExpiry(endOf(line), after), latestOf(line)),
    because: "return",
  }));
};

/**
 * The next time, later than `after`, at which a purchase's facts may have changed without a message from the store;
 * null: none. Pure: the same facts and moment give the same time.
 *
 * An end that may be renewed is followed closely, then daily, until the store says that it is over. Purchases that are
 * over, or have no end, are followed sparsely: iOS subscriptions until 60 days after their end, passes for 400 days
 * from their purchase, lifetime purchases for ever, Android purchases as long as the store knows them.
 *
 * @param after last time at which the store answered, or failed to
 * @param asked time of the question that the facts answer: what the answer signed anew must not bring the next question nearer;
 * null: the facts came by themselves
 * @param before the facts known before, whose refresh stays queued; null: there are none
 */
export const nextRefresh = (
  purchase: Purchase,
  after: Instant,
  asked: Instant | null = null,
  before: Purchase | null = null,
): Refresh | null => {
  if (purchase.environment === "xcode") return null;
  const all =
    purchase.store === "ios-store"
      ? ofIosStore(purchase, after, asked, before)
      : ofAndroidStore(purchase, after);
  return all
    .filter(({ at }) => isInstant(at))
    .reduce<Refresh | null>((first, one) => (first === null || one.at < first.at ? one : first), null);
};

/** Whether a refresh that was asked for is still: for a day, unless the store answers. Then the purchase's own steps follow. */
export const isStillAskedFor = (askedForAt: Instant | null, moment: Instant): askedForAt is Instant =>
  askedForAt !== null && moment < askedForAt + ASKED_FOR;

/**
 * The next time, later than `after`, at which a refresh that was asked for is made again, because the store has not answered;
 * null: none.
 */
export const askedForAgain = (askedForAt: Instant, after: Instant): Instant | null => {
  const step = STEPS_AFTER_ASKED.find((delay) => askedForAt + delay > after);
  return step === undefined ? null : askedForAt + step;
};

/**
 * Whether newer facts bring the App Store's word that the period before was the last. A word about a period of which nothing is told is
 * none on the one before.
 */
export const isWordOfEnd = ({ lines, renewal }: Purchase, before: Purchase): boolean => {
  const endsAt = renewal === null ? null : (periodOf(renewal, lines)?.endsAt ?? null);
  return (
    renewal !== null &&
    renewal.signedAt !== before.renewal?.signedAt &&
    endsAt !== null &&
    untoldEndOf(renewal, lines) === null &&
    isSaidOver(renewal, endsAt)
  );
};

/** Ends of a purchase's lines, and the end that only its renewal info names. */
export const endsOf = ({ lines, renewal }: Purchase): readonly Instant[] =>
  [...lines.map(({ endsAt }) => endsAt), untoldEndOf(renewal, lines)].filter((end) => end !== null);

/** Last end of a purchase; 0: it has none. */
export const lastEnd = (purchase: Purchase): Instant => Math.max(0, ...endsOf(purchase));

/** Last end of the lines alone: while a payment is retried, the end that a renewal info names may be the next attempt. */
export const lastLineEnd = (lines: readonly Line[]): Instant =>
  Math.max(0, ...lines.map(({ endsAt }) => endsAt ?? 0));

/** Whether a purchase ended at least 60 days ago: so long, stores know what has ended. False where nothing has an end. */
export const endedLongAgo = (purchase: Purchase, moment: Instant): boolean =>
  lastEnd(purchase) > 0 && moment >= lastEnd(purchase) + KEPT_AFTER_END;

/**
 * Whether a purchase that its store no longer knows need not be asked about again: it ended, and was last heard of, at
 * least 60 days ago. Never for an iOS purchase without an end: it is asked about too seldom to matter.
 */
export const isLongOver = (purchase: Purchase, moment: Instant): boolean => {
  const { store, lines } = purchase;
  if (store === "ios-store" && lines.some(({ endsAt }) => endsAt === null)) return false;
  return moment >= Math.max(lastHeard(purchase), lastEnd(purchase)) + KEPT_AFTER_END;
};

/** Reason of a refresh at a time; null: the facts give none, so a person asked for it. */
export const refreshReasonAt = (purchase: Purchase, at: Instant): RefreshReason | null => {
  const exact = nextRefresh(purchase, at - 1);
  if (exact?.at === at) return exact.because;
  // Some times count from when the store spoke, or from when facts came that a device had kept.
  const first = nextRefresh(purchase, lastHeard(purchase));
  return first !== null && first.at <= at ? first.because : null;
};

/** Last time at which the store reported on a purchase. */
export const lastHeard = ({ verifiedAt, renewal }: Purchase): Instant =>
  Math.max(verifiedAt, renewal?.signedAt ?? 0);
