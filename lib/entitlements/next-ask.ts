import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";
import { isSaidOver, BILLING_RETRY_MILLISECONDS, graceEndOf } from "./renewal.ts";
import { isOverAt, type Line, type Purchase } from "./purchase.ts";
import { isPeriod, periodsOf, unseenEnd, type Period } from "./subscription-periods.ts";
import type { Instant } from "./time.ts";

/**
 * Why a store is asked about a purchase. By its facts: it may be renewed, or have come back; a refund may not have been
 * notified; its payment is pending; what is known is unsettled (an upgrade or a renewal without its transaction).
 * Besides: an acknowledgement is pending; Google's answer may be older than its notification; an operator wants to know;
 * the last question had no answer.
 */
export const ASK_REASONS = [
  "renewal",
  "refund",
  "payment",
  "unsettled",
  "acknowledgement",
  "notification",
  "requested",
  "no-answer",
] as const;
export type AskReason = (typeof ASK_REASONS)[number];

export interface NextAsk {
  readonly at: Instant;
  readonly because: AskReason;
}

/** Steps after an end that may be renewed, followed by daily ones. */
const CLOSE_STEPS = [5 * SECOND, 2 * MINUTE, 10 * MINUTE, 20 * MINUTE, HOUR, 6 * HOUR];

/** Steps after a moment from which little is expected, followed by quarterly ones. */
const SPARSE_STEPS = [DAY, 7 * DAY, 30 * DAY];
const QUARTER = 91 * DAY;

/** Time before an end: the App Store charges a renewal up to a day before it begins. */
const BEFORE_END = HOUR;

const PAYMENT_STEP = 6 * HOUR;

/** Time after new facts at which the store is asked about what they leave unsettled. */
const AT_ONCE = 5 * SECOND;

/** Time for which an iOS purchase that ended is asked about: as long as the App Store retries a payment. */
export const ASKED_AFTER_END = BILLING_RETRY_MILLISECONDS;

/** Time for which an iOS pass is asked about after its purchase, whatever its access duration. */
const PASS_ASKED = 400 * DAY;

export const earliest = (asks: readonly (NextAsk | null)[]): NextAsk | null =>
  asks.reduce<NextAsk | null>(
    (first, one) => (one !== null && (first === null || one.at < first.at) ? one : first),
    null,
  );

export const lastHeard = ({ verifiedAt, renewal }: Purchase): Instant =>
  Math.max(verifiedAt, renewal?.signedAt ?? 0);

const afterSteps = (from: Instant, steps: readonly number[], then: number, after: Instant): Instant => {
  const step = steps.find((delay) => from + delay > after);
  if (step !== undefined) return from + step;
  const base = from + (steps.at(-1) ?? 0);
  return base + (Math.floor((after - base) / then) + 1) * then;
};

const closely = (from: Instant, after: Instant): Instant => afterSteps(from, CLOSE_STEPS, DAY, after);
const rarely = (from: Instant, after: Instant): Instant => afterSteps(from, SPARSE_STEPS, QUARTER, after);

const upTo = (limit: Instant, at: Instant, because: AskReason): readonly NextAsk[] =>
  at <= limit ? [{ at, because }] : [];

const ofEnd = ({ endsAt, from, renewal }: Period, after: Instant): readonly NextAsk[] => {
  const limit = endsAt + ASKED_AFTER_END;
  if (renewal !== null && isSaidOver(renewal, endsAt)) return upTo(limit, rarely(endsAt, after), "renewal");
  const graceEndsAt = renewal === null ? null : graceEndOf(endsAt, renewal);
  const ahead = endsAt - BEFORE_END;
  return [
    ...(ahead > after && ahead > from ? upTo(limit, ahead, "renewal") : []),
    ...upTo(limit, closely(endsAt, after), "renewal"),
    ...(graceEndsAt === null ? [] : upTo(limit, closely(graceEndsAt, after), "renewal")),
  ];
};

/** Looks for a refund, or for one that was taken back, while a period bought at `boughtAt` would give access. */
const ofRefund = ({ line, endsAt }: Period, boughtAt: Instant, after: Instant): readonly NextAsk[] =>
  upTo(endsAt - BEFORE_END, rarely(line.revokedAt ?? boughtAt, after), "refund");

/**
 * Time since which an App Store subscription is unsettled, from which sparse questions count; null: it is settled.
 * Unsettled are an upgrade's mark without the upgrade, an end that only the next period's start tells, and a renewal
 * without its transaction.
 */
export const unsettledSince = (
  purchase: Purchase,
  after: Instant,
  periods: readonly Period[] = periodsOf(purchase),
): Instant | null => {
  const last = periods.at(-1);
  if (last === undefined) return null;
  if (last.line.standing === "expired" && last.endsAt > after) return last.from;
  const cut = periods.find(({ isCutInferred, endsAt }) => isCutInferred && endsAt > after);
  if (cut !== undefined) return cut.cutAt;
  const unseen = unseenEnd(purchase, periods);
  return unseen !== null && unseen > after ? Math.min(last.endsAt, unseen) : null;
};

