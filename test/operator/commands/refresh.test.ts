import { HOUR, MINUTE, SECOND } from "../../../lib/duration.ts";
import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { createWatermarks } from "../../../lib/table/queues/notifications.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { withOperator } from "../telling-world.ts";
import * as world from "./refresh-world.ts";
import { onAndroid, onIos } from "./refresh-world.ts";

const given = withOperator();
const anApplication = (options?: Parameters<typeof world.anApplication>[1]) =>
  world.anApplication(given, options);

/** @param wait what happens at each wait for the stores' answers */
const run = async (line: string, wait = async (): Promise<void> => undefined, moment = NOW) => {
  let waits = 0;
  const done = await given.operator.run(line, {
    moment,
    wait: async () => {
      waits += 1;
      await wait();
    },
  });
  return { ...done, waits };
};

const END = NOW + 20 * DAY;
/** So long after its end, the App Store is not asked again by itself. */
const OVER = { startsAt: NOW - 100 * DAY, endsAt: NOW - 70 * DAY, verifiedAt: NOW - 69 * DAY };
describe("customer refresh", () => {
  test("asks the App Store now, and shows what has changed", async () => {
    const { identifier, apple, store, asked, answer } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    const revoked = onIos("p1", { standing: "revoked", revokedAt: NOW - MINUTE, verifiedAt: NOW });
    const done = await run(`customer refresh ${identifier} ${customer}`, () => answer(revoked, apple));
    expect(done.out).toBe(
      [
        `Customer ${customer} of Trails`,
        "  ios-store sandbox purchase p1  monthly",
        `    verified ${isoTime(NOW)}`,
        `    premium: active until ${isoTime(END)} → revoked`,
        "",
      ].join("\n"),
    );
    expect(done).toMatchObject({ code: 0, waits: 1 });
    expect(asked).toMatchObject([{ purchase: { key: "p1" }, ask: { at: NOW }, source: apple }]);
  });

  test("says that there is nothing new, as data too", async () => {
    const { identifier, apple, store, answer } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    const line = `customer refresh ${identifier} ${customer}`;
    const heard = (verifiedAt: Instant) => () => answer(onIos("p1", { verifiedAt }), apple);
    expect((await run(line, heard(NOW - 500))).out).toContain("nothing new");
    expect((await run(`${line} --json`, heard(NOW))).json()).toMatchObject({
      customerIdentifier: customer,
      purchases: [
        {
          key: "p1",
          outcome: "answered",
          verifiedAt: isoTime(NOW),
          changes: [],
          refreshAt: isoTime(END - HOUR),
          queuePaused: null,
        },
      ],
    });
  });

  test("asks Google with the queued token, which no output shows", async () => {
    const { identifier, google, store, work, asked } = await anApplication();
    const source = google("the-secret-token");
    const customer = await store(onAndroid("the-secret-token"), source, { account: "user-1" });
    const refresh = `customer refresh ${identifier} ${customer}`;
    const outputs = [
      await run(`${refresh} --no-wait`),
      await run(`account show ${identifier} user-1 --json`),
      await run(`account show ${identifier} user-1`),
      await run(`application show ${identifier} --json`),
      await run(`application refresh ${identifier}`),
      await run(`${refresh} --json`, () => work(() => Promise.resolve({ outcome: "over" }))),
      await run(`account export ${identifier} user-1`),
      await run(refresh),
    ];
    expect(asked).toMatchObject([{ source }]);
    for (const { out, err } of outputs) expect(out + err).not.toContain("secret-token");
    expect(outputs[5]?.json()).toMatchObject({ purchases: [{ outcome: "dropped", refreshAt: null }] });
    expect(outputs[7]).toMatchObject({ code: 0, waits: 0 });
    expect(outputs[7]?.out).toContain("Google is not asked: it no longer knows the purchase");
  });

  test("resumes a paused queue, and says why it waits still", async () => {
    const { identifier, apple, store, work, asked, fail, answer } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    await fail("ios-store", "credential-rejected", NOW - MINUTE);
    const line = `customer refresh ${identifier} ${customer}`;
    const rejected = await run(line, () => work(() => Promise.resolve({ outcome: "credential-rejected" })));
    expect(asked).toHaveLength(1);
    expect(rejected).toMatchObject({ code: 1, waits: 1 });
    expect(rejected.out).toContain(
      `still waiting\n    The App Store rejects the application's credential since ${isoTime(NOW - MINUTE)}: the queue is paused until ${isoTime(NOW + 15 * MINUTE)}`,
    );
    const mended = await run(line, () => answer(onIos("p1", { verifiedAt: NOW }), apple));
    expect(mended.code).toBe(0);
    expect(mended.out).toContain("nothing new");
  });

  test("gives up waiting after 90 seconds", async () => {
    const { identifier, apple, store } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    const done = await run(`customer refresh ${identifier} ${customer}`);
    expect(done).toMatchObject({ code: 1, waits: 90 });
    expect(done.out).toContain("still waiting\n    The service has not asked yet");
  });

  test.each([
    ["it is asked again", {}, `; it is asked again at ${isoTime(NOW + HOUR)}\n`],
    ["the purchase is long over", OVER, "\n"],
  ])("says that an answer was of no use: %s", async (_, line, next) => {
    const { identifier, apple, store, work } = await anApplication();
    const customer = await store(onIos("p1", line), apple);
    const done = await run(`customer refresh ${identifier} ${customer}`, () =>
      work(() => Promise.resolve({ outcome: "failed" })),
    );
    expect(done).toMatchObject({ code: 1, waits: 1 });
    expect(done.out).toContain(`the store's answer could not be used${next}`);
  });
});

