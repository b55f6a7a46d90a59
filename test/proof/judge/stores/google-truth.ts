import { HOUR } from "../../../../lib/duration.ts";
import { LEEWAY } from "../catalog.ts";
import { UNSURE_AFTER_END } from "../core.ts";
import type { GoogleSubscription, Item, Phase, Token } from "./google.ts";
import type { Life, Span } from "../life.ts";

/** Longest time for which Google retries a payment without a word. */
export const SILENT = 48 * HOUR;

/** What an item of a phase gives until the next phase. */
const spansOfItem = (id: string, { state, from }: Phase, item: Item, until: number): Span[] => {
  const { product: entitlement, expiry, renews, replacedBy } = item;
  if (expiry === null) return [];
  const of = { entitlement, id, shownEnd: expiry };
  const kind = state === "IN_GRACE_PERIOD" ? ("grace" as const) : ("paid" as const);
  const given = { ...of, kind, from, to: Math.min(until, expiry) };
  if (state === "CANCELED") return [given];
  if (state !== "ACTIVE" && state !== "IN_GRACE_PERIOD") return [];
  const goesOn = renews || replacedBy !== null;
  const silentFrom = Math.max(from, expiry);
  if (!goesOn || silentFrom >= until) return [given];
  return [
    given,
    { ...of, kind: "silent", from: silentFrom, to: Math.min(until, expiry + SILENT) },
    { ...of, kind: "allowed", from: silentFrom, to: Math.min(until, expiry + LEEWAY) },
  ];
};

const spansOfToken = ({ id, phases }: Token): Span[] =>
  phases.flatMap((phase, index) =>
    phase.items.flatMap((item) => spansOfItem(id, phase, item, phases[index + 1]?.from ?? Infinity)),
  );

/** The life of Google's subscriber, told until a moment. */
export const lifeOfGoogle = (subscription: GoogleSubscription, now: number): Life => {
  const { tokens, happenings, answerAt } = subscription;
  const last = tokens.at(-1)?.phases.at(-1);
  const expiry = Math.max(...(last?.items ?? []).map((item) => item.expiry ?? 0));
  const isRenewing = last?.state === "ACTIVE" && last.items.some(({ renews }) => renews);
  const isOver = last?.state === "EXPIRED" || last?.items.every(({ isPrepaid }) => isPrepaid) === true;
  return {
    happenings: happenings.toSorted((a, b) => a.at - b.at),
    isSnapshot: true,
    truth: tokens.flatMap(spansOfToken).filter(({ from, to }) => from < to),
    begins: tokens[0]?.phases[0]?.from ?? now,
    last: now,
    horizon: isRenewing
      ? Math.max(now, expiry)
      : isOver || last?.state === "CANCELED"
        ? Infinity
        : now + HOUR,
    mayRenew:
      isRenewing && expiry > now ? { from: expiry - HOUR, to: expiry + UNSURE_AFTER_END - HOUR } : null,
    lasts: false,
    answerAt,
    heldAt: (moment) => answerAt(moment),
  };
};
