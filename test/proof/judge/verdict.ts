import { DAY, HOUR, MINUTE, SECOND } from "../../../lib/duration.ts";
import { LEEWAY } from "./catalog.ts";
import { activeAt, knownOf, mayMove, UNSURE_AFTER_END } from "./core.ts";
import type { Dice } from "./dice.ts";
import { covers, type Excuse, type Life, type Span } from "./life.ts";
import type { Missing, Received, Telling } from "./telling.ts";

export const FAULTS = [
  "payer dark",
  "grace dark",
  "free access",
  "payer moved",
  "kept for ever",
  "wrong end",
] as const;
export type FaultName = (typeof FAULTS)[number];

/** The core's difference from the truth at a moment. */
export interface Fault {
  readonly name: FaultName;
  readonly entitlement: string;
  /** `wrong`; `untold`: a store's fact that decides it has not come; otherwise the name of an excuse. */
  readonly cause: string;
  readonly detail: string;
}

/** A fault with its length in time. */
export interface Finding extends Fault {
  readonly from: number;
  readonly to: number;
}

const isFact = ({ part }: Missing): boolean => part === "fact";

/** What is true at a moment, beside what the service has heard. */
interface View {
  readonly moment: number;
  readonly life: Life;
  readonly here: readonly Span[];
  readonly missing: readonly Missing[];
  readonly received: Received;
  readonly active: ReadonlyMap<string, number | null>;
}

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

const darkness = (view: View): Fault[] => {
  const { here, missing, active } = view;
  const owed = here.filter(({ kind }) => kind === "paid" || kind === "grace" || kind === "silent");
  return owed
    .filter(({ entitlement }) => !active.has(entitlement))
    .map((span): Fault => {
      const { kind, entitlement } = span;
      const decides = kind === "paid" ? missing.filter(isFact) : missing;
      const isTold = decides.length === 0 || (kind === "paid" && isOwedLeeway(view, span));
      const name = kind === "paid" ? "payer dark" : "grace dark";
      return { name, entitlement, cause: isTold ? "wrong" : "untold", detail: kind };
    });
};

/** Whether the leeway after a paid period may still run by what has come, as a renewal info has not. */
const isInLeeway = ({ moment, life }: View, of: string): boolean =>
  life.truth.some(
    ({ kind, entitlement, to }) =>
      (kind === "paid" || kind === "grace") && entitlement === of && to <= moment && moment < to + LEEWAY,
  );

const holds = ({ unlessMarked, unlessTold }: Excuse, { ids, marked }: Received): boolean =>
  !marked.has(unlessMarked) && (unlessTold === null || !ids.has(unlessTold));

const freedom = (view: View): Fault[] => {
  const { here, missing, active, received } = view;
  return [...active.keys()].flatMap((entitlement): Fault[] => {
    const of = here.filter((span) => span.entitlement === entitlement && span.kind !== "ahead");
    if (of.some(({ excuse }) => excuse === undefined)) return [];
    const excused = of.find(({ excuse }) => excuse !== undefined && holds(excuse, received));
    const isUntold = missing.some(isFact) || (missing.length > 0 && isInLeeway(view, entitlement));
    const cause = isUntold ? "untold" : (excused?.excuse?.name ?? "wrong");
    return [{ name: "free access", entitlement, cause, detail: "" }];
  });
};

const lastOf = ({ shownEnd }: Span): number => shownEnd ?? Infinity;
/** Access that may be given: the leeway, and the tolerance before a start. */
const isFree = ({ kind, excuse }: Span): boolean => kind === "allowed" && excuse === undefined;
const rankOf = ({ kind }: Span): number => Number(kind === "allowed");

const ends = ({ moment, here, missing, active, received }: View): Fault[] => {
  if (missing.length > 0) return [];
  return [...active].flatMap(([entitlement, shown]): Fault[] => {
    const of = here.filter((span) => span.entitlement === entitlement && span.kind !== "ahead");
    const [first] = of.toSorted((a, b) => rankOf(a) - rankOf(b) || lastOf(b) - lastOf(a));
    const isRight = of.some(
      (one) => (one.shownEnd === undefined || one.shownEnd === shown) && (one === first || isFree(one)),
    );
    if (first === undefined || isRight) return [];
    const by = (shown ?? Infinity) - (first.shownEnd ?? Infinity);
    const excuse = of.find((span) => span.excuse !== undefined)?.excuse?.name;
    const isUnheld = first.kind === "paid" && !received.ids.has(first.id);
    const cause = isUnheld ? "untold" : (excuse ?? "wrong");
    const detail = `${by > 0 ? "later" : "earlier"} by ${Math.abs(by) / DAY} days, ${moment}`;
    return [{ name: "wrong end", entitlement, cause, detail }];
  });
};

