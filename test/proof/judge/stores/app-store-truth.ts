import { DAY, HOUR, MINUTE } from "../../../../lib/duration.ts";
import { refundAt, type AppStoreSubscription, type Period } from "./app-store.ts";
import { LEEWAY } from "../catalog.ts";
import { UNSURE_AFTER_END } from "../core.ts";
import type { Excuse, Life, Span } from "../life.ts";

/** Longest time before a period's start at which it may have been charged, as the core sees it. */
const CHARGED_AHEAD = 48 * HOUR;

/** A time without the times of the period's refunds. */
const withoutRefunds = ({ refunds }: Period, from: number, to: number): (readonly [number, number])[] => {
  let parts: (readonly [number, number])[] = [[from, to]];
  for (const { at, backAt } of refunds)
    parts = parts.flatMap(([start, end]) => [
      [start, Math.min(end, at)] as const,
      [Math.max(start, backAt ?? Infinity), end] as const,
    ]);
  return parts.filter(([start, end]) => start < end);
};

/** Whether the store's facts may leave open that a period goes on, as docs/stores.md says under "Doubts". */
const doubtOf = (period: Period, periods: readonly Period[]): { from: number; excuse: Excuse } | null => {
  const { id, from, to, upgradedAt, isOvertaken, refunds } = period;
  const excuse = (name: string, unlessTold: string | null = null): Excuse => ({
    name,
    unlessMarked: id,
    unlessTold,
  });
  if (isOvertaken && periods.some((one) => one.refunds.some(({ at }) => at <= from)))
    return { from, excuse: excuse("overtaken by what was refunded") };
  const before = periods[periods.indexOf(period) - 1];
  if (isOvertaken && before !== undefined)
    return { from, excuse: excuse("overtaken, the period before untold", before.id) };
  if (upgradedAt === null) return null;
  if (refunds.length > 0)
    return { from: upgradedAt, excuse: excuse("upgraded after a refund was taken back") };
  return to - upgradedAt <= CHARGED_AHEAD
    ? { from: upgradedAt, excuse: excuse("upgraded in the last two days") }
    : null;
};

/** What a period gave, its charge known from how the life was made. */
const spansOf = (period: Period, subscription: AppStoreSubscription): Span[] => {
  const { product, from, to, chargedAt, upgradedAt, isOvertaken, grace, id } = period;
  const { periods, happenings } = subscription;
  const begins = Math.max(from, chargedAt);
  const until = isOvertaken ? begins : (upgradedAt ?? to);
  const of = { entitlement: product, id, shownEnd: to };
  const doubt = doubtOf(period, periods);
  const spans: Span[] = [
    ...withoutRefunds(period, begins, until).map(([start, end]) => ({
      ...of,
      kind: "paid" as const,
      from: start,
      to: end,
    })),
    ...withoutRefunds(period, chargedAt, isOvertaken ? (upgradedAt ?? from) : from).map(([start, end]) => ({
      ...of,
      kind: "ahead" as const,
      from: start,
      to: end,
    })),
    { ...of, kind: "allowed", from: from - MINUTE, to: begins },
  ];
  if (grace !== null)
    for (const [start, end] of withoutRefunds(period, to, grace.overAt))
      spans.push({ ...of, kind: "grace", from: start, to: end, shownEnd: grace.to });
  if (doubt !== null)
    spans.push({
      ...of,
      kind: "allowed",
      from: doubt.from,
      to: to + LEEWAY,
      excuse: doubt.excuse,
    });
  const mayRenew = subscription.renewedAt(to) && refundAt(period, to) === undefined;
  if (mayRenew && !isOvertaken && upgradedAt === null) {
    // The leeway lasts while the store is silent, or says only that it will renew.
    const said = happenings.find(({ what, signedAt }) => what === "change" && signedAt >= to);
    spans.push({ ...of, kind: "allowed", from: to, to: Math.min(to + LEEWAY, said?.signedAt ?? Infinity) });
  }
  return spans;
};

/** The life of a subscription, told until a moment. */
export const lifeOfAppStore = (subscription: AppStoreSubscription, now: number): Life => {
  const { periods, happenings, answerAt, heldAt } = subscription;
  const { to } = subscription.lastOf();
  const isOpen = subscription.renews() && subscription.failure() === null;
  return {
    happenings: happenings.toSorted((a, b) => a.signedAt - b.signedAt),
    isSnapshot: false,
    truth: periods.flatMap((period) => spansOf(period, subscription)),
    begins: periods[0]?.chargedAt ?? now,
    last: now,
    mayRenew: isOpen ? { from: to - DAY, to: to + UNSURE_AFTER_END - HOUR } : null,
    lasts: false,
    horizon: isOpen ? to : subscription.failure() === null ? Infinity : now + HOUR,
    answerAt,
    heldAt,
  };
};
