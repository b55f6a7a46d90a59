import { v7 as uuid } from "uuid";
import { queueCustomer, type Refreshing } from "../../../lib/administration/acts/refresh.ts";
import type { Store } from "../../../lib/contract/schemas.ts";
import { askDuePurchases, pausesOf, type AskRun } from "../../../lib/customers/asking/ask-due-purchases.ts";
import type { PauseReason } from "../../../lib/customers/asking/ask-queue.ts";
import type { StoreInEnvironment } from "../../../lib/customers/asking/store-in-environment.ts";
import { storeFacts } from "../../../lib/customers/storing/store-facts.ts";
import { HOUR, MINUTE, SECOND } from "../../../lib/duration.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { afterFailure, HEALTHY } from "../../../lib/queues/health.ts";
import type { DueAsk, AskSource } from "../../../lib/customers/asking/ask.ts";
import { accountId, applicationId, purchaseKey } from "../../../lib/identifiers.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { createAskQueues } from "../../../lib/table/queues/asks.ts";
import { createWatermarks } from "../../../lib/table/queues/watermarks.ts";
import { refreshingOn } from "../../../operator/composition.ts";
import { runOperator } from "../../../operator/program.ts";
import { applied } from "../../../testing/support/application.ts";
import { aLine, aPurchase, DAY, NOW, proven } from "../../../testing/support/stores/purchases.ts";
import { factStoreOn } from "../../../testing/support/fact-store.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createTestTable();
});
afterAll(() => table.remove());

const pause = () => Promise.resolve();

/** The purchases of these tests are of Apple's sandbox, and of production at Google. */
const environmentOf = (store: Store): "production" | "sandbox" =>
  store === "ios-store" ? "sandbox" : "production";

/** An application with an app in each store, or two at Google; the App Store's has Apple's key unless a test says otherwise. */
const anApplication = async ({
  hasKey = true,
  isTwice = false,
}: { hasKey?: boolean; isTwice?: boolean } = {}) => {
  const identifier = applicationId(uuid());
  const bundleIdentifier = `com.example.t${identifier.replaceAll("-", "")}`;
  const serverApi = { issuerIdentifier: uuid(), keyIdentifier: "ABC123DEFG", secret: "trails/app-store-key" };
  const application = await applied(table, {
    application: { identifier, name: "Trails" },
    stores: {
      "ios-store": [{ bundleIdentifier, environments: ["sandbox"], ...(hasKey && { serverApi }) }],
      "android-store": [bundleIdentifier, ...(isTwice ? [`${bundleIdentifier}.lite`] : [])].map(
        (packageName) => ({
          packageName,
          credential: { secret: "trails/play" },
        }),
      ),
    },
    entitlements: { premium: {} },
    products: (["ios-store", "android-store"] as const).map((ofStore) => ({
      store: ofStore,
      productIdentifier: "monthly",
      grants: ["premium"],
    })),
  });

  const apple: AskSource = { store: "ios-store", bundleIdentifier };
  const google = (purchaseToken: string, packageName = bundleIdentifier): AskSource => ({
    store: "android-store",
    packageName,
    purchaseToken,
    productKind: "subscription",
  });
  /** Stores a purchase as a request does, or, with `askedAt`, as the answer of a store. */
  const store = async (
    purchase: Purchase,
    source: AskSource,
    { account = null, askedAt = null }: { account?: string | null; askedAt?: Instant | null } = {},
  ) => {
    const stored = await storeFacts(
      factStoreOn(table, () => NOW),
      application,
      {
        environment: purchase.environment,
        identities: [],
        purchases: [proven(purchase)],
        renewals: [],
        acknowledgementDue: null,
        origin: { source, canAsk: source.store === "android-store" || hasKey, askedAt },
      },
      account === null ? null : { account: accountId(account), assertedBy: "credential" },
    );
    if (stored.outcome === "refused" || stored.customer === null) throw new Error("nobody");
    return stored.customer.identifier;
  };

  /** The queue of these tests' purchases in a store. */
  const queueIn = (ofStore: Store): StoreInEnvironment => ({
    application: identifier,
    store: ofStore,
    environment: environmentOf(ofStore),
    bundleOrPackage: bundleIdentifier,
  });
  const dueIn = async (ofStore: Store, by: Instant = NOW): Promise<readonly DueAsk[]> =>
    createAskQueues(table).of(queueIn(ofStore)).due(by, 100);
  const timesIn = async (ofStore: Store): Promise<readonly Instant[]> =>
    (await dueIn(ofStore, NOW + DAY)).map(({ dueAt }) => dueAt);
  const asked: DueAsk[] = [];
  const work = async (ask: AskRun["ask"]): Promise<void> => {
    for (const ofStore of ["ios-store", "android-store"] as const)
      await askDuePurchases(
        {
          store: ofStore,
          directory: { byIdentifier: () => Promise.resolve(application) },
          queues: createAskQueues(table),
          table: createCustomerTable(table, pause),
          applications: () => Promise.resolve([identifier]),
          ask: (own, due) => {
            asked.push(due);
            return ask(own, due);
          },
          newWorker: uuid,
          now: () => NOW,
          wait: pause,
          onFailure: (error) => {
            throw error;
          },
        },
        NOW + MINUTE,
      );
  };
  /** The store answers what is due with a purchase. */
  const answer = (purchase: Purchase, source: AskSource): Promise<void> =>
    work(async () => {
      await store(purchase, source, { askedAt: NOW });
      return { outcome: "stored" };
    });
  /** Pauses a queue as a worker does. */
  const fail = async (ofStore: Store, because: PauseReason, moment: Instant): Promise<void> => {
    const queue = createAskQueues(table).of(queueIn(ofStore));
    const lease = { worker: uuid(), until: moment + MINUTE };
    await queue.take(lease, moment);
    await queue.release(lease, afterFailure(HEALTHY, { because, retryAt: null }, pausesOf, moment));
  };
  return {
    identifier,
    application,
    apple,
    google,
    store,
    work,
    answer,
    asked,
    fail,
    queueIn,
    dueIn,
    timesIn,
  };
};