describe("application refresh", () => {
  test("queues all customers' purchases, each bundle or package at its own pace", async () => {
    const { identifier, application, apple, google, store, timesIn } = await anApplication({ isTwice: true });
    const [, lite] = application.androidStore.map(({ packageName }) => packageName);
    for (let index = 0; index < 4; index += 1) {
      await store(onIos(`p${index}`), apple);
      await store(onAndroid(`t${index}`), google(`t${index}`, index % 2 === 0 ? undefined : lite));
    }
    await store(onAndroid("coins", { nature: "consumable", endsAt: null }), google("coins"));
    const done = await run(`application refresh ${identifier} --json`);
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

  test("continues where it was interrupted, and resumes a paused queue", async () => {
    const { identifier, apple, google, store, work, fail, timesIn } = await anApplication();
    await store(onIos("p1"), apple);
    await fail("ios-store", "unavailable", NOW);
    await store(onAndroid("t1"), google("t1"));
    const line = `application refresh ${identifier} --since ${isoTime(NOW)}`;
    const refresh = async (more = "") => (await run(`${line} --json${more}`)).json();
    expect(await refresh(" --store ios-store")).toMatchObject({ queued: 1, customers: 2 });
    expect(await timesIn("android-store")).toEqual([]);
    expect(await refresh()).toMatchObject({ queued: 1, alreadyQueued: 1, recent: 0 });
    await work(async (_, { purchase, source }) => {
      const heard = { verifiedAt: NOW };
      const answered = purchase.store === "ios-store" ? onIos("p1", heard) : onAndroid("t1", heard);
      await store(answered, source, { askedAt: NOW });
      return { outcome: "stored" };
    });
    expect(await refresh()).toMatchObject({ queued: 0, alreadyQueued: 0, recent: 2, until: null });
    expect((await run(line)).out).toBe(
      `2 customers of Trails\n  0 purchases queued, worked off in about 0 seconds\n  2 verified since ${isoTime(NOW)}\n`,
    );
  });

  test("never moves a question to a later time", async () => {
    const { identifier, apple, store, timesIn } = await anApplication();
    const line = { startsAt: NOW - 40 * DAY, endsAt: NOW - 10 * DAY, verifiedAt: NOW - 12 * DAY };
    await store(onIos("p1", line), apple);
    const before = await timesIn("ios-store");
    const later = await run(`application refresh ${identifier} --json`, undefined, NOW + HOUR);
    expect(later.json()).toMatchObject({ queued: 0, alreadyQueued: 1 });
    expect(await timesIn("ios-store")).toEqual(before);
  });

  test.each([
    ["--store", "windows"],
    ["--since", "yesterday"],
  ])("refuses %s %s", async (option, value) => {
    const { identifier } = await anApplication();
    const { code, err } = await run(`application refresh ${identifier} ${option} ${value}`);
    expect([code, err]).toEqual([1, expect.stringContaining(`${option} must be`)]);
  });
});

test("application show tells of each queue and each list of a store", async () => {
  const { identifier, apple, application, store, fail } = await anApplication();
  const comments = async () =>
    (await run(`application show ${identifier}`)).out.split("\n").filter((line) => /^# (?!Last)/.test(line));
  const bundle = application.iosStore[0]?.bundleIdentifier ?? "";
  const ofGoogle = ["production", "sandbox"].map(
    (environment) => `# Queue of android-store ${bundle}, ${environment}: nothing is due`,
  );
  await run(`customer refresh ${identifier} ${await store(onIos("p1"), apple)} --no-wait`);
  await fail("ios-store", "credential-rejected", NOW);
  await createWatermarks(given.table).raise(
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
  expect((await run(`application show ${identifier} --json`)).json()).toMatchObject({
    queues: [
      { store: "android-store", environment: "production", oldestDueAt: null, paused: null },
      { store: "android-store", environment: "sandbox", oldestDueAt: null, paused: null },
      { store: "ios-store", bundleOrPackage: bundle, oldestDueAt: null, paused: null },
      { environment: "sandbox", oldestDueAt: isoTime(NOW), paused: { because: "credential-rejected" } },
    ],
    sweeps: [{ sweptUntil: null }, { sweptUntil: isoTime(NOW) }],
  });
});

test("account show and customer show tell when a store is asked next, and of a pause", async () => {
  const { identifier, apple, store, fail } = await anApplication();
  const customer = await store(onIos("p1"), apple, { account: "user-1" });
  const expected = `The App Store is asked about it at ${isoTime(END - HOUR)}: it may be renewed, or come back`;
  const account = `account show ${identifier} user-1`;
  const shown = [account, `customer show ${identifier} ${customer}`];
  for (const line of shown) expect((await run(line)).out).toContain(expected);
  await fail("ios-store", "unavailable", NOW);
  const [since, until] = [isoTime(NOW), isoTime(NOW + 30 * SECOND)];
  for (const line of shown)
    expect((await run(line)).out).toContain(
      `The App Store does not answer since ${since}: the queue is paused until ${until}`,
    );
  const purchase = {
    nextRefresh: { at: isoTime(END - HOUR), because: "renewal" },
    queuePaused: { because: "unavailable", since, until },
  };
  expect((await run(`${account} --json`)).json()).toMatchObject({
    customers: [{ purchases: [purchase] }],
  });
});
