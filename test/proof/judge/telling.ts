import { DAY, HOUR, MINUTE, SECOND } from "../../../lib/duration.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import type { Dice } from "../dice.ts";
import { covers, type Fact, type Happening, type Life } from "./life.ts";

/** A part of what happened, which has not come by a moment. */
export interface Missing {
  readonly happening: Happening;
  readonly part: "fact" | "statement";
}

/** How the service hears of a life. */
export interface Telling {
  /** When something comes. */
  readonly times: readonly number[];
  readonly receivedBy: (moment: number) => readonly Fact[];
  readonly missingAt: (moment: number) => readonly Missing[];
  /** Ends of periods that renewal infos have named by a moment. */
  readonly namedBy: (moment: number) => ReadonlySet<number>;
}

interface Delivery {
  readonly at: number;
  readonly facts: readonly Fact[];
  readonly named?: number;
}

const tellingOf = (deliveries: readonly Delivery[], missingAt: Telling["missingAt"]): Telling => {
  const comeBy = (moment: number): readonly Delivery[] => deliveries.filter(({ at }) => at <= moment);
  return {
    times: deliveries.map(({ at }) => at),
    receivedBy: (moment) => comeBy(moment).flatMap(({ facts }) => facts),
    namedBy: (moment) => new Set(comeBy(moment).flatMap(({ named }) => named ?? [])),
    missingAt,
  };
};

interface Losses {
  /** Probability that a transaction, a renewal info, or both of a happening never come. */
  readonly fact?: number;
  readonly statement?: number;
  readonly both?: number;
  /** Longest delay of one that comes. */
  readonly delay: number;
}

/** A happening, and which parts of it come when. */
interface News {
  readonly happening: Happening;
  readonly at: number;
  readonly fact: boolean;
  readonly statement: Happening["statement"];
}

const newsOf = (
  life: Life,
  dice: Dice,
  { fact = 0, statement = 0, both = 0, delay }: Losses,
): readonly News[] =>
  life.happenings
    .filter(({ what }) => what !== "silent")
    .map((happening) => {
      const isLost = dice.chance(both);
      return {
        happening,
        at: happening.signedAt + dice.number(delay),
        fact: !isLost && !dice.chance(fact),
        statement: isLost || dice.chance(statement) ? null : happening.statement,
      };
    });

const deliveryOf = ({ happening, at, fact, statement }: News): Delivery => ({
  at,
  facts: [...(fact ? [happening.factAt(at)] : []), ...(statement === null ? [] : [statement.fact])],
  ...(statement !== null && { named: statement.endsAt }),
});

const partsOf = (happening: Happening): Missing[] => [
  { happening, part: "fact" },
  ...(happening.statement === null ? [] : [{ happening, part: "statement" as const }]),
];

/** Parts of happenings that have not come: a snapshot that came later has told them. */
const missingIn = (news: readonly News[], life: Life, moment: number): readonly Missing[] => {
  const come = news.filter(({ at }) => at <= moment);
  const isToldSince = ({ id, at }: Happening): boolean =>
    life.isSnapshot && come.some((one) => one.fact && one.happening.id === id && one.at >= at);
  return life.happenings
    .filter((one) => one.at <= moment && one.what !== "copy" && !isToldSince(one))
    .flatMap((happening) => {
      const of = come.find((one) => one.happening === happening);
      return partsOf(happening).filter(({ part }) =>
        part === "fact" ? of?.fact !== true : (of?.statement ?? null) === null,
      );
    });
};

/** What happens is told when it happens, and parts of that are lost. The order in which facts come does not matter. */
const byNews = (life: Life, dice: Dice, losses: Losses): Telling => {
  const news = newsOf(life, dice, losses);
  const shuffled = news
    .map((one) => ({ one, rank: dice.number(1_000_000) }))
    .toSorted((a, b) => a.rank - b.rank);
  return tellingOf(
    shuffled.map(({ one }) => deliveryOf(one)),
    (moment) => missingIn(news, life, moment),
  );
};

const lastBefore = (times: readonly number[], moment: number): number =>
  times.findLast((at) => at <= moment) ?? -Infinity;