const ofSubscription = (purchase: Purchase, after: Instant, wasAsked: boolean): readonly NextAsk[] => {
  const periods = periodsOf(purchase);
  const last = periods.at(-1);
  const unsettled = unsettledSince(purchase, after, periods);
  const unseen = unseenEnd(purchase, periods);
  const bought = periods.findLast((_, index) => periods[index - 1]?.isRenewed !== true) ?? last;
  const isUnheard = last !== undefined && lastHeard(purchase) < last.endsAt && last.endsAt <= after;
  return [
    ...(isUnheard && !wasAsked ? upTo(last.endsAt + ASKED_AFTER_END, after + AT_ONCE, "renewal") : []),
    ...(unsettled === null
      ? []
      : [{ at: wasAsked ? rarely(unsettled, after) : after + AT_ONCE, because: "unsettled" } as const]),
    ...(unseen === null ? [] : upTo(unseen + ASKED_AFTER_END, closely(unseen, after), "renewal")),
    ...(last === undefined ? [] : ofEnd(last, after)),
    ...periods.flatMap((period) =>
      period === last || period.line.revokedAt !== null
        ? ofRefund(period, (bought ?? period).from, after)
        : [],
    ),
  ];
};

const ofIosOneTime = (line: Line, after: Instant): readonly NextAsk[] => {
  if (line.nature !== "non_consumable" && line.nature !== "non_renewing") return [];
  const startsAt = line.startsAt ?? line.verifiedAt;
  const limit = line.nature === "non_renewing" ? startsAt + PASS_ASKED : Infinity;
  return upTo(limit, rarely(line.revokedAt ?? startsAt, after), "refund");
};

/** Google: refunds of one-time purchases are on its list of voided purchases. */
const ofAndroidStore = (purchase: Purchase, after: Instant): readonly NextAsk[] => {
  const { lines, replacedBy, verifiedAt } = purchase;
  if (lines.length === 0) return [{ at: Math.max(verifiedAt, after) + PAYMENT_STEP, because: "payment" }];
  if (replacedBy !== null) return [];
  const subscribed = lines.filter(isPeriod);
  const running = subscribed.filter((line) => !isOverAt(line, line.verifiedAt));
  return (running.length > 0 ? running : subscribed).map((line): NextAsk => {
    const endsAt = line.endsAt ?? line.verifiedAt;
    const at = running.length > 0 ? closely(endsAt, after) : rarely(endsAt, after);
    // A grace period, a hold or a pause may end before its date.
    const daily = line.standing !== "entitled" && endsAt > after ? after + DAY : Infinity;
    return { at: Math.min(at, daily), because: "renewal" };
  });
};

/**
 * The next time, later than `after`, at which a purchase's facts may have changed without a message from the store;
 * null: none. Pure: the same facts and moment give the same time.
 *
 * @param after last time at which the store answered, or failed to, or told these facts
 * @param wasAsked whether the store was asked about these facts, or is to be: what stays unsettled is asked about rarely
 */
export const nextAsk = (purchase: Purchase, after: Instant, wasAsked: boolean): NextAsk | null => {
  if (purchase.environment === "xcode") return null;
  const all =
    purchase.store === "ios-store"
      ? [
          ...ofSubscription(purchase, after, wasAsked),
          ...purchase.lines.flatMap((line) => ofIosOneTime(line, after)),
        ]
      : ofAndroidStore(purchase, after);
  return earliest(all);
};

/** Last end of a purchase, also one that only its renewal info names; 0: it has none. */
export const lastEnd = (purchase: Purchase): Instant =>
  Math.max(
    0,
    unseenEnd(purchase, periodsOf(purchase)) ?? 0,
    ...purchase.lines.map(({ endsAt }) => endsAt ?? 0),
  );

/** Whether a purchase ended at least 60 days ago: so long, stores know what has ended. False where nothing has an end. */
export const endedLongAgo = (purchase: Purchase, moment: Instant): boolean =>
  lastEnd(purchase) > 0 && moment >= lastEnd(purchase) + ASKED_AFTER_END;

/** Whether what its store no longer knows ended, and was last heard of, at least 60 days ago: it is asked about no more. */
export const isLongOver = (purchase: Purchase, moment: Instant): boolean => {
  const isEndless = purchase.store === "ios-store" && purchase.lines.some(({ endsAt }) => endsAt === null);
  return !isEndless && moment >= Math.max(lastHeard(purchase), lastEnd(purchase)) + ASKED_AFTER_END;
};
