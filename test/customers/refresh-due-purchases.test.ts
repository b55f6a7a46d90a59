import { refreshDuePurchases, type RefreshReport } from "../../lib/customers/refresh-due-purchases.ts";
import { LEASE_MILLISECONDS, type RefreshRun } from "../../lib/customers/refresh-queue-turn.ts";
import type { RefreshOutcome } from "../../lib/customers/refresh-outcome.ts";
import { createCustomerTable } from "../../lib/table/customers.ts";
import { createRefreshQueue } from "../../lib/table/refreshes.ts";
import { accountId, purchaseKey } from "../../lib/identifiers.ts";
import { assertInvariants } from "../../testing/support/invariants.ts";
import { BUNDLE } from "../../testing/support/ios-store.ts";
import { aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";
import type { TestTable } from "../../testing/support/table.ts";
import { createUseCaseTable } from "../../testing/support/use-case-table.ts";
import { aName, createRefreshing, fromApple, queuedOf, recordedOf, type Refreshing } from "./refreshing.ts";
import { owned } from "../../testing/support/world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const DOWN: RefreshOutcome = { outcome: "unavailable", retryAt: null };
const REJECTED: RefreshOutcome = { outcome: "credential-rejected" };

let table: TestTable;
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterAll(async () => {
  await assertInvariants(table);
  await table.remove();
});

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

/** An application with so many subscriptions that have ended, a minute ago unless a test says otherwise. */
const ended = async (count: number, endsAt = NOW - MINUTE) => {
  const refreshing = createRefreshing(table);
  for (const key of names(count)) await refreshing.hold(key, endsAt);
  return refreshing;
};

/** Runs every minute, as the schedule does. */
const runEveryMinute = async (
  refreshing: Refreshing,
  minutes: number,
  changes: Partial<RefreshRun> = {},
): Promise<readonly RefreshReport[]> => {
  const reports: RefreshReport[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    const next = refreshing.clock.now + MINUTE;
    reports.push(await refreshing.run(changes, 0.5));
    refreshing.clock.now = Math.max(next, refreshing.clock.now);
  }
  return reports;
};

describe("a run", () => {
  test("asks about what is due, oldest first, and moves it with the answer", async () => {
    const refreshing = createRefreshing(table);
    await refreshing.hold("1", NOW - MINUTE);
    await refreshing.hold("2", NOW - HOUR);
    await refreshing.hold("3", NOW + HOUR);
    const report = await refreshing.run();
    expect(refreshing.asked.map(({ key }) => key)).toEqual(["2", "1"]);
    expect(report).toEqual({ refreshed: 2, failed: 0, oldest: 0, paused: [] });
    const due = await queuedOf(refreshing.world);
    expect(Object.values(due).every((at) => at > refreshing.clock.now)).toBe(true);
    expect(await recordedOf(refreshing.world)).toEqual(due);
  });
  test("asks at most 30 times a second", async () => {
    const refreshing = await ended(70);
    await refreshing.run();
    const seconds = Map.groupBy(refreshing.asked, ({ at }) => at);
    expect([...seconds.values()].map(({ length }) => length)).toEqual([30, 30, 10]);
    const times = [...seconds.keys()];
    expect(times.every((at, index) => index === 0 || at - (times[index - 1] ?? 0) >= SECOND)).toBe(true);
  });
  test("asks the sandbox at most 3 times a second, and production is not held up by it", async () => {
    const refreshing = createRefreshing(table);
    for (const key of names(7)) await refreshing.hold(key, NOW - HOUR, [], "sandbox");
    await refreshing.hold("live", NOW - MINUTE);
    await refreshing.run();
    expect(refreshing.asked.filter(({ at }) => at === NOW).map(({ key }) => key)).toContain("live");
    const tests = refreshing.asked.filter(({ key }) => key !== "live");
    const seconds = Map.groupBy(tests, ({ at }) => at);
    expect([...seconds.values()].map(({ length }) => length)).toEqual([3, 3, 1]);
  });
  test("starts nothing more once its time is up, and tells the age of what is left", async () => {
    const refreshing = await ended(40);
    const report = await refreshing.run({}, SECOND / MINUTE);
    expect(report).toMatchObject({ refreshed: 30, paused: [] });
    expect(report.oldest).toBeGreaterThanOrEqual(MINUTE - 5 * SECOND);
    expect(await refreshing.run()).toMatchObject({ refreshed: 10, oldest: 0 });
  });
  test("gives other applications their turns", async () => {
    const [large, ...small] = [aName(), aName(), aName()];
    const refreshing = createRefreshing(table, [large, ...small]);
    for (const key of names(40)) await refreshing.hold(key, NOW - HOUR, [large]);
    for (const application of small) await refreshing.hold("1", NOW - MINUTE, [application]);
    await refreshing.run();
    expect(new Set(refreshing.asked.map(({ application }) => application)).size).toBe(3);
  });
});

describe("an answer", () => {
  test("without news moves the refresh to its next step", async () => {
    const refreshing = await ended(1);
    refreshing.answering(({ purchase }) => owned(purchase.key, { endsAt: NOW - MINUTE, verifiedAt: NOW }));
    await refreshing.run();
    expect(refreshing.asked).toHaveLength(1);
    expect(await queuedOf(refreshing.world)).toEqual({ 0: NOW + MINUTE });
  });
  test("that does not hold the purchase is asked for again at its next step", async () => {
    const refreshing = await ended(1);
    refreshing.answering(() => ({ outcome: "stored" }));
    await refreshing.run();
    expect(refreshing.asked).toHaveLength(1);
    expect(await queuedOf(refreshing.world)).toEqual({ 0: NOW + MINUTE });
  });
  test("that the store knows nothing of it is asked for again at its next step", async () => {
    const refreshing = await ended(1);
    refreshing.answering(() => ({ outcome: "unknown" }));
    expect(await refreshing.run()).toEqual({ refreshed: 1, failed: 0, oldest: 0, paused: [] });
    expect(await queuedOf(refreshing.world)).toEqual({ 0: NOW + MINUTE });
    refreshing.clock.now += MINUTE;
    refreshing.answering();
    await refreshing.run();
    expect(Object.values(await queuedOf(refreshing.world))).toEqual([expect.any(Number)]);
  });
  test("that the store has dropped it removes the refresh", async () => {
    const refreshing = await ended(1);
    refreshing.answering(() => ({ outcome: "over" }));
    expect(await refreshing.run()).toMatchObject({ refreshed: 1, failed: 0 });
    expect(await queuedOf(refreshing.world)).toEqual({});
    expect(await recordedOf(refreshing.world)).toEqual({});
  });
  test.each<[what: string, outcome: RefreshOutcome]>([
    ["that cannot be used", { outcome: "failed" }],
    ["that does not come", DOWN],
    ["that its own credential is rejected", REJECTED],
  ])("%s, among answers, moves only that refresh on", async (_, outcome) => {
    const refreshing = await ended(3);
    refreshing.answering((due, moment) =>
      due.purchase.key === "1"
        ? outcome
        : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    expect(await refreshing.run()).toEqual({ refreshed: 2, failed: 1, oldest: 0, paused: [] });
    expect(await queuedOf(refreshing.world)).toMatchObject({ 1: NOW + MINUTE });
  });
  test.each<[what: string, outcome: RefreshOutcome]>([
    ["that the store does not know it", { outcome: "unknown" }],
    ["that cannot be used", { outcome: "failed" }],
    ["that it is refused", { outcome: "unavailable", retryAt: null, isOfThisPurchase: true }],
  ])("%s leaves the further time that a notification asked for", async (_, outcome) => {
    const refreshing = createRefreshing(table);
    const endsAt = NOW + 30 * DAY;
    const source = {
      store: "android-store",
      packageName: "com.example.trails",
      purchaseToken: "token",
      productKind: "subscription",
    } as const;
    await refreshing.world.store({
      environment: "production",
      purchases: [{ ...owned("1", { endsAt, verifiedAt: NOW }), store: "android-store" }],
      origin: { source, canRefresh: true, askedAt: null, askAgainAt: [NOW + MINUTE, NOW + 10 * MINUTE] },
    });
    expect(await queuedOf(refreshing.world)).toEqual({ 1: NOW + MINUTE });
    refreshing.clock.now = NOW + MINUTE;
    await refreshing.run({ store: "android-store", ask: () => Promise.resolve(outcome) });
    expect(await queuedOf(refreshing.world)).toEqual({ 1: NOW + 10 * MINUTE });
    refreshing.clock.now = NOW + 10 * MINUTE;
    await refreshing.run({ store: "android-store", ask: () => Promise.resolve(outcome) });
    expect((await queuedOf(refreshing.world))["1"]).toBeGreaterThan(NOW + DAY);
  });
  test("of this service's own failure moves only that refresh on, and is reported", async () => {
    const refreshing = await ended(2);
    const failure = new Error("The table is full.");
    refreshing.answering((due, moment) => {
      if (due.purchase.key === "1") throw failure;
      return owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment });
    });
    expect(await refreshing.run()).toMatchObject({ refreshed: 1, failed: 1 });
    expect(refreshing.failures).toEqual([failure]);
  });
  test.each<[what: string, outcome: RefreshOutcome]>([
    ["that the store knows nothing of it", { outcome: "unknown" }],
    ["that cannot be used", { outcome: "failed" }],
    ["that does not come", DOWN],
    ["that is not stored", { outcome: "unstored" }],
  ])("%s, is asked for every five minutes while the renewal may be late", async (_, outcome) => {
    const refreshing = createRefreshing(table);
    await refreshing.hold("late", NOW);
    await refreshing.hold("other", NOW);
    refreshing.answering((due, moment) =>
      due.purchase.key === "late"
        ? outcome
        : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    refreshing.clock.now = NOW + 10 * MINUTE;
    await refreshing.run();
    expect(await queuedOf(refreshing.world)).toMatchObject({ late: NOW + 15 * MINUTE });
  });
  test.each<[what: string, outcome: RefreshOutcome, step: number]>([
    ["that the store knows nothing of it, at its next step", { outcome: "unknown" }, 5 * HOUR],
    ["that cannot be used, at its next step", { outcome: "failed" }, 5 * HOUR],
    ["of an app without a key, at its next step", { outcome: "unconfigured" }, 5 * HOUR],
    ["that does not come, as often for a day", DOWN, 5 * MINUTE],
    ["that is not stored, as often for a day", { outcome: "unstored" }, 5 * MINUTE],
  ])("%s, an hour after the end is asked for", async (_, outcome, step) => {
    const refreshing = createRefreshing(table);
    await refreshing.hold("late", NOW);
    await refreshing.hold("other", NOW + 58 * MINUTE);
    refreshing.answering((due, moment) =>
      due.purchase.key === "late"
        ? outcome
        : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    refreshing.clock.now = NOW + HOUR;
    await refreshing.run();
    expect(await queuedOf(refreshing.world)).toMatchObject({ late: NOW + HOUR + step });
  });
  test("that this service failed to store is asked for within the hour, not at the next step", async () => {
    const refreshing = createRefreshing(table);
    const { world } = refreshing;
    const lifetime = { nature: "non_consumable", startsAt: NOW - 30 * DAY, endsAt: null } as const;
    await world.at(NOW - 8 * DAY).store({
      purchases: [owned("1", { ...lifetime, verifiedAt: NOW - 8 * DAY })],
      origin: fromApple(),
    });
    expect(await queuedOf(world)).toEqual({ 1: NOW });
    refreshing.answering(() => {
      throw new Error("The table is throttled.");
    });
    await refreshing.run();
    expect(await queuedOf(world)).toEqual({ 1: NOW + HOUR });
    refreshing.clock.now = NOW + HOUR;
    refreshing.answering(() => ({ outcome: "failed" }));
    await refreshing.run();
    expect(await queuedOf(world)).toEqual({ 1: NOW + 91 * DAY });
  });
  test("missing for the last question is asked for within the hour", async () => {
    const refreshing = createRefreshing(table);
    const { world } = refreshing;
    const end = NOW - 60 * DAY;
    await world.at(NOW - DAY).store({
      purchases: [
        {
          ...owned("1", { startsAt: end - 30 * DAY, endsAt: end, verifiedAt: NOW - DAY }),
          renewal: aRenewal({ periodEndsAt: end, isInBillingRetry: true, signedAt: NOW - DAY }),
        },
      ],
      origin: fromApple(),
    });
    expect(await queuedOf(world)).toEqual({ 1: NOW - 18 * HOUR });
    await refreshing.hold("other", NOW - MINUTE);
    refreshing.answering((due, moment) =>
      due.purchase.key === "1"
        ? DOWN
        : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    await refreshing.run();
    expect(await queuedOf(world)).toMatchObject({ 1: NOW + HOUR });
    refreshing.clock.now = NOW + HOUR;
    refreshing.answering((due, moment) =>
      owned(due.purchase.key, { startsAt: end - 30 * DAY, endsAt: end, verifiedAt: moment }),
    );
    await refreshing.run();
    expect(await queuedOf(world)).not.toHaveProperty("1");
  });
  test("that does not come to the last question of a pass is asked for no more, 60 days after it was last heard of", async () => {
    for (const [heard, next] of [
      [NOW - 60 * DAY, undefined],
      [NOW - 60 * DAY + 1, NOW + HOUR],
    ] as const) {
      const refreshing = createRefreshing(table);
      const { world } = refreshing;
      const pass = { nature: "non_renewing", startsAt: NOW - 400 * DAY, endsAt: null } as const;
      await world
        .at(heard)
        .store({ purchases: [owned("1", { ...pass, verifiedAt: heard })], origin: fromApple() });
      await refreshing.hold("other", NOW - MINUTE);
      refreshing.answering((due, moment) =>
        due.purchase.key === "1"
          ? DOWN
          : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
      );
      expect((await queuedOf(world))["1"]).toBe(heard < NOW - 49 * DAY ? NOW - 6 * DAY : NOW);
      await refreshing.run();
      expect((await queuedOf(world))["1"]).toBe(next);
    }
  });
  test("about an erased customer's purchase leaves no refresh", async () => {
    const refreshing = await ended(1);
    refreshing.answering(async ({ application, purchase }) => {
      const world = refreshing.worldOf(application);
      await world.erase(await world.store({ purchases: [owned(purchase.key)] }));
      return { outcome: "failed" };
    });
    await refreshing.run();
    expect(await queuedOf(refreshing.world)).toEqual({});
  });
});

describe("the age of what is left", () => {
  test("is that of a queue that cannot be worked off too", async () => {
    const refreshing = await ended(1, NOW - HOUR);
    const failure = new Error("The application is not of its shape.");
    const report = await refreshing.run({ directory: { byIdentifier: () => Promise.reject(failure) } });
    expect(report.oldest).toBeGreaterThan(50 * MINUTE);
    expect(refreshing.failures).toEqual([failure]);
  });
  test("is not that of a sandbox, on which no payer waits", async () => {
    const refreshing = createRefreshing(table);
    await refreshing.hold("test", NOW - HOUR, [], "sandbox");
    refreshing.answering(() => DOWN);
    expect(await refreshing.run()).toMatchObject({ oldest: 0, paused: [{ environment: "sandbox" }] });
  });
});

test("a purchase that cannot be read is put off, and does not hold up the others", async () => {
  const refreshing = await ended(31);
  const { findFacts } = refreshing.runOn(table).table;
  const unreadable = new Error("The item is not of its shape.");
  refreshing.answering(({ purchase }, moment) => {
    if (Number(purchase.key) < 30) throw unreadable;
    return owned(purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment });
  });
  const report = await refreshing.run({
    table: {
      findFacts: (application, identities, purchases, moment) =>
        purchases.some(({ key }) => Number(key) < 30)
          ? Promise.reject(unreadable)
          : findFacts(application, identities, purchases, moment),
    },
  });
  expect(report).toMatchObject({ refreshed: 1, failed: 30, oldest: 0 });
  expect(refreshing.asked).toHaveLength(31);
});

describe("a store that is down", () => {
  test("is asked less and less, and then about everything at once", async () => {
    const refreshing = await ended(40);
    refreshing.answering(() => DOWN);
    await runEveryMinute(refreshing, 30);
    const [first = [], ...others] = [...Map.groupBy(refreshing.asked, ({ at }) => at).values()];
    expect(first).toHaveLength(30);
    // A different one each time, and the newest.
    expect(others.every(({ length }) => length <= 2)).toBe(true);
    expect(new Set(others.flat().map(({ key }) => key)).size).toBe(1 + others.length);
    const times = others.map(([one]) => ((one?.at ?? 0) - NOW) / MINUTE);
    expect(times).toEqual([1, 2, 4, 8, 13, 18, 23, 28]);
    expect(Object.keys(await queuedOf(refreshing.world))).toHaveLength(40);

    refreshing.answering();
    const report = await refreshing.run({}, 20);
    expect(report).toMatchObject({ refreshed: 0, paused: [{ because: "unavailable", failingSince: NOW }] });
    expect(report.oldest).toBeGreaterThan(30 * MINUTE);
    refreshing.clock.now += 5 * MINUTE;
    const before = refreshing.clock.now;
    expect(await refreshing.run()).toEqual({ refreshed: 40, failed: 0, oldest: 0, paused: [] });
    expect(refreshing.clock.now - before).toBeLessThanOrEqual(3 * SECOND);
  });
  test("for one purchase alone holds up no other for longer than a pause", async () => {
    const refreshing = await ended(1);
    refreshing.answering((due, moment) =>
      due.purchase.key === "0"
        ? DOWN
        : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    await runEveryMinute(refreshing, 3);
    await refreshing.hold("late", refreshing.clock.now - MINUTE);
    const since = refreshing.clock.now;
    await runEveryMinute(refreshing, 6);
    const answered = refreshing.asked.find(({ key }) => key === "late");
    expect((answered?.at ?? Infinity) - since).toBeLessThanOrEqual(5 * MINUTE);
  });
  test("for a few purchases alone holds up no other for longer than a pause", async () => {
    const refreshing = createRefreshing(table);
    for (const key of names(12)) await refreshing.hold(`stuck-${key}`, NOW - 10 * MINUTE);
    refreshing.answering((due, moment) =>
      due.purchase.key.startsWith("stuck")
        ? DOWN
        : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    for (const key of names(6)) {
      await runEveryMinute(refreshing, 9);
      const since = refreshing.clock.now;
      await refreshing.hold(key, since - 10 * SECOND);
      await runEveryMinute(refreshing, 6);
      const answered = refreshing.asked.find((one) => one.key === key);
      expect((answered?.at ?? Infinity) - since).toBeLessThanOrEqual(5 * MINUTE);
    }
  });
  test("for an hour lets its oldest refreshes move on", async () => {
    const refreshing = createRefreshing(table);
    await refreshing.hold("old", NOW - 2 * HOUR);
    refreshing.answering(() => DOWN);
    await refreshing.run();
    expect(await queuedOf(refreshing.world)).toEqual({ old: NOW + HOUR });
  });
  test("names a time before which it is not asked", async () => {
    const refreshing = await ended(2);
    refreshing.answering(() => ({ outcome: "unavailable", retryAt: NOW + 20 * MINUTE }));
    const report = await refreshing.run();
    expect(report.paused).toMatchObject([{ because: "unavailable", until: NOW + 20 * MINUTE }]);
    refreshing.answering();
    refreshing.asked.length = 0;
    await runEveryMinute(refreshing, 25);
    expect(refreshing.asked.map(({ at }) => (at - NOW) / MINUTE)).toEqual([20, 20 + 1 / 60]);
  });
  test("in its sandbox alone does not pause production", async () => {
    const refreshing = createRefreshing(table);
    await refreshing.hold("test", NOW - MINUTE, [], "sandbox");
    refreshing.answering(() => ({ outcome: "unavailable", retryAt: NOW + HOUR }));
    expect((await refreshing.run()).paused).toMatchObject([{ environment: "sandbox" }]);
    await refreshing.hold("live", NOW - MINUTE);
    refreshing.answering();
    await refreshing.run();
    expect(refreshing.asked.map(({ key }) => key)).toEqual(["test", "live"]);
  });
});

describe("a refusal of one purchase, which may be for good", () => {
  const REFUSED: RefreshOutcome = { outcome: "unavailable", retryAt: null, isOfThisPurchase: true };

  test("pauses nothing, however many there are", async () => {
    const refreshing = createRefreshing(table);
    for (const key of names(60)) await refreshing.hold(`refused-${key}`, NOW - HOUR);
    refreshing.answering((due, moment) =>
      due.purchase.key.startsWith("refused")
        ? REFUSED
        : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    for (const key of names(5)) {
      const since = refreshing.clock.now;
      await refreshing.hold(key, since - 10 * SECOND);
      expect((await refreshing.run()).paused).toEqual([]);
      const answered = refreshing.asked.find((one) => one.key === key);
      expect((answered?.at ?? Infinity) - since).toBeLessThanOrEqual(5 * SECOND);
      refreshing.clock.now = since + 10 * MINUTE;
    }
  });
  test("is asked about closely for a day, then daily for 60 days", async () => {
    const refreshing = await ended(1);
    refreshing.answering(() => REFUSED);
    const nextAt = async (moment: number): Promise<number | undefined> => {
      refreshing.clock.now = moment;
      await refreshing.run();
      return (await queuedOf(refreshing.world))["0"];
    };
    let due = await nextAt(NOW + 3 * HOUR);
    expect(due).toBe(NOW + 3 * HOUR + 5 * MINUTE);
    due = await nextAt(NOW + DAY);
    expect(due).toBe(NOW - MINUTE + DAY + 6 * HOUR);
    expect(await nextAt(NOW + 60 * DAY)).toBeUndefined();
  });
  test("that is still running is asked about at its next step", async () => {
    const refreshing = createRefreshing(table);
    const purchase = owned("0", { startsAt: NOW, endsAt: NOW + 365 * DAY, verifiedAt: NOW });
    await refreshing.world.store({ environment: "production", purchases: [purchase], origin: fromApple() });
    refreshing.answering(() => REFUSED);
    refreshing.clock.now = NOW + DAY;
    await refreshing.run();
    expect(await queuedOf(refreshing.world)).toEqual({ 0: NOW + 7 * DAY });
  });
});

test("no answer about one that ended more than a day ago, among answers, is asked for hourly", async () => {
  const refreshing = createRefreshing(table);
  await refreshing.hold("old", NOW - 3 * DAY);
  await refreshing.hold("other", NOW - MINUTE);
  refreshing.answering((due, moment) =>
    due.purchase.key === "old"
      ? DOWN
      : owned(due.purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
  );
  await refreshing.run();
  expect(await queuedOf(refreshing.world)).toMatchObject({ old: NOW + HOUR });
});

describe("a refresh that was asked for", () => {
  const YEAR = { startsAt: NOW - 8 * DAY, endsAt: NOW + 357 * DAY };
  /** A subscription of a year, whose refresh an operator asks for now. */
  const askedFor = async () => {
    const refreshing = createRefreshing(table);
    const { world } = refreshing;
    const bought = owned("1", { ...YEAR, verifiedAt: NOW - HOUR });
    await world.at(NOW - HOUR).store({ purchases: [bought], origin: fromApple() });
    expect((await queuedOf(world))["1"]).toBeGreaterThan(NOW + DAY);
    const { identifier } = world.application;
    const known = await createCustomerTable(table, () => Promise.resolve()).findFacts(
      identifier,
      [],
      [bought],
      NOW,
    );
    const [stored] = known.purchases.values();
    if (stored === undefined) throw new Error("The purchase is not stored.");
    const { source } = fromApple();
    expect(
      await createRefreshQueue(table).set(identifier, stored, { dueAt: NOW, source, askedForAt: NOW }),
    ).toBe("written");
    const copied = (moment: number) =>
      world.at(moment).store({
        purchases: [{ ...bought, lines: bought.lines.map((line) => ({ ...line, verifiedAt: moment })) }],
        origin: fromApple(),
      });
    return { refreshing, world, copied };
  };

  test.each<[what: string, outcome: RefreshOutcome]>([
    ["the store refuses this purchase", { outcome: "unavailable", retryAt: null, isOfThisPurchase: true }],
    ["its answer cannot be used", { outcome: "failed" }],
    ["the store knows nothing of it", { outcome: "unknown" }],
    ["the application has no key for it", { outcome: "unconfigured" }],
  ])("is made again after minutes, hours and a day: %s", async (_, outcome) => {
    const { refreshing, world, copied } = await askedFor();
    refreshing.answering(() => outcome);
    for (const step of [10 * MINUTE, 6 * HOUR, DAY]) {
      await refreshing.run();
      expect(await queuedOf(world)).toEqual({ 1: NOW + step });
      await copied(refreshing.clock.now + SECOND);
      refreshing.clock.now = NOW + step;
    }
    await refreshing.run();
    expect(refreshing.asked).toHaveLength(4);
    expect((await queuedOf(world))["1"]).toBeGreaterThan(NOW + 10 * DAY);
  });
  test("is made again where its purchase is long over, and the store once knows nothing of it", async () => {
    const refreshing = createRefreshing(table);
    const { world } = refreshing;
    const { identifier } = world.application;
    const bought = owned("1", {
      startsAt: NOW - 90 * DAY,
      endsAt: NOW - 61 * DAY,
      verifiedAt: NOW - 61 * DAY,
    });
    await world.at(NOW - 61 * DAY).store({ purchases: [bought], origin: fromApple() });
    const customers = createCustomerTable(table, () => Promise.resolve());
    const [stored] = (await customers.findFacts(identifier, [], [bought], NOW)).purchases.values();
    if (stored === undefined) throw new Error("The purchase is not stored.");
    const to = { dueAt: NOW, source: fromApple().source, askedForAt: NOW };
    expect(await createRefreshQueue(table).set(identifier, stored, to)).toBe("written");
    refreshing.answering(() => ({ outcome: "unknown" }));
    for (const step of [10 * MINUTE, 6 * HOUR, DAY]) {
      await refreshing.run();
      expect(await queuedOf(world)).toEqual({ 1: NOW + step });
      refreshing.clock.now = NOW + step;
    }
    await refreshing.run();
    expect(await queuedOf(world)).toEqual({});
  });
  test("after a lifted erasure is made again where it fails", async () => {
    const refreshing = createRefreshing(table);
    const { world } = refreshing;
    const bought = owned("1", { ...YEAR, verifiedAt: NOW - HOUR });
    const facts = (verifiedAt: number) => ({
      purchases: [{ ...bought, lines: bought.lines.map((line) => ({ ...line, verifiedAt })) }],
      origin: fromApple(),
    });
    const byBackend = { account: accountId("a"), assertedBy: "credential" } as const;
    await world.erase(await world.store(facts(NOW - HOUR), byBackend));
    await world.store(facts(NOW - HOUR), byBackend);
    refreshing.answering(() => ({ outcome: "failed" }));
    refreshing.clock.now = NOW + 5 * SECOND;
    await refreshing.run();
    await world.at(NOW + MINUTE).store(facts(NOW + MINUTE), byBackend);
    expect(await queuedOf(world)).toEqual({ 1: NOW + 5 * SECOND + 10 * MINUTE });
  });
  test("while the worker moves it on stays due, and is made again", async () => {
    const refreshing = createRefreshing(table);
    const { world } = refreshing;
    const { identifier } = world.application;
    const lifetime = { nature: "non_consumable", startsAt: NOW - 30 * DAY, endsAt: null } as const;
    await world.at(NOW - 8 * DAY).store({
      purchases: [owned("1", { ...lifetime, verifiedAt: NOW - 8 * DAY })],
      origin: fromApple(),
    });
    const customers = createCustomerTable(table, () => Promise.resolve());
    refreshing.answering(() => ({ outcome: "failed" }));
    const asked: string[] = [];
    await refreshing.run({
      table: {
        findFacts: async (...read) => {
          const known = await customers.findFacts(...read);
          const [stored] = known.purchases.values();
          refreshing.clock.now += SECOND;
          const to = { dueAt: NOW, source: fromApple().source, askedForAt: NOW + SECOND };
          if (stored !== undefined && asked.length === 0)
            asked.push(await createRefreshQueue(table).set(identifier, stored, to));
          return known;
        },
      },
    });
    expect(asked).toEqual(["written"]);
    expect(refreshing.asked).toHaveLength(2);
    expect(await queuedOf(world)).toEqual({ 1: NOW + SECOND + 10 * MINUTE });
  });
  describe("while the store is asked", () => {
    /** A purchase whose refresh is due, and an operator's question about it that comes seconds after the worker's. */
    const withQuestion = async () => {
      const refreshing = createRefreshing(table);
      const { world, clock } = refreshing;
      const lifetime = { nature: "non_consumable", startsAt: NOW - 30 * DAY, endsAt: null } as const;
      const bought = owned("1", { ...lifetime, verifiedAt: NOW - 8 * DAY });
      await world.at(NOW - 8 * DAY).store({ purchases: [bought], origin: fromApple() });
      const customers = createCustomerTable(table, () => Promise.resolve());
      const question = async () => {
        clock.now += SECOND;
        const { purchases } = await customers.findFacts(
          world.application.identifier,
          [],
          [bought],
          clock.now,
        );
        const [stored] = purchases.values();
        if (stored === undefined) throw new Error("The purchase is not stored.");
        const to = { dueAt: clock.now, source: fromApple().source, askedForAt: clock.now };
        await createRefreshQueue(table).set(world.application.identifier, stored, {
          ...to,
          dueAt: stored.refreshAt ?? NOW,
        });
        clock.now += SECOND;
      };
      /** Answers with the first outcome, during which the question comes, and then as the store does. */
      const answeringOnce = (outcome: RefreshOutcome) => {
        refreshing.answering(async ({ purchase }, moment) => {
          if (refreshing.asked.length === 1) {
            await question();
            return outcome;
          }
          return owned(purchase.key, { ...lifetime, verifiedAt: moment });
        });
      };
      return { refreshing, world, question, answeringOnce, lifetime };
    };

    test.each<[what: string, outcome: RefreshOutcome]>([
      ["its answer cannot be used", { outcome: "failed" }],
      ["the store refuses this purchase", { outcome: "unavailable", retryAt: null, isOfThisPurchase: true }],
      ["the store knows nothing of it", { outcome: "unknown" }],
      ["this service fails", { outcome: "unstored" }],
    ])("is made at once, not put off unasked: %s", async (_, outcome) => {
      const { refreshing, answeringOnce } = await withQuestion();
      answeringOnce(outcome);
      await refreshing.run({}, 1);
      expect(refreshing.asked).toHaveLength(2);
      expect((await refreshing.world.items()).some(({ askedForAt }) => askedForAt !== undefined)).toBe(false);
    });
    test("stays due where the store's credential was refused, and is made once the queue goes on", async () => {
      const { refreshing, world, answeringOnce } = await withQuestion();
      answeringOnce({ outcome: "credential-rejected" });
      await refreshing.run({}, 1);
      expect(refreshing.asked).toHaveLength(1);
      const [due] = Object.values(await queuedOf(world));
      expect(due).toBeLessThanOrEqual(NOW);
      await createRefreshQueue(table).resume({
        application: world.application.identifier,
        store: "ios-store",
        environment: "production",
      });
      await refreshing.run({}, 1);
      expect(refreshing.asked).toHaveLength(2);
    });
    test("is not put off with a bundle that fails, though others of the queue are asked about after it", async () => {
      const { refreshing, world, question, lifetime } = await withQuestion();
      const { directory, holdOther } = ofTwoBundles(refreshing);
      // More than a second's share.
      for (const other of names(40)) await holdOther(`other ${other}`, NOW - 2 * MINUTE);
      let isAsked = false;
      refreshing.answering(async ({ purchase }, moment) => {
        if (purchase.key !== "1")
          return owned(purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment });
        if (isAsked) return owned("1", { ...lifetime, verifiedAt: moment });
        await question();
        isAsked = true;
        return { outcome: "credential-rejected" };
      });
      await refreshing.run({ directory }, 1);
      expect(refreshing.asked.filter(({ key }) => key !== "1")).toHaveLength(40);
      expect((await queuedOf(world))["1"]).toBeLessThanOrEqual(NOW);
    });
    test("is made twice in a turn at most, however far ahead the clock of who asked is", async () => {
      const { refreshing, world, question } = await withQuestion();
      refreshing.clock.now += HOUR;
      await question();
      refreshing.clock.now = NOW;
      refreshing.answering(() => ({ outcome: "failed" }));
      await refreshing.run({}, 1);
      expect(refreshing.asked).toHaveLength(2);
      expect(Object.values(await queuedOf(world))[0]).toBeGreaterThan(NOW);
    });
  });
  test("is made no more, once it is answered", async () => {
    const { refreshing, world, copied } = await askedFor();
    refreshing.answering(() => ({ outcome: "failed" }));
    await refreshing.run();
    refreshing.clock.now = NOW + HOUR;
    refreshing.answering(({ purchase }, moment) => owned(purchase.key, { ...YEAR, verifiedAt: moment }));
    await refreshing.run();
    await copied(NOW + HOUR + MINUTE);
    expect((await queuedOf(world))["1"]).toBeGreaterThan(NOW + 10 * DAY);
    expect((await world.items()).some(({ askedForAt }) => askedForAt !== undefined)).toBe(false);
  });
  test("leaves no trace where the store has dropped the purchase", async () => {
    const { refreshing, world } = await askedFor();
    refreshing.answering(() => ({ outcome: "over" }));
    await refreshing.run();
    expect(await queuedOf(world)).toEqual({});
    expect((await world.items()).some(({ askedForAt }) => askedForAt !== undefined)).toBe(false);
  });
});

/** Another bundle beside {@link BUNDLE}, in one application. */
const OTHER_BUNDLE = "com.example.other";
const ofTwoBundles = (refreshing: Refreshing) => {
  const serverApi = { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" };
  const iosStore = [BUNDLE, OTHER_BUNDLE].map((bundleIdentifier) => ({
    bundleIdentifier,
    appAppleIdentifier: 1,
    environments: ["production" as const],
    xcodeCertificates: [],
    serverApi,
  }));
  return {
    directory: { byIdentifier: () => Promise.resolve({ ...refreshing.world.application, iosStore }) },
    /** Stores a subscription of the other bundle. */
    holdOther: (key: string, endsAt: number) =>
      refreshing.world.at(endsAt - MINUTE).store({
        environment: "production",
        purchases: [owned(key, { endsAt, verifiedAt: endsAt - MINUTE })],
        origin: fromApple({ source: { store: "ios-store", bundleIdentifier: OTHER_BUNDLE } }),
      }),
    /** Answers about the other bundle, and with this about the first. */
    answeringOther: (outcome: RefreshOutcome) =>
      refreshing.answering(({ purchase, source }, moment) =>
        source.store === "ios-store" && source.bundleIdentifier === OTHER_BUNDLE
          ? owned(purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment })
          : outcome,
      ),
  };
};

describe("a bundle whose credential's store is silent, or over its quota", () => {
  test.each([
    ["is silent", DOWN],
    ["names a time", { outcome: "unavailable", retryAt: NOW + 3 * HOUR } as const],
  ])("leaves the queue to the others: it %s", async (_, outcome) => {
    const refreshing = createRefreshing(table);
    const { directory, holdOther, answeringOther } = ofTwoBundles(refreshing);
    for (const key of names(70)) await refreshing.hold(key, NOW - 2 * MINUTE);
    answeringOther(outcome);
    for (const key of ["a", "b", "c"]) {
      const since = refreshing.clock.now;
      await holdOther(key, since - 10 * SECOND);
      const report = await refreshing.run({ directory });
      expect(report.paused.map(({ because }) => because)).toEqual(["unavailable"]);
      const answered = refreshing.asked.find((one) => one.key === key);
      expect((answered?.at ?? Infinity) - since).toBeLessThanOrEqual(5 * SECOND);
      refreshing.clock.now = since + 10 * MINUTE;
    }
    // The time that the store names is kept to, for an hour at most.
    const times = refreshing.asked.filter(({ key }) => !"abc".includes(key)).map(({ at }) => at);
    expect(times.some((at) => at > NOW + 10 * SECOND)).toBe(outcome.retryAt === null);
    const waiting = Object.values(await queuedOf(refreshing.world)).filter((at) => at < NOW + DAY);
    expect(waiting).toHaveLength(70);
  });
  test("has its refreshes put off, which keep their age, and are asked about as often as if it were alone", async () => {
    const refreshing = createRefreshing(table);
    const { directory } = ofTwoBundles(refreshing);
    const dueSince = NOW - 2 * MINUTE + 5 * SECOND;
    await refreshing.hold("0", NOW - 2 * MINUTE);
    refreshing.answering(() => DOWN);
    expect(await refreshing.run({ directory })).toEqual({
      refreshed: 0,
      failed: 1,
      oldest: NOW - dueSince,
      paused: [
        {
          application: refreshing.world.application.identifier,
          environment: "production",
          bundleOrPackage: BUNDLE,
          because: "unavailable",
          failingSince: NOW,
          until: NOW + 30 * SECOND,
        },
      ],
    });
    const ages: number[] = [];
    for (let minute = 0; minute < 30; minute += 1) {
      refreshing.clock.now += MINUTE;
      ages.push((await refreshing.run({ directory })).oldest);
    }
    const minutes = refreshing.asked.map(({ at }) => (at - NOW) / MINUTE);
    expect(minutes).toEqual([0, 1, 2, 4, 8, 13, 18, 23, 28]);
    for (let minute = 10; minute < 30; minute += 1) {
      const told = Math.max(...ages.slice(minute - 5, minute));
      expect(told).toBeGreaterThanOrEqual((minute - 5) * MINUTE);
    }
    refreshing.answering();
    await runEveryMinute(refreshing, 6, { directory });
    expect((await queuedOf(refreshing.world))["0"]).toBeGreaterThan(NOW + DAY);
    expect(JSON.stringify(await refreshing.world.items())).not.toContain("dueSince");
  });
  test("delays no other, whenever that becomes due, and is itself asked about by two of it at a time until it answers", async () => {
    const refreshing = createRefreshing(table);
    const { directory, holdOther, answeringOther } = ofTwoBundles(refreshing);
    for (const key of names(40)) await refreshing.hold(key, NOW - MINUTE);
    answeringOther(DOWN);
    await holdOther("other", NOW + 25 * MINUTE);
    await runEveryMinute(refreshing, 28, { directory });
    const other = refreshing.asked.find(({ key }) => key === "other");
    expect(((other?.at ?? 0) - NOW) / MINUTE).toBeLessThanOrEqual(26);
    const later = refreshing.asked.filter(({ at, key }) => at > NOW + 30 * SECOND && key !== "other");
    const byRun = [...Map.groupBy(later, ({ at }) => Math.floor(at / MINUTE)).values()];
    expect(Math.max(...byRun.map(({ length }) => length))).toBe(2);
    refreshing.answering();
    const recovered = refreshing.clock.now;
    await runEveryMinute(refreshing, 6, { directory });
    expect(Object.values(await queuedOf(refreshing.world)).filter((at) => at < recovered + DAY)).toEqual([]);
  });
  test("is asked about nothing before the time that its store names, also what becomes due since, and its age is told", async () => {
    const refreshing = createRefreshing(table);
    const { directory } = ofTwoBundles(refreshing);
    for (let minute = 0; minute < 15; minute += 1)
      for (const key of ["a", "b"]) await refreshing.hold(`${minute}-${key}`, NOW + (minute - 1) * MINUTE);
    refreshing.answering(() => ({ outcome: "unavailable", retryAt: NOW + 20 * MINUTE }));
    const reports = await runEveryMinute(refreshing, 19, { directory });
    expect(refreshing.asked).toHaveLength(2);
    for (let minute = 5; minute < 19; minute += 1) {
      const told = Math.max(...reports.slice(minute - 5, minute).map(({ oldest }) => oldest));
      expect(told).toBeGreaterThanOrEqual((minute - 5) * MINUTE);
    }
    refreshing.answering();
    await runEveryMinute(refreshing, 6, { directory });
    expect(Object.values(await queuedOf(refreshing.world)).filter((at) => at < NOW + DAY)).toEqual([]);
  });
  test("stays due, and keeps its age, where its pause ends while another one is asked about", async () => {
    const refreshing = createRefreshing(table);
    const { directory, holdOther } = ofTwoBundles(refreshing);
    await refreshing.hold("first", NOW - 10 * SECOND);
    refreshing.answering(() => DOWN);
    await refreshing.run({ directory });
    refreshing.clock.now = NOW + 25 * SECOND;
    // At a daily step, two days after its end.
    await refreshing.hold("old", NOW + 20 * SECOND - 2 * DAY);
    await holdOther("slow", NOW + 10 * SECOND);
    refreshing.answering(async ({ purchase }, moment) => {
      await Promise.resolve();
      if (purchase.key === "slow") refreshing.clock.now = moment + 8 * SECOND;
      const answer = owned(purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment });
      const bundleIdentifier = purchase.key === "slow" ? OTHER_BUNDLE : BUNDLE;
      await refreshing.world.at(moment).store({
        environment: "production",
        purchases: [answer],
        origin: fromApple({ source: { store: "ios-store", bundleIdentifier }, askedAt: moment }),
      });
      return { outcome: "stored" };
    });
    await refreshing.run({ directory });
    expect(refreshing.asked.map(({ key }) => key)).toContain("old");
    expect(Math.min(...Object.values(await queuedOf(refreshing.world)))).toBeGreaterThan(NOW + DAY);
  });
  test("is asked about once an operator ends its pause, also in a turn that had begun before", async () => {
    const refreshing = createRefreshing(table);
    const { directory, holdOther } = ofTwoBundles(refreshing);
    const application = refreshing.world.application.identifier;
    const reference = { application, store: "ios-store", environment: "production" } as const;
    const queue = createRefreshQueue(table);
    await refreshing.hold("rejected", NOW - MINUTE);
    refreshing.answering(() => REJECTED);
    await refreshing.run({ directory });
    await holdOther("other", NOW - MINUTE);
    refreshing.clock.now = NOW + MINUTE;
    refreshing.answering(async ({ purchase }, moment) => {
      if (purchase.key === "other") {
        await queue.resume(reference);
        const known = {
          store: "ios-store",
          environment: "production",
          key: purchaseKey("rejected"),
        } as const;
        const facts = await refreshing.runOn(table).table.findFacts(application, [], [known], moment);
        const [stored] = [...facts.purchases.values()];
        if (stored !== undefined)
          await queue.set(application, stored, {
            dueAt: moment,
            source: fromApple().source,
            askedForAt: moment,
          });
      }
      return { outcome: "stored" };
    });
    await refreshing.run({ directory });
    expect(refreshing.asked.map(({ key }) => key)).toEqual(["rejected", "other", "rejected"]);
    expect((await queue.healthOf(reference)).byName.size).toBe(0);
  });
  test("whose credential is rejected has no age, also while another worker has the queue", async () => {
    const refreshing = createRefreshing(table);
    const { directory } = ofTwoBundles(refreshing);
    const application = refreshing.world.application.identifier;
    await refreshing.hold("rejected", NOW - MINUTE);
    refreshing.answering(() => REJECTED);
    await refreshing.run({ directory });
    refreshing.clock.now = NOW + 6 * MINUTE;
    await createRefreshQueue(table).take(
      { application, store: "ios-store", environment: "production" },
      { worker: "another", until: NOW + HOUR },
      refreshing.clock.now,
    );
    expect(await refreshing.run({ directory })).toMatchObject({
      oldest: 0,
      paused: [{ bundleOrPackage: BUNDLE, because: "credential-rejected" }],
    });
  });
  test("of an application that has only one left counts no more", async () => {
    const refreshing = createRefreshing(table);
    const { directory, holdOther } = ofTwoBundles(refreshing);
    await holdOther("other", NOW - MINUTE);
    refreshing.answering(() => ({ outcome: "unavailable", retryAt: NOW + 20 * MINUTE }));
    await refreshing.run({ directory });
    await refreshing.hold("0", NOW - MINUTE);
    refreshing.answering();
    refreshing.clock.now += MINUTE;
    expect(await refreshing.run()).toMatchObject({ refreshed: 1, paused: [] });
  });
  test("lets one of its refreshes that was asked about after an hour move on by an hour", async () => {
    const refreshing = createRefreshing(table);
    const { directory } = ofTwoBundles(refreshing);
    for (const key of ["1", "2", "3"]) await refreshing.hold(key, NOW - 2 * HOUR);
    refreshing.answering(() => DOWN);
    await refreshing.run({ directory });
    expect(Object.values(await queuedOf(refreshing.world))).toEqual([NOW + HOUR, NOW + HOUR, NOW + HOUR]);
  });
  test("is held back until the time that its store names, where that is sooner than five minutes", async () => {
    const refreshing = createRefreshing(table);
    const { directory, holdOther, answeringOther } = ofTwoBundles(refreshing);
    for (const key of names(3)) await refreshing.hold(key, NOW - 2 * MINUTE);
    await holdOther("other", NOW - MINUTE);
    answeringOther({ outcome: "unavailable", retryAt: NOW + SECOND });
    await refreshing.run({ directory });
    const waiting = Object.values(await queuedOf(refreshing.world)).filter((at) => at < NOW + HOUR);
    expect(waiting).toHaveLength(3);
    expect(Math.max(...waiting)).toBeLessThanOrEqual(NOW + MINUTE);
  });
  test("is asked as often as if it were alone, where the other one's credential is rejected", async () => {
    const refreshing = createRefreshing(table);
    const { directory, holdOther } = ofTwoBundles(refreshing);
    await refreshing.hold("rejected", NOW - MINUTE);
    await holdOther("silent", NOW - MINUTE);
    refreshing.answering(({ purchase }, moment) => {
      if (purchase.key === "rejected") return REJECTED;
      if (moment < NOW + 21 * MINUTE) return DOWN;
      return owned(purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment });
    });
    const reports = await runEveryMinute(refreshing, 30, { directory });
    expect(reports[0]?.paused.map(({ because }) => because).toSorted()).toEqual([
      "credential-rejected",
      "unavailable",
    ]);
    const asked = Map.groupBy(refreshing.asked, ({ key }) => key);
    const minutesOf = (key: string) => asked.get(key)?.map(({ at }) => Math.floor((at - NOW) / MINUTE));
    expect(minutesOf("silent")).toEqual([0, 1, 2, 4, 8, 13, 18, 23]);
    expect(minutesOf("rejected")).toEqual([0, 5, 20]);
  });
  test("is asked about at once, if the queue was paused when it was the only one", async () => {
    const refreshing = createRefreshing(table);
    for (const key of names(3)) await refreshing.hold(key, NOW - 2 * MINUTE);
    refreshing.answering(() => DOWN);
    await refreshing.run();
    refreshing.clock.now += MINUTE;
    refreshing.answering();
    const { directory } = ofTwoBundles(refreshing);
    expect(await refreshing.run({ directory })).toMatchObject({ refreshed: 3, paused: [] });
  });
});

describe("a rejected credential", () => {
  test("pauses its application alone: the others are refreshed in the same run", async () => {
    const applications = Array.from({ length: 100 }, aName);
    const rejected = new Set(applications.filter((_, index) => index % 10 === 0));
    const refreshing = createRefreshing(table, applications);
    for (const application of applications) await refreshing.hold("1", NOW - MINUTE, [application]);
    refreshing.answering((due, moment) =>
      rejected.has(due.application)
        ? REJECTED
        : owned("1", { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    const report = await refreshing.run();
    expect(report).toMatchObject({ refreshed: 90, failed: 10, oldest: 0 });
    expect(new Set(report.paused.map(({ application }) => application))).toEqual(rejected);
    expect(report.paused.every(({ because }) => because === "credential-rejected")).toBe(true);
  });
  test("of one bundle leaves the queue to the others, however many of its refreshes are due", async () => {
    const refreshing = createRefreshing(table);
    const { directory, holdOther, answeringOther } = ofTwoBundles(refreshing);
    for (const key of names(70)) await refreshing.hold(key, NOW - 2 * MINUTE);
    await holdOther("other", NOW - MINUTE);
    answeringOther(REJECTED);
    const report = await refreshing.run({ directory });
    expect(refreshing.asked.map(({ key }) => key)).toContain("other");
    // Once one is rejected, the others of its bundle are not asked about in that turn.
    expect(refreshing.asked.length).toBeLessThanOrEqual(31);
    expect(report.refreshed).toBe(1);
    expect(report.paused).toMatchObject([{ because: "credential-rejected" }]);
    const waiting = Object.values(await queuedOf(refreshing.world)).filter((at) => at < NOW + DAY);
    expect(waiting).toHaveLength(70);
    expect(Math.min(...waiting)).toBeGreaterThanOrEqual(NOW + 5 * MINUTE);
  });
  test("that is rejected for an hour is asked about an hour later, not at the purchase's next step", async () => {
    const refreshing = createRefreshing(table);
    await refreshing.hold("old", NOW - 2 * HOUR);
    refreshing.answering(() => REJECTED);
    await refreshing.run();
    expect(await queuedOf(refreshing.world)).toEqual({ old: NOW + HOUR });
  });
  test("is tried again at growing pauses, and heals", async () => {
    const refreshing = await ended(3);
    refreshing.answering(() => REJECTED);
    await runEveryMinute(refreshing, 150);
    const minutes = [...new Set(refreshing.asked.map(({ at }) => Math.floor((at - NOW) / MINUTE)))];
    expect(minutes).toEqual([0, 5, 20, 80, 140]);
    refreshing.answering();
    refreshing.clock.now = NOW + 200 * MINUTE;
    await refreshing.run();
    const due = await queuedOf(refreshing.world);
    expect(Object.values(due).filter((at) => at <= refreshing.clock.now)).toEqual([]);
  });
});

describe("two workers", () => {
  test("at once ask once about each purchase", async () => {
    const refreshing = await ended(40);
    await Promise.all([refreshing.run(), refreshing.run(), refreshing.run()]);
    expect(refreshing.asked.map(({ key }) => key).toSorted()).toEqual(names(40).toSorted());
  });
  test("do not ask about what one of them refreshed after the other had looked", async () => {
    const refreshing = await ended(1);
    const queue = createRefreshQueue(table);
    let isFirst = true;
    const late = {
      ...queue,
      take: async (...lease: Parameters<typeof queue.take>) => {
        if (isFirst) {
          isFirst = false;
          await refreshing.run();
        }
        return queue.take(...lease);
      },
    };
    await refreshing.run({ queue: late });
    expect(refreshing.asked).toHaveLength(1);
  });
  test("take turns: one that has died gives way when its lease ends", async () => {
    const refreshing = await ended(1);
    const dead = new Promise<RefreshOutcome>(() => undefined);
    const started = Promise.withResolvers<void>();
    refreshing.answering(() => {
      started.resolve();
      return dead;
    });
    void refreshing.run();
    await started.promise;
    refreshing.answering();
    refreshing.clock.now += LEASE_MILLISECONDS - 1;
    expect(await refreshing.run()).toMatchObject({ refreshed: 0 });
    refreshing.clock.now += 1;
    expect(await refreshing.run()).toMatchObject({ refreshed: 1 });
  });
});

describe("a worker that dies at any call of the table", () => {
  const END = NOW - 3 * MINUTE;

  /** A client that fails at one call, and where it dies at all that follow. */
  const failingAt = (place: number, isDead: boolean) => {
    const client = table.connect();
    let calls = 0;
    client.middlewareStack.add(
      (next) => (args) => {
        const call = calls++;
        if (call === place || (isDead && call > place)) throw new Error("The function has died.");
        return next(args);
      },
      { step: "initialize" },
    );
    return { table: { name: table.name, client }, calls: () => calls };
  };
  const contents = async (refreshing: Refreshing) => [
    await queuedOf(refreshing.world),
    await recordedOf(refreshing.world),
  ];
  /** The store drops one purchase, renews another, and gives no news of a third. */
  const answers: Parameters<Refreshing["answering"]>[0] = ({ purchase }) =>
    purchase.key === "0"
      ? { outcome: "over" }
      : owned(purchase.key, {
          endsAt: purchase.key === "1" ? NOW + 30 * DAY : END,
          verifiedAt: NOW,
        });

  test("leaves nothing that the next run does not complete", async () => {
    const undisturbed = await ended(3, END);
    undisturbed.answering(answers);
    await undisturbed.run();
    const expected = await contents(undisturbed);
    for (let place = 0, calls = 1; place < calls; place += 1) {
      const refreshing = await ended(3, END);
      refreshing.answering(answers);
      const dying = failingAt(place, true);
      await refreshDuePurchases(refreshing.runOn(dying.table), NOW + HOUR).catch(() => undefined);
      calls = dying.calls();
      refreshing.clock.now = NOW + LEASE_MILLISECONDS;
      await refreshing.run();
      expect(await contents(refreshing)).toEqual(expected);
      if (place > 30) throw new Error("The run never ends.");
    }
  });
  test("and one call that fails loses no refresh", async () => {
    for (let place = 0; place < 12; place += 1) {
      const refreshing = await ended(3, END);
      refreshing.answering(answers);
      await refreshDuePurchases(refreshing.runOn(failingAt(place, false).table), NOW + HOUR);
      const [queued, recorded] = await contents(refreshing);
      expect(queued).toEqual(recorded);
      expect(Object.keys(queued ?? {})).toEqual(expect.arrayContaining(["1", "2"]));
    }
  });
});