const moves = (view: View, telling: Telling, isMoved: boolean): Fault[] => {
  const { moment, life, here, missing } = view;
  if (!isMoved) return [];
  const facts = missing.filter(isFact);
  if (life.mayRenew !== null && covers(life.mayRenew, moment) && missing.length === 0)
    return [{ name: "payer moved", entitlement: "", cause: "wrong", detail: "may be renewed" }];
  const staying = here.filter(({ kind }) => kind !== "allowed");
  return staying.slice(0, 1).map((span): Fault => {
    const { entitlement, shownEnd, kind } = span;
    const isKnown = kind === "paid" || kind === "ahead" ? facts.length === 0 : missing.length === 0;
    const isNamed =
      kind === "paid" &&
      facts.every(({ happening }) => happening.what !== "refund") &&
      telling.namedBy(moment).has(shownEnd ?? 0);
    const isTold = isKnown || isNamed || areRenewalsSince(missing, moment - UNSURE_AFTER_END);
    return { name: "payer moved", entitlement, cause: isTold ? "wrong" : "untold", detail: kind };
  });
};

/** The core's faults at a moment. */
export const faultsAt = (moment: number, life: Life, telling: Telling): readonly Fault[] => {
  const received = telling.receivedBy(moment);
  const known = knownOf(received.purchases);
  const here = life.truth.filter((span) => covers(span, moment));
  const missing = telling.missingAt(moment);
  const isMoved = mayMove(moment, known);
  if (moment >= life.last + 1000 * DAY) {
    const cause = missing.length === 0 ? "wrong" : "untold";
    return isMoved || life.lasts ? [] : [{ name: "kept for ever", entitlement: "", cause, detail: "" }];
  }
  const view: View = { moment, life, here, missing, received, active: activeAt(moment, known) };
  const moved = moves(view, telling, isMoved);
  if (moment >= life.horizon) return moved;
  return [...darkness(view), ...freedom(view), ...ends(view), ...moved];
};

const isSame = (a: Fault, b: Fault): boolean =>
  a.name === b.name && a.entitlement === b.entitlement && a.cause === b.cause;

/** How far a fault goes on from a moment, in one direction, to the second. */
const reach = (fault: Fault, at: number, direction: 1 | -1, has: (moment: number) => boolean): number => {
  let [near, step] = [at, MINUTE];
  while (step < 400 * DAY && has(at + direction * step)) [near, step] = [at + direction * step, step * 2];
  let far = at + direction * step;
  while (Math.abs(far - near) > SECOND) {
    const middle = Math.round((near + far) / 2);
    if (has(middle)) near = middle;
    else far = middle;
  }
  return fault.name === "kept for ever" ? at : near;
};

const LATER = [2 * MINUTE, HOUR, DAY, 3 * DAY, 10 * DAY, 20 * DAY, 40 * DAY, 100 * DAY] as const;
const OFFSETS = [-DAY, -HOUR, -MINUTE, -1, 0, 0, 1, MINUTE, HOUR, DAY] as const;

/** Moments to look at: near what begins, ends or comes, at any time, and later. */
export const momentsOf = (life: Life, telling: Telling, dice: Dice, count: number): readonly number[] => {
  const { truth, happenings, begins, last, horizon, mayRenew } = life;
  const boundaries = [
    ...truth.flatMap(({ from, to, shownEnd }) => [from, to, shownEnd ?? to]),
    ...happenings.flatMap(({ at, signedAt }) => [at, signedAt]),
    ...telling.times,
  ];
  const near = Array.from({ length: count }, () => {
    const boundary = boundaries[dice.upTo(boundaries.length - 1)] ?? begins;
    return boundary + dice.one(...OFFSETS);
  });
  const any = Array.from({ length: count }, () => dice.within(begins, last + 1));
  const later = Array.from({ length: Math.ceil(count / 2) }, () => last + dice.one(...LATER));
  const renewing = mayRenew === null ? [] : [dice.within(mayRenew.from, mayRenew.to)];
  return [...near, ...any, ...later, ...renewing, last + 1000 * DAY].filter(
    (moment) =>
      moment >= Math.max(begins, Math.min(...telling.times)) &&
      (moment < horizon || (mayRenew !== null && covers(mayRenew, moment)) || moment === last + 1000 * DAY),
  );
};

/** Judges a life that is told in one way at these moments. Findings that are not `untold` have their length. */
export const judged = (life: Life, telling: Telling, moments: readonly number[]): readonly Finding[] => {
  const findings: Finding[] = [];
  for (const moment of moments)
    for (const fault of faultsAt(moment, life, telling)) {
      if (findings.some((one) => isSame(one, fault) && one.from <= moment && moment <= one.to)) continue;
      const has = (at: number): boolean =>
        at >= life.begins && faultsAt(at, life, telling).some((one) => isSame(one, fault));
      const isShort = fault.cause === "untold";
      const from = isShort ? moment : reach(fault, moment, -1, has);
      const to = isShort ? moment : reach(fault, moment, 1, has);
      findings.push({ ...fault, from, to });
    }
  return findings;
};
