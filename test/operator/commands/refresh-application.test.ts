import { MINUTE, SECOND } from "../../../lib/duration.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { createWatermarks } from "../../../lib/table/queues/watermarks.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import * as world from "./refresh-world.ts";
import { onAndroid, onIos } from "./refresh-world.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createTestTable();
});
afterAll(() => table.remove());

const anApplication = (options: Parameters<typeof world.anApplication>[1] = {}) =>
  world.anApplication(table, options);
const run = (words: readonly string[]) => world.run(table, words);

describe("application refresh", () => {
  test("queues all customers' purchases, each bundle or package at its own pace", async () => {
    const { identifier, application, apple, google, store, timesIn } = await anApplication({ isTwice: true });
    const [, lite] = application.androidStore.map(({ packageName }) => packageName);
    for (let index = 0; index < 4; index += 1) {
      await store(onIos(`p${index}`), apple);
      await store(onAndroid(`t${index}`), google(`t${index}`, index % 2 === 0 ? undefined : lite));
    }
    await store(onAndroid("coins", { nature: "consumable", endsAt: null }), google("coins"));
    const done = await run(["application", "refresh", identifier, "--json"]);
    expect(done.json()).toEqual({
      applicationIdentifier: identifier,
      since: isoTime(NOW),
      customers: 9,
      queued: 8,
      alreadyQueued: 0,
      recent: 0,
      notAsked: [{ store: "android-store", because: "voided-list", count: 1 }],
      until: isoTime(NOW + SECOND),
    });
    expect(done.err).toContain(`repeat it with --since ${isoTime(NOW)}`);
    expect(done.err).toContain("9 customers, 8 purchases queued, worked off in about 1 second");
    expect(await timesIn("ios-store")).toEqual([NOW, NOW + 333, NOW + 666, NOW + 1000]);
    expect(await timesIn("android-store")).toEqual([NOW, NOW + 33]);
  });

  test("continues where it was interrupted", async () => {
    const { identifier, apple, google, store, work, timesIn } = await anApplication();
    await store(onIos("p1"), apple);
    await store(onAndroid("t1"), google("t1"));
    const refresh = async (...more: string[]) =>
      (await run(["application", "refresh", identifier, "--since", isoTime(NOW), "--json", ...more])).json();
    expect(await refresh("--store", "ios-store")).toMatchObject({ queued: 1, customers: 2 });
    expect(await timesIn("android-store")).toEqual([]);
    expect(await refresh()).toMatchObject({ queued: 1, alreadyQueued: 1, recent: 0 });
    await work(async (_, { purchase, source }) => {
      const heard = { verifiedAt: NOW };
      const answered = purchase.store === "ios-store" ? onIos("p1", heard) : onAndroid("t1", heard);
      await store(answered, source, { askedAt: NOW });
      return { outcome: "stored" };
    });
    expect(await refresh()).toMatchObject({ queued: 0, alreadyQueued: 0, recent: 2, until: null });
    const text = await run(["application", "refresh", identifier, "--since", isoTime(NOW)]);
    expect(text.out).toBe(
      `2 customers of Trails\n  0 purchases queued, worked off in about 0 seconds\n  2 verified since ${isoTime(NOW)}\n`,
    );
  });

  test("never moves a question to a later time", async () => {
    const { identifier, apple, store, timesIn } = await anApplication();
    const line = { startsAt: NOW - 40 * DAY, endsAt: NOW - 10 * DAY, verifiedAt: NOW - 12 * DAY };
    await store(onIos("p1", line), apple);
    const before = await timesIn("ios-store");
    expect((await run(["application", "refresh", identifier, "--json"])).json()).toMatchObject({
      queued: 0,
      alreadyQueued: 1,
    });
    expect(await timesIn("ios-store")).toEqual(before);
  });

  test("resumes a paused queue", async () => {
    const { identifier, apple, store, fail, answer, asked } = await anApplication();
    await store(onIos("p1"), apple);
    await fail("ios-store", "unavailable", NOW);
    await run(["application", "refresh", identifier]);
    await answer(onIos("p1", { verifiedAt: NOW }), apple);
    expect(asked).toHaveLength(1);
  });

  test.each([
    ["--store", "windows"],
    ["--since", "yesterday"],
  ])("refuses %s %s", async (option, value) => {
    const { identifier } = await anApplication();
    const { code, err } = await run(["application", "refresh", identifier, option, value]);
    expect([code, err]).toEqual([1, expect.stringContaining(`${option} must be`)]);
  });
});

test("application show tells of each queue and each list of a store", async () => {
  const { identifier, apple, application, store, fail } = await anApplication();
  const comments = async () =>
    (await run(["application", "show", identifier])).out
      .split("\n")
      .filter((line) => /^# (?!Last)/.test(line));
  const bundle = application.iosStore[0]?.bundleIdentifier ?? "";
  const ofGoogle = ["production", "sandbox"].map(
    (environment) => `# Queue of android-store ${bundle}, ${environment}: nothing is due`,
  );
  await run(["customer", "refresh", identifier, await store(onIos("p1"), apple), "--no-wait"]);
  await fail("ios-store", "credential-rejected", NOW);
  await createWatermarks(table).raise(
    { application: identifier, store: "android-store", environment: "production", bundleOrPackage: bundle },
    NOW,
  );
  expect(await comments()).toEqual([
    ...ofGoogle,
    `# Queue of ios-store ${bundle}, production: nothing is due`,
    `# Queue of ios-store ${bundle}, sandbox: oldest due since ${isoTime(NOW)}`,
    `# The App Store rejects the application's credential since ${isoTime(NOW)}: the queue is paused until ${isoTime(NOW + 5 * MINUTE)}`,
    `# List of notifications that the App Store could not deliver, ${bundle}, sandbox: never read yet`,
    `# List of Google's voided purchases, ${bundle}, production: read until ${isoTime(NOW)}`,
  ]);
  expect((await run(["application", "show", identifier, "--json"])).json()).toMatchObject({
    queues: [
      { store: "android-store", environment: "production", oldestDueAt: null, paused: null },
      { store: "android-store", environment: "sandbox", oldestDueAt: null, paused: null },
      { store: "ios-store", bundleOrPackage: bundle, oldestDueAt: null, paused: null },
      { environment: "sandbox", oldestDueAt: isoTime(NOW), paused: { because: "credential-rejected" } },
    ],
    sweeps: [{ sweptUntil: null }, { sweptUntil: isoTime(NOW) }],
  });
});