const run = async (words: readonly string[], wait: () => Promise<void> = pause) => {
  let [out, err, waits] = ["", "", 0];
  const code = await runOperator(words, {
    environment: { ...process.env, TABLE_NAME: table.name },
    now: () => NOW,
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    waitForIndex: () => Promise.resolve(),
    wait: async () => {
      waits += 1;
      await wait();
    },
    ask: null,
  });
  return { code, out, err, waits, json: () => JSON.parse(out) as Record<string, unknown> };
};

const END = NOW + 20 * DAY;
/** So long after its end, the App Store is not asked again by itself. */
const OVER = { startsAt: NOW - 100 * DAY, endsAt: NOW - 70 * DAY, verifiedAt: NOW - 69 * DAY };
const onIos = (key: string, line: Parameters<typeof aLine>[0] = {}): Purchase =>
  aPurchase({ environment: "sandbox", key, lines: [aLine({ transactionIdentifier: key, ...line })] });
const onAndroid = (token: string, line: Parameters<typeof aLine>[0] = {}): Purchase =>
  aPurchase({
    store: "android-store",
    key: purchaseKeyOfToken(token),
    lines: [aLine({ transactionIdentifier: null, verifiedAt: NOW - 10 * MINUTE, ...line })],
  });

describe("customer refresh", () => {
  test("asks the App Store now, and shows what has changed", async () => {
    const { identifier, apple, store, asked, answer } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    const revoked = onIos("p1", { standing: "revoked", revokedAt: NOW - MINUTE, verifiedAt: NOW });
    const done = await run(["customer", "refresh", identifier, customer], () => answer(revoked, apple));
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
    expect(asked).toMatchObject([{ purchase: { key: "p1" }, dueAt: NOW, source: apple }]);
  });

  test("says that there is nothing new, as data too", async () => {
    const { identifier, apple, store, answer } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    const words = ["customer", "refresh", identifier, customer];
    const heard = (verifiedAt: Instant) => () => answer(onIos("p1", { verifiedAt }), apple);
    expect((await run(words, heard(NOW - 500))).out).toContain("nothing new");
    expect((await run([...words, "--json"], heard(NOW))).json()).toEqual({
      applicationIdentifier: identifier,
      customerIdentifier: customer,
      purchases: [
        {
          store: "ios-store",
          environment: "sandbox",
          key: "p1",
          productIdentifiers: ["monthly"],
          outcome: "answered",
          notAskedBecause: null,
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
    const refresh = ["customer", "refresh", identifier, customer];
    const outputs = [
      await run([...refresh, "--no-wait"]),
      await run(["account", "show", identifier, "user-1", "--json"]),
      await run(["account", "show", identifier, "user-1"]),
      await run(["application", "show", identifier, "--json"]),
      await run(["application", "refresh", identifier]),
      await run([...refresh, "--json"], () => work(() => Promise.resolve({ outcome: "over" }))),
      await run(["account", "export", identifier, "user-1"]),
      await run(refresh),
    ];
    expect(asked).toMatchObject([{ source }]);
    for (const { out, err } of outputs) expect(out + err).not.toContain("secret-token");
    expect(outputs[5]?.json()).toMatchObject({ purchases: [{ outcome: "dropped", refreshAt: null }] });
    expect(outputs[7]).toMatchObject({ code: 0, waits: 0 });
    expect(outputs[7]?.out).toContain("Google is not asked: it no longer knows the purchase");
  });

  test("says that there is nothing new if Google repeats itself", async () => {
    const { identifier, google, store, answer } = await anApplication();
    const source = google("twice");
    const customer = await store(onAndroid("twice", { verifiedAt: NOW - 30 * SECOND }), source);
    const done = await run(["customer", "refresh", identifier, customer], () =>
      answer(onAndroid("twice", { verifiedAt: NOW }), source),
    );
    expect(done).toMatchObject({ code: 0, waits: 1 });
    expect(done.out).toContain(`verified ${isoTime(NOW - 30 * SECOND)}\n    nothing new`);
  });

  test("says which purchases no store is asked about, and why", async () => {
    const { identifier, apple, google, store } = await anApplication({ hasKey: false });
    const coins = { nature: "consumable", endsAt: null } as const;
    const bought = await store(onAndroid("coins", coins), google("coins"));
    const oneTime = await run(["customer", "refresh", identifier, bought]);
    expect(oneTime).toMatchObject({ code: 0, waits: 0 });
    expect(oneTime.out).toContain(
      "Google is not asked: a paid one-time purchase changes only by a refund, which comes from the hourly list of voided purchases",
    );
    const keyless = await store(onIos("p1"), apple);
    const refused = await run(["customer", "refresh", identifier, keyless]);
    expect(refused.out).toContain("The App Store is not asked: the application gives no key of Apple's");
  });

  test("resumes a paused queue, and says why it waits still", async () => {
    const { identifier, apple, store, work, asked, fail, answer } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    await fail("ios-store", "credential-rejected", NOW - MINUTE);
    const words = ["customer", "refresh", identifier, customer];
    const rejected = await run(words, () => work(() => Promise.resolve({ outcome: "credential-rejected" })));
    expect(asked).toHaveLength(1);
    expect(rejected).toMatchObject({ code: 1, waits: 1 });
    expect(rejected.out).toContain(
      `still waiting\n    The App Store rejects the application's credential since ${isoTime(NOW - MINUTE)}: the queue is paused until ${isoTime(NOW + 15 * MINUTE)}`,
    );
    const mended = await run(words, () => answer(onIos("p1", { verifiedAt: NOW }), apple));
    expect(mended.code).toBe(0);
    expect(mended.out).toContain("nothing new");
  });

  test("gives up waiting after 90 seconds", async () => {
    const { identifier, apple, store } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    const done = await run(["customer", "refresh", identifier, customer]);
    expect(done).toMatchObject({ code: 1, waits: 90 });
    expect(done.out).toContain("still waiting\n    The service has not asked yet");
  });

  test.each([
    ["it is asked again", {}, `; it is asked again at ${isoTime(NOW + HOUR)}\n`],
    ["the purchase is long over", OVER, "\n"],
  ])("says that an answer was of no use: %s", async (_, line, next) => {
    const { identifier, apple, store, work } = await anApplication();
    const customer = await store(onIos("p1", line), apple);
    const done = await run(["customer", "refresh", identifier, customer], () =>
      work(() => Promise.resolve({ outcome: "failed" })),
    );
    expect(done).toMatchObject({ code: 1, waits: 1 });
    expect(done.out).toContain(`the store's answer could not be used${next}`);
  });

  test("does not take what the app sends for the answer", async () => {
    const { identifier, apple, store, asked, answer } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    const refresh = ["customer", "refresh", identifier, customer];
    await run([...refresh, "--no-wait"]);
    const done = await run(refresh, async () => {
      await store(onIos("p1", { verifiedAt: NOW }), apple);
    });
    expect(done).toMatchObject({ code: 1, waits: 90 });
    expect(done.out).toContain("still waiting");
    const answered = await run(refresh, () => answer(onIos("p1", { verifiedAt: NOW }), apple));
    expect(asked).toHaveLength(1);
    expect(answered).toMatchObject({ code: 0, waits: 1 });
  });

  test("does not wait with --no-wait", async () => {
    const { identifier, apple, store, dueIn } = await anApplication();
    const customer = await store(onIos("p1"), apple);
    const done = await run(["customer", "refresh", identifier, customer, "--no-wait"]);
    expect(done).toMatchObject({ code: 0, waits: 0 });
    expect(done.out).toContain("queued to be asked about now");
    expect(await dueIn("ios-store")).toMatchObject([
      { purchase: { key: "p1" }, dueAt: NOW, because: "requested" },
    ]);
  });

  test("names no customer that there is not", async () => {
    const { identifier } = await anApplication();
    const { code, err } = await run(["customer", "refresh", identifier, uuid()]);
    expect([code, err]).toEqual([1, expect.stringMatching(/^There is no customer .* in Trails\.\n$/)]);
  });

  describe("reads a purchase again", () => {
    const refreshing = (queue: Partial<Refreshing["queue"]>): Refreshing => {
      const own = refreshingOn(table, { now: () => NOW, wait: pause });
      return { ...own, pause, queue: { ...own.queue, ...queue } };
    };
    test("that changes before it is queued", async () => {
      const { application, google, store, dueIn } = await anApplication();
      const source = google("racing");
      const customer = await store(onAndroid("racing"), source);
      const queue = createAskQueues(table);
      let changes = 0;
      const queued = await queueCustomer(
        refreshing({
          set: async (...given) => {
            changes += 1;
            const verifiedAt = NOW - 9 * MINUTE + changes * 2 * MINUTE;
            if (changes < 3) await store(onAndroid("racing", { verifiedAt }), source, { askedAt: NOW });
            return queue.set(...given);
          },
        }),
        application,
        customer,
      );
      expect(changes).toBe(3);
      expect(queued?.purchases).toMatchObject([{ outcome: "queued", dueAt: NOW }]);
      expect(await dueIn("android-store")).toMatchObject([{ dueAt: NOW, source }]);
    });
    test("that keeps changing only so many times", async () => {
      const { application, apple, store } = await anApplication();
      const customer = await store(onIos("p1"), apple);
      const set = () => Promise.resolve("conflict" as const);
      await expect(queueCustomer(refreshing({ set }), application, customer)).rejects.toThrow(
        "Too many concurrent changes",
      );
    });
    test("whose token is gone from the queue", async () => {
      const { application, google, store } = await anApplication();
      const customer = await store(onAndroid("lost"), google("lost"));
      const sourceOf = () => Promise.resolve(null);
      const queued = await queueCustomer(refreshing({ sourceOf }), application, customer);
      expect(queued?.purchases).toMatchObject([{ outcome: "not-asked", because: "token-gone" }]);
    });
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
    const { identifier, apple, store, fail, queueIn } = await anApplication();
    await store(onIos("p1"), apple);
    await fail("ios-store", "unavailable", NOW);
    await run(["application", "refresh", identifier]);
    const health = await createAskQueues(table).healthOf(queueIn("ios-store"));
    expect(health).toMatchObject({ pausedUntil: 0, failures: 1 });
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

describe("what is shown of an account", () => {
  test("tells when a store is asked next, and of a pause", async () => {
    const { identifier, apple, store, fail } = await anApplication();
    const customer = await store(onIos("p1"), apple, { account: "user-1" });
    const expected = `The App Store is asked about it at ${isoTime(END - HOUR)}: it may be renewed, or come back`;
    const shown = [
      ["account", "show", identifier, "user-1"],
      ["customer", "show", identifier, customer],
    ];
    for (const words of shown) expect((await run(words)).out).toContain(expected);
    await fail("ios-store", "unavailable", NOW);
    for (const words of shown)
      expect((await run(words)).out).toContain(
        `The App Store does not answer since ${isoTime(NOW)}: the queue is paused until ${isoTime(NOW + 30 * SECOND)}`,
      );
    const json = (await run([...(shown[0] ?? []), "--json"])).json();
    expect(json).toMatchObject({
      customers: [
        {
          purchases: [
            {
              nextRefresh: { at: isoTime(END - HOUR), because: "renewal" },
              notAskedBecause: null,
              queuePaused: { because: "unavailable", since: isoTime(NOW), until: isoTime(NOW + 30 * SECOND) },
            },
          ],
        },
      ],
    });
  });

  test("tells why a store is not asked", async () => {
    const { identifier, google, store } = await anApplication();
    const replaced = { ...onAndroid("t1"), replacedBy: purchaseKey("2") };
    await store(replaced, google("t1"), { account: "user-1" });
    expect((await run(["account", "show", identifier, "user-1"])).out).toContain(
      "Google is not asked: another purchase has replaced it",
    );
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
  expect(await comments()).toEqual([
    ...ofGoogle,
    `# Queue of ios-store ${bundle}, production: nothing is due`,
    `# Queue of ios-store ${bundle}, sandbox: nothing is due`,
    `# List of notifications that the App Store could not deliver, ${bundle}, sandbox: never read yet`,
    `# List of Google's voided purchases, ${bundle}, production: never read yet`,
  ]);
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
