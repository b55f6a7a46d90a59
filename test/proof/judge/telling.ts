import { DAY, HOUR, MINUTE, SECOND } from "../../../lib/duration.ts";
import type { Purchase } from "./core.ts";
import type { Dice } from "./dice.ts";
import { covers, type Fact, type Happening, type Life } from "./life.ts";

/** A part of what happened, which has not come by a moment. */
export interface Missing {
  readonly happening: Happening;
  readonly part: "fact" | "statement";
}

/** What has come by a moment. */
export interface Received {
  readonly purchases: readonly Purchase[];
  /** Transaction ids or tokens of which something has come, and those that came with their mark. */
  readonly ids: ReadonlySet<string>;
  readonly marked: ReadonlySet<string>;
}

/** How the service hears of a life. */
export interface Telling {
  readonly way: string;
  /** When something comes. */
  readonly times: readonly number[];
  readonly receivedBy: (moment: number) => Received;
  readonly missingAt: (moment: number) => readonly Missing[];
  /** Ends of periods that renewal infos have named by a moment. */
  readonly namedBy: (moment: number) => ReadonlySet<number>;
}

interface Delivery {
  readonly at: number;
  readonly facts: readonly Fact[];
  readonly named: number | null;
}

const received = (deliveries: readonly Delivery[], moment: number): Received => {
  const facts = deliveries.filter(({ at }) => at <= moment).flatMap((one) => one.facts);
  return {
    purchases: facts.flatMap(({ purchases }) => purchases),
    ids: new Set(facts.map(({ id }) => id)),
    marked: new Set(facts.filter(({ isMarked }) => isMarked).map(({ id }) => id)),
  };
};

const namedIn = (deliveries: readonly Delivery[], moment: number): ReadonlySet<number> =>
  new Set(deliveries.filter(({ at }) => at <= moment).flatMap(({ named }) => named ?? []));

export interface Losses {
  /** Probability that a transaction, a renewal info, or both of a happening never come. */
  readonly fact: number;
  readonly statement: number;
  readonly both: number;
  /** Longest delay of one that comes. */
  readonly delay: number;
}

/** In random order: the order in which facts come does not matter. */
const shuffled = <T>(of: readonly T[], dice: Dice): readonly T[] =>
  of
    .map((value) => ({ value, rank: dice.upTo(1_000_000) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ value }) => value);

/** A happening, and which parts of it come when. */
interface News {
  readonly happening: Happening;
  readonly at: number;
  readonly fact: boolean;
  readonly statement: boolean;
}

const newsOf = (life: Life, dice: Dice, losses: Losses): readonly News[] =>
  life.happenings
    .filter(({ what }) => what !== "silent")
    .map((happening) => {
      const isLost = dice.chance(losses.both);
      const at = happening.signedAt + dice.upTo(losses.delay);
      const fact = !isLost && !dice.chance(losses.fact);
      const statement = happening.statement !== null && !isLost && !dice.chance(losses.statement);
      return { happening, at, fact, statement };
    });

const deliveryOf = ({ happening, at, fact, statement }: News): Delivery => {
  const said = statement ? happening.statement : null;
  const info = said === null ? [] : [{ id: "", isMarked: false, purchases: said.purchases }];
  return { at, facts: [...(fact ? [happening.factAt(at)] : []), ...info], named: said?.endsAt ?? null };
};

/** Parts of happenings that have not come: a snapshot that came later has told them. */
const missingIn = (news: readonly News[], life: Life, moment: number): readonly Missing[] => {
  const come = news.filter(({ at, fact }) => fact && at <= moment);
  const isToldSince = ({ id, at }: Happening): boolean =>
    life.isSnapshot && come.some((one) => one.happening.id === id && one.at >= at);
  return life.happenings
    .filter((one) => one.at <= moment && one.what !== "copy" && !isToldSince(one))
    .flatMap((happening): Missing[] => {
      const of = news.find((one) => one.happening === happening && one.at <= moment);
      return [
        ...(of?.fact === true ? [] : [{ happening, part: "fact" as const }]),
        ...(happening.statement === null || of?.statement === true
          ? []
          : [{ happening, part: "statement" as const }]),
      ];
    });
};

/** What happens is told when it happens, and parts of that are lost. */
export const byNews = (way: string, life: Life, dice: Dice, losses: Losses): Telling => {
  const news = newsOf(life, dice, losses);
  const deliveries = shuffled(news, dice).map(deliveryOf);
  return {
    way,
    times: deliveries.map(({ at }) => at),
    receivedBy: (moment) => received(deliveries, moment),
    namedBy: (moment) => namedIn(deliveries, moment),
    missingAt: (moment) => missingIn(news, life, moment),
  };
};

const bothParts = (happening: Happening): Missing[] => [
  { happening, part: "fact" },
  ...(happening.statement === null ? [] : [{ happening, part: "statement" as const }]),
];

/** The service asks the store at these times. */
export const byAnswers = (way: string, life: Life, times: readonly number[]): Telling => {
  const deliveries = times.map((at): Delivery => ({ at, facts: life.answerAt(at), named: null }));
  return {
    way,
    times,
    receivedBy: (moment) => received(deliveries, moment),
    namedBy: () => new Set(),
    missingAt: (moment) => {
      const asked = times.findLast((at) => at <= moment) ?? -Infinity;
      return life.happenings
        .filter(({ what, at, signedAt }) => what !== "copy" && at <= moment && signedAt > asked)
        .flatMap(bothParts);
    },
  };
};

