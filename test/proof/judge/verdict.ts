import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import { entitlementsAt, isInactive } from "../../../lib/entitlements/entitlements.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import type { Dice } from "../dice.ts";
import { heldBySomebody } from "../model/as-verified.ts";
import { LEEWAY, TERMS, covers, type Fact, type Life, type Span } from "./life.ts";
import type { Missing, Telling } from "./telling.ts";

/** The core's difference from the truth at a moment, although all facts of the store that decide it have come. */
interface Fault {
  readonly name: "payer dark" | "free access" | "payer moved" | "kept for ever" | "wrong end";
  readonly entitlement: string;
  readonly moment: string;
  readonly detail: string;
}

/** Time after an end within which a customer stays whose store has not called it over. */
const UNSURE_AFTER_END = DAY;

/** What is true at a moment, beside what the service has heard. */
interface View {
  readonly moment: number;
  readonly life: Life;
  readonly telling: Telling;
  readonly here: readonly Span[];
  readonly missing: readonly Missing[];
  readonly missingFacts: readonly Missing[];
  readonly received: readonly Fact[];
  /** Ends of access by entitlement, of those that are active; null: lifetime. */
  readonly active: ReadonlyMap<string, number | null>;
  /** Whether the customer may move to another account where `transfers` is `when_inactive`. */
  readonly mayMove: boolean;
}

const viewAt = (moment: number, life: Life, telling: Telling): View => {
  const received = telling.receivedBy(moment);
  const known = heldBySomebody(joinAll(received.flatMap(({ purchases }) => purchases)));
  const active = entitlementsAt(moment, known, TERMS)
    .filter((one) => one.active)
    .map(
      ({ identifier, expiresAt }) => [identifier, expiresAt === null ? null : Date.parse(expiresAt)] as const,
    );
  const missing = telling.missingAt(moment);
  return {
    moment,
    life,
    telling,
    received,
    here: life.truth.filter((span) => covers(span, moment)),
    missing,
    missingFacts: missing.filter(({ part }) => part === "fact"),
    active: new Map(active),
    mayMove: isInactive(moment, known, TERMS),
  };
};

/** Whether all that has not come is renewals of the time since `from`: the store said that it would renew. */
const areRenewalsSince = (missing: readonly Missing[], from: number): boolean =>
  missing.every(({ happening }) => happening.what === "renewal" && happening.at > from);

/** Whether access in the leeway is owed: the same product was renewed just now, and nobody has told. */
const isOwedLeeway = ({ moment, life, missing }: View, paid: Span): boolean =>
  paid.from > moment - LEEWAY &&
  areRenewalsSince(missing, paid.from - DAY) &&
  life.truth.some(
    ({ kind, entitlement, to }) => kind === "paid" && entitlement === paid.entitlement && to === paid.from,
  );

type Found = Omit<Fault, "moment">;

const darkness = (view: View): Found[] =>
  view.here
    .filter(({ kind }) => kind === "paid" || kind === "grace" || kind === "silent")
    .filter(({ entitlement }) => !view.active.has(entitlement))
    .filter((span) =>
      span.kind === "paid"
        ? view.missingFacts.length === 0 || isOwedLeeway(view, span)
        : view.missing.length === 0,
    )
    .map(({ entitlement, kind }) => ({ name: "payer dark", entitlement, detail: kind }));

/** Whether the leeway after a paid period may still run by what has come, as a renewal info has not. */
const isInLeeway = ({ moment, life }: View, of: string): boolean =>
  life.truth.some(
    ({ kind, entitlement, to }) =>
      (kind === "paid" || kind === "grace") && entitlement === of && to <= moment && moment < to + LEEWAY,
  );

const accessIn = ({ here }: View, of: string): readonly Span[] =>
  here.filter(({ entitlement, kind }) => entitlement === of && kind !== "ahead");

const freedom = (view: View): Found[] => {
  const { missing, missingFacts, active } = view;
  if (missingFacts.length > 0) return [];
  return [...active.keys()]
    .filter((entitlement) => accessIn(view, entitlement).length === 0)
    .filter((entitlement) => missing.length === 0 || !isInLeeway(view, entitlement))
    .map((entitlement) => ({ name: "free access", entitlement, detail: "" }));
};

