import { median } from "../measure.ts";
import { delaysOf, measureDrain, type DrainResult } from "../refreshes/drain.ts";
import { idleRuns, type IdleRun } from "../refreshes/idle.ts";
import { liveAll, type Life } from "../refreshes/lives.ts";
import { DUE_AFTER_END, drained, type Tenant } from "../refreshes/queues.ts";

/** What refreshes cost, how fast a queue is worked off, and whom it delays. */
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
  /** Milliseconds in memory, where requests take assumed times, and measured on DynamoDB Local. */
  readonly paced: { readonly median: number; readonly worst: number };
  readonly measured: { readonly median: number; readonly worst: number };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
export const LEEWAY = 15 * MINUTE;
export const ENDS = 10_000;
const FEW = 5;

/** Works off so many ends of one second; the first run of the schedule comes a minute after they are due. */
export const pacedDrain = async (ends: number): Promise<PacedRow> => {
  const { refreshed } = await drained([{ due: ends }], { firstAfter: MINUTE });
  const delays = refreshed.map(({ delay }) => delay + DUE_AFTER_END);
  return {
    ends,
    seconds: delays.reduce((worst, delay) => Math.max(worst, delay), 0) / SECOND,
    withoutAccess: delays.filter((delay) => delay > LEEWAY).length,
  };
};

/** The most ends of one second, to a hundred, that the leeway has time for. */
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

/** Due refreshes of the large tenant on DynamoDB Local: more than a turn takes. */
const LARGE = 1000;

const tenantRows = async (): Promise<TenantRow[]> => {
  const even = Array.from({ length: TENANTS }, () => FEW);
  const row = (what: string, paced: readonly number[], measured: readonly number[]): TenantRow => ({
    what,
    refreshes: measured.length,
    paced: summaryOf(paced),
    measured: summaryOf(measured),
  });
  return [
    row(
      "100 tenants with 5 due refreshes each",
      await pacedDelays(tenantsOf(() => ({ due: FEW }))),
      await delaysOf(even),
    ),
    row(
      "the keys of 10 are rejected: the other 90",
      await pacedDelays(tenantsOf((index) => ({ due: FEW, isRejected: index < 10 }))),
      await delaysOf(even, { rejected: 10 }),
    ),
    row(
      "one has 10,000 due refreshes: the other 99",
      await pacedDelays(
        tenantsOf((index) => ({ due: index === 0 ? ENDS : FEW })),
        1,
      ),
      await delaysOf([LARGE, ...even.slice(1)], { leftOut: 1, seconds: 10 }),
    ),
  ];
};

export const measureRefreshes = async (): Promise<RefreshesResult> => ({
  tenants: await tenantRows(),
  paced: [await pacedDrain(ENDS), await mostEnds(), await pacedDrain(3 * ENDS)],
  lives: await liveAll(),
  idle: await idleRuns(),
  drain: await measureDrain(ENDS),
});
