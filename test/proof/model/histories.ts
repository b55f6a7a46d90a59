import fc from "fast-check";
import { DAY } from "../../../testing/support/stores/purchases.ts";
import { appleAccounts, type AppleAccount } from "./histories/apple.ts";
import { END, MINUTE } from "./histories/choices.ts";
import { androidFacts } from "./histories/google.ts";
import type { StatedRenewalInfo } from "../../../lib/stores/ios-store/payloads.ts";
import { endsOf, type AndroidFact, type Fact } from "./stated-facts.ts";

/** Everything the stores say about a few persons. A failing history shrinks to the choices that matter. */
export interface History {
  readonly apple: readonly AppleAccount[];
  readonly android: readonly AndroidFact[];
}

export const historiesOf = (people: number): fc.Arbitrary<History> =>
  fc.record({ apple: appleAccounts(people), android: androidFacts(people + 1) });

export const histories = historiesOf(3);

export const factsOf = ({ apple, android }: History): Fact[] => [
  ...apple.flatMap(({ facts }) => facts),
  ...android,
];

export const renewalsIn = ({ apple }: History): StatedRenewalInfo[] =>
  apple.flatMap(({ renewals }) => renewals);

export const LEEWAYS = [0, 15 * MINUTE, DAY] as const;

/** Moments at which an answer could change. */
const boundariesOf = (fact: Fact): readonly (number | null)[] => {
  const after = (moment: number | null, times: readonly number[]) =>
    moment === null ? [] : times.map((time) => moment + time);
  if (fact.store === "ios-store") {
    const { purchaseDate, signedAt, expiresDate, revocationDate, originalPurchaseDate } = fact;
    const ahead = signedAt < purchaseDate ? after(signedAt, [-MINUTE, 0]) : [];
    return [
      ...after(purchaseDate, [-MINUTE, 0, 3 * DAY]),
      ...ahead,
      expiresDate,
      ...after(revocationDate, [0, DAY]),
      ...after(originalPurchaseDate, [DAY]),
    ];
  }
  const timeOf = (text: string | null | undefined): number | null => (text == null ? null : Date.parse(text));
  if (fact.kind === "one-time")
    return after(timeOf(fact.answer.purchaseCompletionTime), [0, 2 * DAY, 4 * DAY]);
  return [timeOf(fact.answer.startTime), ...endsOf(fact).flatMap((end) => after(end, [...LEEWAYS, 2 * DAY]))];
};

/** Boundaries of the facts and renewal infos, and the moments around each: `limit` at most, others for other facts. */
export const moments = (
  facts: readonly Fact[],
  limit: number,
  renewals: readonly StatedRenewalInfo[] = [],
): number[] => {
  const ofRenewals = renewals.flatMap(({ gracePeriodExpiresDate, renewalDate }) => [
    gracePeriodExpiresDate,
    ...(renewalDate === null ? [] : [0, ...LEEWAYS, 28 * DAY, 60 * DAY].map((later) => renewalDate + later)),
  ]);
  const around = [...facts.flatMap(boundariesOf), ...ofRenewals].flatMap((moment) =>
    moment === null ? [] : [moment - 1, moment, moment + 1],
  );
  const all = [...new Set(around)].sort((a, b) => a - b);
  const step = Math.max(1, all.length / limit);
  const first = all.reduce((sum, moment) => sum + moment, 0) % step;
  const some = all.filter(
    (_, index) => Math.floor((index - first) / step) > Math.floor((index - 1 - first) / step),
  );
  return [...some, END, END + 400 * DAY];
};
