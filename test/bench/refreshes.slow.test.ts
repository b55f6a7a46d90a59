import { liveAll, type Life } from "../../bench/refreshes/lives.ts";
import { drained } from "../../bench/refreshes/queues.ts";
import { idleRuns } from "../../bench/refreshes/idle.ts";
import {
  ENDS,
  pacedDelays,
  pacedDrain,
  summaryOf,
  TENANTS,
  tenantsOf,
} from "../../bench/sections/refreshes.ts";

/** Counts and paces of refreshes that are the same on every machine. */

const SECOND = 1000;

describe("a monthly subscription", () => {
  let lives: readonly Life[];
  beforeAll(async () => {
    const outcomes = new Set(["renewed", "canceled", "recovered in grace"]);
    lives = await liveAll(({ plan, outcome }) => plan === "monthly" && outcomes.has(outcome));
  });

  test.each<
    [store: Life["store"], isNotified: boolean, outcome: Life["outcome"], refreshes: Life["refreshes"]]
  >([
    ["ios-store", false, "renewed", { renewal: 1 }],
    ["ios-store", true, "renewed", {}],
    ["ios-store", false, "canceled", { renewal: 5 }],
    ["ios-store", true, "canceled", { renewal: 5 }],
    ["ios-store", false, "recovered in grace", { renewal: 9 }],
    ["ios-store", true, "recovered in grace", { renewal: 8 }],
    ["android-store", false, "renewed", { renewal: 1 }],
    ["android-store", true, "renewed", {}],
    ["android-store", false, "canceled", { renewal: 5 }],
    ["android-store", true, "canceled", { renewal: 4 }],
    ["android-store", false, "recovered in grace", { renewal: 3 }],
    ["android-store", true, "recovered in grace", { renewal: 1 }],
  ])("of %s, notified: %s, %s, is refreshed so often", (store, isNotified, outcome, refreshes) => {
    const life = lives.find(
      (one) => one.store === store && one.isNotified === isNotified && one.outcome === outcome,
    );
    expect(life?.refreshes).toEqual(refreshes);
    const count = Object.values(refreshes).reduce((total, one) => total + one, 0);
    expect(life?.storeRequests).toBe(count);
  });
  test.each([
    // The purchase, its identity, itself again, and the customer; Android reads the purchase once and has no other identity.
    ["ios-store", 1, 3, 4],
    ["android-store", 1, 2, 2],
  ])("of %s costs so much for each of its %i refreshes", (store, count, reads, readUnits) => {
    const life = lives.find((one) => one.store === store && one.outcome === "renewed" && !one.isNotified);
    // Customer, account, purchase, and the refresh before and after, each twice.
    expect(life?.refreshing).toEqual({
      requests: { BatchGetItem: count * reads, TransactWriteItems: count },
      readUnits: count * readUnits,
      writeUnits: count * 10,
    });
    expect(life?.running).toEqual({
      requests: { Query: count * 6, UpdateItem: count * 2 },
      readUnits: count * 6,
      writeUnits: count * 2,
    });
  });
});

test("a run without work costs one Query for each queue", async () => {
  const runs = (await idleRuns()).filter(({ schedule }) => schedule === "refreshes");
  expect(runs.map(({ applications, consumption }) => [applications, consumption.requests])).toEqual([
    [1, { Query: 4 }],
    [1, { Query: 4 }],
    [10, { Query: 31 }],
    [10, { Query: 31 }],
  ]);
});

describe("many ends of one application in one second", () => {
  test("are all refreshed while the leeway lasts, up to 20,000 of them", async () => {
    expect(await pacedDrain(ENDS)).toMatchObject({ withoutAccess: 0 });
    expect(await pacedDrain(2 * ENDS)).toMatchObject({ withoutAccess: 0 });
    expect((await pacedDrain(3 * ENDS)).withoutAccess).toBeGreaterThan(0);
  });
  test("are asked about at most 30 times in any second", async () => {
    const { refreshed } = await drained([{ due: 1000 }]);
    const times = refreshed.map(({ delay }) => delay);
    expect(times.every((time, index) => time - (times[index - 30] ?? -SECOND) >= SECOND)).toBe(true);
  });
  test("take one lease for each turn", async () => {
    const { requests } = await drained([{ due: 1000 }], { invocations: 1 });
    expect(requests).toMatchObject({ take: 4, release: 4 });
  });
});

describe("a hundred applications", () => {
  const few = { due: 5 };

  test("are not delayed by ten rejected keys", async () => {
    const healthy = summaryOf(await pacedDelays(tenantsOf(() => few)));
    const beside = await pacedDelays(tenantsOf((index) => ({ ...few, isRejected: index < 10 })));
    expect(beside).toHaveLength((TENANTS - 10) * few.due);
    expect(summaryOf(beside).worst).toBeLessThanOrEqual(healthy.worst);
  });
  test("are not delayed by one of them that has 10,000", async () => {
    const healthy = summaryOf(await pacedDelays(tenantsOf(() => few)));
    const beside = await pacedDelays(
      tenantsOf((index) => (index === 0 ? { due: ENDS } : few)),
      1,
    );
    expect(beside).toHaveLength((TENANTS - 1) * few.due);
    expect(summaryOf(beside).worst - healthy.worst).toBeLessThan(SECOND);
  });
  test("wait a turn at most where ten of them have 10,000", async () => {
    const healthy = summaryOf(await pacedDelays(tenantsOf(() => few)));
    const beside = await pacedDelays(
      tenantsOf((index) => (index < 10 ? { due: ENDS } : few)),
      10,
    );
    expect(beside).toHaveLength((TENANTS - 10) * few.due);
    expect(summaryOf(beside).worst - healthy.worst).toBeLessThanOrEqual(11 * SECOND);
  });
});