const lastOf = ({ shownEnd }: Span): number => shownEnd ?? Infinity;
const rankOf = ({ kind }: Span): number => Number(kind === "allowed");

const ends = (view: View): Found[] => {
  const { missing, active, received } = view;
  if (missing.length > 0) return [];
  return [...active].flatMap(([entitlement, shown]): Found[] => {
    const of = accessIn(view, entitlement);
    const [first] = of.toSorted((a, b) => rankOf(a) - rankOf(b) || lastOf(b) - lastOf(a));
    const isRight = of.some(
      (one) =>
        (one.shownEnd === undefined || one.shownEnd === shown) && (one === first || one.kind === "allowed"),
    );
    const isUnheld = first?.kind === "paid" && received.every(({ id }) => id !== first.id);
    if (first === undefined || isRight || isUnheld) return [];
    const by = ((shown ?? Infinity) - lastOf(first)) / DAY;
    return [{ name: "wrong end", entitlement, detail: `${by} days` }];
  });
};

const moves = (view: View): Found[] => {
  const { moment, life, here, missing, missingFacts, telling } = view;
  if (!view.mayMove) return [];
  if (life.mayRenew !== null && covers(life.mayRenew, moment) && missing.length === 0)
    return [{ name: "payer moved", entitlement: "", detail: "may be renewed" }];
  const staying = here.find(({ kind }) => kind !== "allowed");
  if (staying === undefined) return [];
  const { entitlement, shownEnd, kind } = staying;
  const isKnown = (kind === "paid" || kind === "ahead" ? missingFacts : missing).length === 0;
  const isNamed =
    kind === "paid" &&
    missingFacts.every(({ happening }) => happening.what !== "refund") &&
    telling.namedBy(moment).has(shownEnd ?? 0);
  return isKnown || isNamed || areRenewalsSince(missing, moment - UNSURE_AFTER_END)
    ? [{ name: "payer moved", entitlement, detail: kind }]
    : [];
};

const LONG_AFTER = 1000 * DAY;

/** The core's faults at a moment. */
export const faultsAt = (moment: number, life: Life, telling: Telling): readonly Fault[] => {
  const view = viewAt(moment, life, telling);
  const found = (): readonly Found[] => {
    if (moment >= life.last + LONG_AFTER)
      return view.mayMove || life.lasts || view.missing.length > 0
        ? []
        : [{ name: "kept for ever", entitlement: "", detail: "" }];
    if (moment >= life.horizon) return moves(view);
    return [...darkness(view), ...freedom(view), ...ends(view), ...moves(view)];
  };
  return found().map((fault) => ({ ...fault, moment: new Date(moment).toISOString() }));
};

const LATER = [2 * MINUTE, HOUR, DAY, 3 * DAY, 10 * DAY, 20 * DAY, 40 * DAY, 100 * DAY];
const OFFSETS = [-DAY, -HOUR, -MINUTE, -1, 0, 0, 1, MINUTE, HOUR, DAY];
const EACH = { length: 4 } as const;

/** Moments to look at: near what begins, ends or comes, at any time, and later. */
export const momentsOf = (life: Life, telling: Telling, dice: Dice): readonly number[] => {
  const { truth, happenings, last, horizon, mayRenew } = life;
  const boundaries = [
    ...truth.flatMap(({ from, to, shownEnd }) => [from, to, shownEnd ?? to]),
    ...happenings.flatMap(({ at, signedAt }) => [at, signedAt]),
    ...telling.times,
  ];
  const near = Array.from(EACH, () => dice.pick(boundaries) + dice.pick(OFFSETS));
  const any = Array.from(EACH, () => dice.within(NOW, last + 1));
  const later = Array.from({ length: 2 }, () => last + dice.pick(LATER));
  const renewing = mayRenew === null ? [] : [dice.within(mayRenew.from, mayRenew.to)];
  const first = Math.max(NOW, Math.min(...telling.times));
  return [
    ...[...near, ...any, ...later, ...renewing].filter(
      (moment) => moment >= first && (moment < horizon || (mayRenew !== null && covers(mayRenew, moment))),
    ),
    last + LONG_AFTER,
  ];
};