/** The service asks the store at these times. */
const byAnswers = (life: Life, times: readonly number[]): Telling =>
  tellingOf(
    times.map((at) => ({ at, facts: life.answerAt(at) })),
    (moment) =>
      life.happenings
        .filter(({ what, at }) => what !== "copy" && at <= moment)
        .filter(({ signedAt }) => signedAt > lastBefore(times, moment))
        .flatMap(partsOf),
  );

/** An app synchronizes at these times what it holds: with `revoked`, also what no longer entitles. */
const byApp = (life: Life, times: readonly number[], revoked: boolean): Telling => {
  const deliveries = times.map((at): Delivery => ({ at, facts: life.heldAt(at, revoked) }));
  const heldOf = (id: string, moment: number): readonly number[] =>
    deliveries
      .filter((one) => one.at <= moment && one.facts.some((fact) => fact.id === id))
      .map(({ at }) => at);
  /** Whether a renewal info is about a period that the app may never have held. */
  const isNamed = ({ factAt, at }: Happening, moment: number): boolean => {
    const ends = new Set(factAt(at).purchases.flatMap(({ lines }) => lines.map(({ endsAt }) => endsAt)));
    return deliveries
      .filter((one) => one.at <= moment)
      .flatMap(({ facts }) => facts.flatMap(({ purchases }) => purchases))
      .some(({ renewal }) => renewal !== null && ends.has(renewal.periodEndsAt));
  };
  /** A refund is told where the app holds it. It matters to nobody if nothing told of what is refunded. */
  const isTold = (happening: Happening, moment: number): boolean => {
    const held = heldOf(happening.id, moment);
    if (happening.what !== "refund" || held.some((one) => one >= happening.signedAt)) return true;
    return held.length === 0 && !isNamed(happening, moment);
  };
  /** An app holds the latest period alone, which may be charged ahead: nothing tells of the one that runs. */
  const runsUnheld = ({ id }: Happening, moment: number): boolean =>
    heldOf(id, moment).length === 0 &&
    life.truth.some((span) => span.id === id && span.kind === "paid" && covers(span, moment));
  return tellingOf(deliveries, (moment) =>
    life.happenings
      .filter(({ what, at }) => what !== "copy" && at <= moment)
      .filter(
        (one) => one.signedAt > lastBefore(times, moment) || !isTold(one, moment) || runsUnheld(one, moment),
      )
      .flatMap(partsOf),
  );
};

/** Some times from a life's begin to a month after its end, in order. */
const someTimes = ({ last }: Life, dice: Dice): readonly number[] =>
  Array.from({ length: 1 + dice.number(10) }, () => dice.within(NOW, last + 30 * DAY)).toSorted(
    (a, b) => a - b,
  );

const daily = ({ last }: Life): readonly number[] =>
  Array.from({ length: Math.ceil((last + 10 * DAY - NOW) / DAY) }, (_, day) => NOW + day * DAY + MINUTE);

const soonAfter = ({ happenings }: Life, dice: Dice): readonly number[] =>
  happenings.map(({ at }) => at + dice.number(HOUR)).toSorted((a, b) => a - b);

const SOON = { delay: 10 * SECOND } as const;

/** The ways in which a life is told. */
export const WAYS = {
  notifications: (life, dice) => byNews(life, dice, SOON),
  "half of the renewal infos lost": (life, dice) => byNews(life, dice, { ...SOON, statement: 0.5 }),
  "a quarter of the transactions lost": (life, dice) => byNews(life, dice, { ...SOON, fact: 0.25 }),
  "a quarter lost, late": (life, dice) => byNews(life, dice, { both: 0.25, delay: HOUR }),
  "app, current entitlements": (life, dice) => byApp(life, someTimes(life, dice), false),
  "app, statuses": (life, dice) => byApp(life, someTimes(life, dice), true),
  "store's answers": (life, dice) => byAnswers(life, someTimes(life, dice)),
  "store's answers, daily": (life) => byAnswers(life, daily(life)),
  "store's answers, soon": (life, dice) => byAnswers(life, soonAfter(life, dice)),
} as const satisfies Record<string, (life: Life, dice: Dice) => Telling>;
export type Way = keyof typeof WAYS;
