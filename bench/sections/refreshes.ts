import { MINUTE, SECOND } from "../../lib/duration.ts";
import { median } from "../../testing/support/metered/measuring.ts";
import { delaysOf, measureDrain, type DrainResult } from "../refreshes/drain.ts";
import { idleRuns, type IdleRun } from "../refreshes/idle.ts";
import { liveAll, type Life } from "../refreshes/lives.ts";
import { DUE_AFTER_END, drained, type Tenant } from "../refreshes/queues.ts";

/** Cost of refreshes, speed of draining a queue, and delays of other tenants. */
export interface RefreshesResult {
  readonly lives: readonly Life[];
  readonly idle: readonly IdleRun[];
  readonly drain: DrainResult;
  /** The worker alone, on queues in memory. */
  readonly paced: readonly PacedRow[];
  readonly tenants: readonly TenantRow[];
}

/** Ends of one application in one second, and how many who renewed were without access before their refresh. */
export interface PacedRow {
  readonly ends: number;
  readonly seconds: number;
  readonly withoutAccess: number;
}

/** Delays of the refreshes of the tenants that are neither rejected nor large. */
export interface TenantRow {
  readonly what: string;
  readonly refreshes: number;
  /** The most of them that a measured round had no time for. */
  readonly missed: number;
  /** Milliseconds in memory, where requests take assumed times, and measured on DynamoDB Local. */
  readonly paced: { readonly median: number; readonly worst: number };
  readonly measured: { readonly median: number; readonly worst: number };
}

const LEEWAY = 15 * MINUTE;
export const ENDS = 10_000;
const FEW = 5;

/** Drains this many ends of one second; the first run of the schedule comes a minute after they are due. */
export const pacedDrain = async (ends: number): Promise<PacedRow> => {
  const { refreshed } = await drained([{ due: ends }], { firstAfter: MINUTE });
  const delays = refreshed.map(({ delay }) => delay + DUE_AFTER_END);
  return {
    ends,
    seconds: delays.reduce((worst, delay) => Math.max(worst, delay), 0) / SECOND,
    withoutAccess: delays.filter((delay) => delay > LEEWAY).length,
  };
};

/** Maximum number of ends in one second that the leeway covers, to the nearest hundred. */
const mostEnds = async (): Promise<PacedRow> => {
  let [enough, tooMany] = [100, 600];
  while (tooMany - enough > 1) {
    const middle = Math.floor((enough + tooMany) / 2);
    if ((await pacedDrain(middle * 100)).withoutAccess === 0) enough = middle;
    else tooMany = middle;
  }
  return pacedDrain(enough * 100);
};

export const TENANTS = 100;
export const tenantsOf = (of: (index: number) => Tenant): Tenant[] =>
  Array.from({ length: TENANTS }, (_, index) => of(index));

export const summaryOf = (delays: readonly number[]) => ({
  median: median(delays),
  worst: delays.reduce((worst, delay) => Math.max(worst, delay), 0),
});

/** Delays of one run on queues in memory, of the tenants from a place on. */
export const pacedDelays = async (tenants: readonly Tenant[], from = 0): Promise<number[]> => {
  const { refreshed } = await drained(tenants, { invocations: 1 });
  return refreshed.filter(({ tenant }) => tenant >= from).map(({ delay }) => delay);
};

/** Due refreshes of the large tenant on DynamoDB Local: more than it is asked about meanwhile. */
const LARGE = 1000;
const LARGE_SECONDS = 20;
const ROUNDS = 3;

/** Delays in turn, so that changes in the machine's speed affect all rows: medians of the rounds. */
const tenantRows = async (): Promise<TenantRow[]> => {
  const even = Array.from({ length: TENANTS }, () => FEW);
  const sides = [
    {
      what: "100 applications with 5 due refreshes each",
      paced: await pacedDelays(tenantsOf(() => ({ due: FEW }))),
      measure: async () => delaysOf(even),
    },
    {
      what: "the keys of 10 are rejected: the other 90",
      paced: await pacedDelays(tenantsOf((index) => ({ due: FEW, isRejected: index < 10 }))),
      measure: async () => delaysOf(even, { rejected: 10 }),
    },
    {
      what: "one has 10,000 due refreshes: the other 99",
      paced: await pacedDelays(
        tenantsOf((index) => ({ due: index === 0 ? ENDS : FEW })),
        1,
      ),
      measure: async () => delaysOf([LARGE, ...even.slice(1)], { leftOut: 1, seconds: LARGE_SECONDS }),
    },
  ].map((side) => ({ ...side, rounds: [] as (readonly number[])[] }));
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { rounds, measure } of sides) rounds.push(await measure());
  return sides.map(({ what, paced, rounds }) => {
    const summaries = rounds.map(summaryOf);
    return {
      what,
      refreshes: paced.length,
      missed: rounds.map(({ length }) => paced.length - length).reduce((most, one) => Math.max(most, one), 0),
      paced: summaryOf(paced),
      measured: {
        median: median(summaries.map((one) => one.median)),
        worst: median(summaries.map((one) => one.worst)),
      },
    };
  });
};

export const measureRefreshes = async (): Promise<RefreshesResult> => ({
  tenants: await tenantRows(),
  paced: [await pacedDrain(ENDS), await mostEnds(), await pacedDrain(3 * ENDS)],
  lives: await liveAll(),
  idle: await idleRuns(),
  drain: await measureDrain(ENDS),
});