/** An app synchronizes at these times what it holds: with `revoked`, also what no longer entitles. */
export const byApp = (way: string, life: Life, times: readonly number[], revoked: boolean): Telling => {
  const deliveries = times.map((at): Delivery => ({ at, facts: life.heldAt(at, revoked), named: null }));
  const heldOf = (id: string, moment: number): readonly number[] =>
    deliveries
      .filter((one) => one.at <= moment && one.facts.some((fact) => fact.id === id))
      .map(({ at }) => at);
  /** A refund of what the app held once is told where it holds it again; otherwise it matters to nobody. */
  const isTold = ({ what, signedAt, id }: Happening, moment: number): boolean => {
    if (what !== "refund") return true;
    const held = heldOf(id, moment);
    return held.length === 0 || held.some((one) => one >= signedAt);
  };
  /** An app holds the latest period alone, which may be charged ahead: nothing tells of the one that runs. */
  const runsUnheld = ({ id }: Happening, moment: number): boolean =>
    heldOf(id, moment).length === 0 &&
    life.truth.some((span) => span.id === id && span.kind === "paid" && covers(span, moment));
  return {
    way,
    times,
    receivedBy: (moment) => received(deliveries, moment),
    namedBy: () => new Set(),
    missingAt: (moment) => {
      const sent = times.findLast((at) => at <= moment) ?? -Infinity;
      return life.happenings
        .filter(({ what, at }) => what !== "copy" && at <= moment)
        .filter((one) => one.signedAt > sent || !isTold(one, moment) || runsUnheld(one, moment))
        .flatMap(bothParts);
    },
  };
};

/** Times from a life's begin to some time after its end, in order. */
export const timesIn = (life: Life, dice: Dice, count: number, after = 30 * DAY): readonly number[] =>
  Array.from({ length: count }, () => dice.within(life.begins, life.last + after)).toSorted((a, b) => a - b);

const WHOLE: Losses = { fact: 0, statement: 0, both: 0, delay: 0 };

/** The ways in which a hostile life is told. */
export const hostileTellings = (life: Life, dice: Dice): readonly Telling[] => {
  const asked = timesIn(life, dice, 1 + dice.upTo(5));
  return [
    byNews("whole", life, dice, WHOLE),
    byNews("half of the renewal infos lost", life, dice, { ...WHOLE, statement: 0.5 }),
    byNews("a quarter of the transactions lost", life, dice, { ...WHOLE, fact: 0.25 }),
    byNews("a quarter of the notifications lost", life, dice, { ...WHOLE, both: 0.25, delay: HOUR }),
    byApp("app, current entitlements", life, asked, false),
    byApp("app, statuses", life, asked, true),
    byAnswers("store's answers", life, asked),
  ];
};

const daysOf = ({ begins, last }: Life): readonly number[] =>
  Array.from(
    { length: Math.ceil((last + 10 * DAY - begins) / DAY) },
    (_, day) => begins + day * DAY + MINUTE,
  );

/** The ways in which a life at realistic rates is told. */
export const realisticTellings = (life: Life, dice: Dice): readonly Telling[] => {
  const daily = daysOf(life);
  const opened = timesIn(life, dice, 1 + dice.upTo(Math.min(40, daily.length)), 10 * DAY);
  return [
    byNews("notifications", life, dice, { ...WHOLE, delay: 10 * SECOND }),
    byNews("notifications, 1 % lost, late", life, dice, { ...WHOLE, both: 0.01, delay: HOUR }),
    byApp("app, current entitlements", life, opened, false),
    byApp("app, statuses", life, opened, true),
    byAnswers("store's answers, daily", life, daily),
  ];
};

/** The ways in which a life of Google's tokens is told. */
export const googleTellings = (life: Life, dice: Dice): readonly Telling[] => [
  byNews("notifications", life, dice, { ...WHOLE, delay: 10 * SECOND }),
  byNews("a quarter of the notifications lost, late", life, dice, { ...WHOLE, both: 0.25, delay: HOUR }),
  byAnswers("store's answers", life, timesIn(life, dice, 1 + dice.upTo(20), 10 * DAY)),
  byAnswers("store's answers, daily", life, daysOf(life)),
];

/** The ways in which passes are told. */
export const passTellings = (life: Life, dice: Dice): readonly Telling[] => [
  byNews("notifications", life, dice, { ...WHOLE, delay: 10 * SECOND }),
  byAnswers(
    "store's answers, soon",
    life,
    life.happenings.map(({ at }) => at + dice.upTo(HOUR)).toSorted((a, b) => a - b),
  ),
];

/** Ways in which something is never told. */
export const lossTellings = (life: Life, dice: Dice): readonly Telling[] => [
  byNews("a quarter of the notifications lost, late", life, dice, { ...WHOLE, both: 0.25, delay: HOUR }),
  byAnswers("store's answers, few", life, timesIn(life, dice, 1 + dice.upTo(3))),
];
