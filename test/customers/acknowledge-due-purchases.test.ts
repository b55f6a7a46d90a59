import { PutCommand } from "@aws-sdk/lib-dynamodb";
import type { Application } from "../../lib/applications/application.ts";
import {
  acknowledgeDuePurchases,
  type AcknowledgementRun,
} from "../../lib/customers/acknowledge-due-purchases.ts";
import {
  linkAndroidStoreCustomer,
  type AndroidStoreLinking,
} from "../../lib/customers/link-android-store-customer.ts";
import { sourceOf, storeAndroidStorePurchase } from "../../lib/customers/store-android-store-purchase.ts";
import { createAcknowledgementQueue } from "../../lib/table/acknowledgements.ts";
import { ACKNOWLEDGEMENT_SHARDS, acknowledgementPartition } from "../../lib/table/keys.ts";
import { createRefreshQueue } from "../../lib/table/refreshes.ts";
import {
  aGoogleError,
  DAY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../testing/support/android-store.ts";
import { aCatalog, aProduct } from "../../testing/support/purchases.ts";
import { waitingIn, type TestTable } from "../../testing/support/table.ts";
import { anApplication } from "../../testing/support/application.ts";
import { createWorld } from "../../testing/support/world.ts";
import { createMemoryTable } from "../../testing/support/memory-table.ts";

const FAILURE = { status: 500 };
/** Report of a run that found nothing due. */
const NOTHING = { done: 0, due: 0, oldest: 0, nearDeadline: 0, failed: 0 };

let table: TestTable;
let local: LocalAndroidStore;
beforeEach(async () => {
  [table, local] = await Promise.all([createMemoryTable(), startAndroidStore()]);
});
afterEach(async () => {
  await Promise.all([table.remove(), local.close()]);
});

/** An application; the test chooses the moments at which its purchases are linked and acknowledged. */
const aWorld = (transfers: Application["transfers"] = "refuse") => {
  const world = createWorld(table, {
    application: anApplication({
      androidStore: [
        { ...local.androidPackage, environments: ["production", "sandbox"], notifications: null },
      ],
      catalog: aCatalog([aProduct({ store: "android-store", productIdentifier: "premium" })]),
      transfers,
    }),
    pause: () => Promise.resolve(),
  });
  const { application, directory } = world;
  const queue = createAcknowledgementQueue(table);
  const failures: unknown[] = [];
  const at = (moment: number) => {
    const androidStore = local.store({ now: () => moment });
    const now = () => moment;
    const { factStore } = world.at(moment);
    const linking: AndroidStoreLinking = {
      ...factStore,
      directory,
      androidStore,
      acknowledgements: queue,
    };
    return {
      /** Stores the purchase without an account, as a notification does. */
      hear: async (purchaseToken: string) => {
        const [configuration] = application.androidStore;
        if (configuration === undefined) throw new Error("The application has a package.");
        const answer = await androidStore.lookUp(configuration, {
          purchaseToken,
          productKind: "subscription",
          productIdentifier: null,
        });
        if (answer.outcome !== "verified") throw new Error(answer.outcome);
        const question = {
          source: sourceOf(configuration, { purchaseToken, productKind: "subscription" }),
          askedAt: null,
        };
        await storeAndroidStorePurchase(linking, application, configuration, answer, question, null);
      },
      link: (purchaseToken: string, account = "user-1") =>
        linkAndroidStoreCustomer(linking, application.identifier, {
          packageName: PACKAGE_NAME,
          purchaseToken,
          productKind: "subscription",
          applicationAccountIdentifier: account,
        }),
      run: (
        until = moment + 60_000,
        waiting: AcknowledgementRun["queue"] = queue,
        neighbour: Application = application,
      ) =>
        acknowledgeDuePurchases(
          {
            directory: {
              ...directory,
              byIdentifier: async (identifier) =>
                identifier === neighbour.identifier ? neighbour : directory.byIdentifier(identifier),
            },
            androidStore,
            queue: waiting,
            refreshes: createRefreshQueue(table),
            table: factStore.table,
            now,
            onFailure: (error) => failures.push(error),
          },
          until,
        ),
    };
  };
  return {
    at,
    failures,
    application: application.identifier,
    configured: application,
    queued: async () => (await waitingIn(queue)).length,
  };
};

const buy = (changes: object = {}): string =>
  local.sandbox.buy({
    packageName: PACKAGE_NAME,
    productKind: "subscription",
    productIdentifier: "premium",
    basePlanIdentifier: "monthly",
    ...changes,
  });
const isAcknowledged = (token: string): boolean =>
  local.sandbox.read(token)?.answer.acknowledgementState === "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";
const acknowledgementsSent = (): number =>
  local.sandbox.calls.filter(({ path }) => path.endsWith(":acknowledge")).length;

/** Links a purchase while the store answers look-ups and fails acknowledgements. */
const linkedButNotAcknowledged = async (world: ReturnType<typeof aWorld>, token: string): Promise<void> => {
  const answer = local.sandbox.read(token)?.answer;
  local.sandbox.failNext("publisher", { status: 200, body: answer }, FAILURE, FAILURE);
  await world.at(NOW).link(token);
  local.sandbox.clearFaults();
};

test("an acknowledgement that succeeds at once leaves nothing in its queue, and the token only in that of refreshes", async () => {
  const world = aWorld();
  const token = buy();
  await world.at(NOW).link(token);
  expect(isAcknowledged(token)).toBe(true);
  expect(await world.queued()).toBe(0);
  const others = (await table.items()).filter(({ pk }) => !String(pk).includes("#REFRESH#"));
  expect(JSON.stringify(others)).not.toContain(token);
});

describe("a purchase without an account", () => {
  test("waits: nobody has got anything yet", async () => {
    const world = aWorld();
    const token = buy();
    await world.at(NOW).hear(token);
    expect(await world.at(NOW + DAY).run()).toEqual(NOTHING);
    expect([isAcknowledged(token), await world.queued()]).toEqual([false, 1]);
  });

  test("is acknowledged once another purchase of its customer is linked", async () => {
    const world = aWorld();
    const first = buy();
    await world.at(NOW).hear(first);
    const second = buy({ replaces: first });
    await world.at(NOW + 1).hear(second);
    await world.at(NOW + 2).link(first);
    expect(isAcknowledged(second)).toBe(false);
    await world.at(NOW + 3).run();
    expect(isAcknowledged(second)).toBe(true);
    expect(await world.queued()).toBe(0);
  });

  test("is given up at the store's deadline, without a failure", async () => {
    const world = aWorld();
    const token = buy();
    await world.at(NOW).hear(token);
    expect(await world.at(NOW + 3 * DAY).run()).toEqual(NOTHING);
    expect([isAcknowledged(token), await world.queued()]).toEqual([false, 0]);
  });

  test("is neither due nor kept for longer: unclaimed, of a package that is configured no more", async () => {
    const world = aWorld();
    await world.at(NOW).hear(buy());
    const withoutPackage = { ...world.configured, androidStore: [] };
    const runAt = (moment: number) => world.at(moment).run(undefined, undefined, withoutPackage);
    expect(await runAt(NOW + 3 * DAY - 1)).toEqual(NOTHING);
    expect(await world.queued()).toBe(1);
    expect(await runAt(NOW + 3 * DAY)).toEqual(NOTHING);
    expect(await world.queued()).toBe(0);
  });

  test("is neither due nor kept for longer: unclaimed, of a package whose credential is rejected", async () => {
    const world = aWorld();
    const [linked, unclaimed] = [buy(), buy()];
    await linkedButNotAcknowledged(world, linked);
    await world.at(NOW).hear(unclaimed);
    const queue = createAcknowledgementQueue(table);
    const waiting = await waitingIn(queue);
    // The linked one comes first: with it the run learns of the rejection.
    const inOrder = [linked, unclaimed].flatMap((token) =>
      waiting.filter(({ purchaseToken }) => purchaseToken === token),
    );
    const refused = { status: 400, body: { error: "invalid_grant" } };
    const runAt = async (moment: number) => {
      local.sandbox.failNext("token", refused, refused);
      const report = await world.at(moment).run(undefined, {
        ...queue,
        shards: 1,
        waiting: async function* () {
          yield inOrder;
        },
      });
      local.sandbox.clearFaults();
      return report;
    };
    const oneDue = { ...NOTHING, due: 1, nearDeadline: 1, credentialRejectedOf: [world.application] };
    expect(await runAt(NOW + 3 * DAY - 1)).toEqual({ ...oneDue, oldest: 3 * DAY - 1 });
    expect(await world.queued()).toBe(2);
    expect(await runAt(NOW + 3 * DAY)).toEqual({ ...oneDue, oldest: 3 * DAY });
    expect((await waitingIn(queue)).map(({ purchaseToken }) => purchaseToken)).toEqual([linked]);
  });
});

test("a failed acknowledgement stays due, is retried, and is done once it succeeds", async () => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  expect(await world.queued()).toBe(1);
  const answer = local.sandbox.read(token)?.answer;
  local.sandbox.failNext("publisher", { status: 200, body: answer }, FAILURE, FAILURE);
  expect(await world.at(NOW + DAY).run()).toEqual({ ...NOTHING, due: 1, oldest: DAY });
  local.sandbox.clearFaults();
  expect(await world.at(NOW + DAY).run()).toEqual({ ...NOTHING, done: 1 });
  expect(isAcknowledged(token)).toBe(true);
  expect(await world.queued()).toBe(0);
  expect(await world.at(NOW + DAY).run()).toEqual(NOTHING);
});

test.each<[what: string, shown: (world: ReturnType<typeof aWorld>) => Promise<string>]>([
  [
    "an acknowledgement that failed before",
    async (world) => {
      const token = buy();
      await linkedButNotAcknowledged(world, token);
      return token;
    },
  ],
  [
    "the acknowledgement of a purchase that replaced the owner's",
    async (world) => {
      const replaced = buy();
      await world.at(NOW).link(replaced);
      return buy({ replaces: replaced });
    },
  ],
])("a refused link acknowledges for the owner: %s", async (_, shown) => {
  const world = aWorld();
  const token = await shown(world);
  const before = acknowledgementsSent();
  await expect(world.at(NOW + 1000).link(token, "user-2")).rejects.toMatchObject({
    code: "CUSTOMER_ALREADY_LINKED",
  });
  expect(acknowledgementsSent()).toBe(before + 1);
  expect(isAcknowledged(token)).toBe(true);
  expect(await world.queued()).toBe(0);
});

test("an acknowledgement that fails on a refused link stays due for the owner", async () => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  local.sandbox.failNext(
    "publisher",
    { status: 200, body: local.sandbox.read(token)?.answer },
    FAILURE,
    FAILURE,
  );
  await expect(world.at(NOW + 1000).link(token, "user-2")).rejects.toMatchObject({
    code: "CUSTOMER_ALREADY_LINKED",
  });
  local.sandbox.clearFaults();
  expect(await world.queued()).toBe(1);
  expect(await world.at(NOW + DAY).run()).toMatchObject({ done: 1 });
});

test("an acknowledgement near its deadline is counted, and has failed a week after it if the store gives no answer", async () => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  const failing = async (moment: number) => {
    local.sandbox.failNext("publisher", FAILURE, FAILURE);
    const report = await world.at(moment).run();
    local.sandbox.clearFaults();
    return report;
  };
  expect(await failing(NOW + 2 * DAY + 1000)).toEqual({
    ...NOTHING,
    due: 1,
    oldest: 2 * DAY + 1000,
    nearDeadline: 1,
  });
  const stillDue = { ...NOTHING, due: 1, nearDeadline: 1 };
  expect(await failing(NOW + 3 * DAY)).toEqual({ ...stillDue, oldest: 3 * DAY });
  expect(await failing(NOW + 10 * DAY - 1)).toEqual({ ...stillDue, oldest: 10 * DAY - 1 });
  expect(await world.queued()).toBe(1);
  expect(await failing(NOW + 10 * DAY)).toEqual({ ...NOTHING, failed: 1 });
  expect(await world.queued()).toBe(0);
});

test.each<[what: string, older: object, startTime: number, newer: (first: string) => string]>([
  [
    "a top-up, whose plan is not known",
    { prepaid: true, period: "P1M" },
    NOW,
    (first) => local.sandbox.change(first, "top-up", { period: "P1M" }),
  ],
  [
    "a top-up that keeps the start of the first one",
    { prepaid: true, period: "P1M" },
    NOW - 20 * DAY,
    (first) => local.sandbox.change(first, "top-up", { period: "P1M" }),
  ],
  [
    "a replacement that keeps the start of the older one",
    {},
    NOW - 20 * DAY,
    (first) => buy({ replaces: first }),
  ],
])(
  "an acknowledgement is tried for three days, whatever the deadline: of %s",
  async (_, older, startTime, newer) => {
    const world = aWorld();
    const first = buy(older);
    await world.at(NOW).link(first);
    const token = newer(first);
    const kept = { ...local.sandbox.read(token)?.answer, startTime: new Date(startTime).toISOString() };
    local.sandbox.failNext("publisher", { status: 200, body: kept }, FAILURE, FAILURE);
    await world.at(NOW).link(token);
    local.sandbox.failNext("publisher", FAILURE, FAILURE);
    expect(await world.at(NOW + 3 * DAY - 1).run()).toMatchObject({ due: 1, nearDeadline: 1, failed: 0 });
    local.sandbox.clearFaults();
    expect(await world.at(NOW + 3 * DAY - 1).run()).toMatchObject({ done: 1 });
    expect(isAcknowledged(token)).toBe(true);
  },
);

test("an acknowledgement past its deadline stays due while the store says that it waits", async () => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  const answer = local.sandbox.read(token)?.answer;
  const refused = { status: 403, body: { error: { code: 403, errors: [] } } };
  local.sandbox.failNext("publisher", { status: 200, body: answer }, refused, refused);
  expect(await world.at(NOW + 3 * DAY).run()).toMatchObject({ due: 1, nearDeadline: 1, failed: 0 });
  local.sandbox.clearFaults();
  expect(await world.at(NOW + 3 * DAY + 1000).run()).toMatchObject({ done: 1, failed: 0 });
  expect(isAcknowledged(token)).toBe(true);
});

test.each(["ACTIVE", "CANCELED"])(
  "an acknowledgement has failed once the store shows that its prepaid plan has ended: %s",
  async (state) => {
    const world = aWorld();
    const token = buy({ prepaid: true, period: "P1D" });
    await linkedButNotAcknowledged(world, token);
    const ended = {
      ...local.sandbox.read(token)?.answer,
      subscriptionState: `SUBSCRIPTION_STATE_${state}`,
    };
    const refused = { status: 400, body: aGoogleError(400, "failedPrecondition") };
    const runAt = async (moment: number) => {
      local.sandbox.failNext("publisher", { status: 200, body: ended }, refused, refused);
      const report = await world.at(moment).run();
      local.sandbox.clearFaults();
      return report;
    };
    expect(await runAt(NOW + DAY - 1)).toMatchObject({ due: 1, failed: 0 });
    expect(await runAt(NOW + DAY)).toEqual({ ...NOTHING, failed: 1 });
    expect(await world.queued()).toBe(0);
  },
);

test("an acknowledgement that the store refuses until it is given up has failed and is not retried", async () => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  local.sandbox.drop(token);
  expect(await world.at(NOW + 1000).run()).toMatchObject({ due: 1, failed: 0 });
  expect(await world.at(NOW + 3 * DAY).run()).toMatchObject({ done: 0, failed: 1 });
  expect(await world.queued()).toBe(0);
});

test.each([
  [404, "purchaseTokenNotFound"],
  [400, "purchaseTokenNotFound"],
  [410, "purchaseTokenNoLongerValid"],
])("an acknowledgement stays due while the store answers %i by mistake", async (status, reason) => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  local.sandbox.failNext("publisher", { status, body: aGoogleError(status, reason) });
  expect(await world.at(NOW + 1000).run()).toMatchObject({ due: 1, failed: 0 });
  local.sandbox.clearFaults();
  expect(await world.at(NOW + DAY).run()).toMatchObject({ done: 1 });
  expect(isAcknowledged(token)).toBe(true);
});

describe("a link that the store answers 410, by mistake", () => {
  const DROPPED = { status: 410, body: aGoogleError(410, "purchaseTokenNoLongerValid") };
  /** The outcome of an action while the store answers 410. */
  const dropped = async (act: () => Promise<unknown>): Promise<string> => {
    local.sandbox.failNext("publisher", DROPPED, DROPPED, DROPPED);
    const outcome = await act().then(
      () => "linked",
      (error: { readonly code: string }) => error.code,
    );
    local.sandbox.clearFaults();
    return outcome;
  };
  test("leaves the acknowledgement due of what a notification stored, and links it", async () => {
    const world = aWorld();
    const token = buy();
    await world.at(NOW).hear(token);
    expect(await dropped(() => world.at(NOW + 1000).link(token))).toBe("linked");
    expect(await world.queued()).toBe(1);
    expect(await world.at(NOW + 60_000).run()).toMatchObject({ done: 1 });
    expect(isAcknowledged(token)).toBe(true);
  });
  test("leaves it due where the link is refused", async () => {
    const world = aWorld();
    const token = buy();
    await linkedButNotAcknowledged(world, token);
    expect(await dropped(() => world.at(NOW + 1000).link(token, "user-2"))).toBe("CUSTOMER_ALREADY_LINKED");
    expect(await world.at(NOW + 60_000).run()).toMatchObject({ done: 1 });
    expect(isAcknowledged(token)).toBe(true);
  });
  test.each([
    ["ended, and may be renewed", 31, "CUSTOMER_ALREADY_LINKED"],
    ["is long over", 100, "linked"],
  ])(
    "moves a subscription under when_inactive only once it is long over: one that %s",
    async (_, days, outcome) => {
      const world = aWorld("when_inactive");
      const token = buy();
      await world.at(NOW).link(token);
      expect(await dropped(() => world.at(NOW + days * DAY).link(token, "user-2"))).toBe(outcome);
    },
  );
  test("moves one whose end is long ago, whenever it was heard of since", async () => {
    const world = aWorld("when_inactive");
    const token = buy();
    await world.at(NOW).link(token);
    await world.at(NOW + 80 * DAY).hear(token);
    const linkAt = (days: number) => dropped(() => world.at(NOW + days * DAY).link(token, "user-2"));
    expect(await linkAt(81)).toBe("CUSTOMER_ALREADY_LINKED");
    expect(await linkAt(100)).toBe("linked");
  });
  test("moves no purchase whose payment is pending", async () => {
    const world = aWorld("when_inactive");
    const token = buy({ pending: true });
    await world.at(NOW).link(token);
    expect(await dropped(() => world.at(NOW + 1000).link(token, "user-2"))).toBe("CUSTOMER_ALREADY_LINKED");
  });
});

test("an application whose credential the store refuses is reported, and its other purchases are skipped", async () => {
  const world = aWorld();
  const tokens = [buy(), buy(), buy()];
  for (const token of tokens) await linkedButNotAcknowledged(world, token);
  const refused = { status: 400, body: { error: "invalid_grant" } };
  local.sandbox.failNext("token", ...Array.from({ length: 20 }, () => refused));
  const waiting = await waitingIn(createAcknowledgementQueue(table));
  local.sandbox.calls.length = 0;
  // Shards run concurrently. Within one shard, items are processed one after the other.
  const { credentialRejectedOf, ...report } = await world.at(NOW + 1000).run(undefined, {
    shards: ACKNOWLEDGEMENT_SHARDS,
    waiting: async function* (shard) {
      if (shard === 0) yield waiting;
    },
    remove: () => Promise.reject(new Error("Nothing is done.")),
  });
  local.sandbox.clearFaults();
  expect(report).toEqual({ ...NOTHING, due: 3, oldest: 1000 });
  expect(credentialRejectedOf).toEqual([world.application]);
  expect(local.sandbox.calls.map(({ endpoint }) => endpoint)).toEqual(["token"]);
});

test("an application whose credential may read but not acknowledge is reported, and all of its purchases are tried", async () => {
  const world = aWorld();
  const tokens = [buy(), buy(), buy()];
  for (const token of tokens) await linkedButNotAcknowledged(world, token);
  const refused = {
    status: 403,
    body: { error: { code: 403, errors: [{ reason: "insufficientPermissions" }] } },
  };
  // The look-up succeeds; the acknowledgement and its retry are refused.
  for (const token of tokens)
    local.sandbox.failNext(
      "publisher",
      { status: 200, body: local.sandbox.read(token)?.answer },
      refused,
      refused,
    );
  const waiting = await waitingIn(createAcknowledgementQueue(table));
  local.sandbox.calls.length = 0;
  const report = await world.at(NOW + 1000).run(undefined, {
    shards: ACKNOWLEDGEMENT_SHARDS,
    waiting: async function* (shard) {
      if (shard === 0) yield waiting;
    },
    remove: () => Promise.reject(new Error("Nothing is done.")),
  });
  local.sandbox.clearFaults();
  expect(report).toEqual({
    ...NOTHING,
    due: 3,
    oldest: 1000,
    credentialRejectedOf: [world.application],
  });
  const asked = local.sandbox.calls.filter(({ endpoint }) => endpoint === "publisher");
  expect(asked.map(({ method }) => method)).toEqual(tokens.flatMap(() => ["GET", "POST", "POST"]));
});

test("an application whose acknowledgements keep failing lets the other applications go first, and its own take turns", async () => {
  const [world, other] = [aWorld(), aWorld()];
  const refused = Array.from({ length: 6 }, () => buy());
  for (const token of refused) await linkedButNotAcknowledged(world, token);
  const good = buy();
  await linkedButNotAcknowledged(other, good);
  const all = await waitingIn(createAcknowledgementQueue(table));
  const waiting = [...refused, good].flatMap((token) =>
    all.filter(({ purchaseToken }) => purchaseToken === token),
  );
  const read = { status: 200, body: local.sandbox.read(good)?.answer };
  const forbidden = {
    status: 403,
    body: { error: { code: 403, errors: [{ reason: "insufficientPermissions" }] } },
  };
  const lookedUpAt = async (moment: number): Promise<string[]> => {
    const isRefused = [read, forbidden, forbidden];
    const three = [...isRefused, ...isRefused, ...isRefused];
    local.sandbox.failNext("publisher", ...three, read, { status: 200, body: {} }, ...three);
    local.sandbox.calls.length = 0;
    const report = await other.at(moment).run(
      undefined,
      {
        shards: ACKNOWLEDGEMENT_SHARDS,
        waiting: async function* (shard) {
          if (shard === 0) yield waiting;
        },
        remove: () => Promise.resolve(),
      },
      world.configured,
    );
    local.sandbox.clearFaults();
    expect(report).toMatchObject({ done: 1, due: 6, credentialRejectedOf: [world.application] });
    return local.sandbox.calls.flatMap(({ endpoint, method, path }) =>
      endpoint === "publisher" && method === "GET" ? [path.slice(path.lastIndexOf("/") + 1)] : [],
    );
  };
  const [a, b, c, d, e, f] = refused;
  const inThirds = NOW + 1000 - ((NOW + 1000) % 3);
  expect(await lookedUpAt(inThirds)).toEqual([a, b, c, good, d, e, f]);
  expect(await lookedUpAt(inThirds + 1)).toEqual([a, b, c, good, e, f, d]);
});

test("a licence tester's acknowledgement has three minutes, and its failure is not counted", async () => {
  const world = aWorld();
  const token = buy({ test: true });
  await linkedButNotAcknowledged(world, token);
  local.sandbox.failNext("publisher", FAILURE, FAILURE);
  expect(await world.at(NOW + 60_000).run()).toEqual({ ...NOTHING, due: 1 });
  local.sandbox.clearFaults();
  local.sandbox.drop(token);
  expect(await world.at(NOW + 3 * 60_000).run()).toEqual(NOTHING);
  expect(await world.queued()).toBe(0);
});

test("an acknowledgement that the app has already made is done without another call", async () => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  const stored = local.sandbox.read(token);
  if (stored?.productKind !== "subscription") throw new Error("not a subscription");
  local.sandbox.put(token, {
    ...stored,
    answer: { ...stored.answer, acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED" },
  });
  const before = acknowledgementsSent();
  expect(await world.at(NOW + 1000).run()).toMatchObject({ done: 1 });
  expect(acknowledgementsSent()).toBe(before);
});

test("an acknowledgement that always fails does not block those behind it", async () => {
  const world = aWorld();
  const [old, good] = [buy(), buy()];
  await linkedButNotAcknowledged(world, old);
  await linkedButNotAcknowledged(world, good);
  const [first, second] = await waitingIn(createAcknowledgementQueue(table));
  if (first === undefined || second === undefined) throw new Error("Two wait.");
  const [ofOld, ofGood] = first.purchaseToken === old ? [first, second] : [second, first];
  const removed: string[] = [];
  const report = await world.at(NOW + 1000).run(undefined, {
    shards: ACKNOWLEDGEMENT_SHARDS,
    waiting: async function* (shard) {
      if (shard > 0) return;
      // Three pages of items whose package is configured no more.
      for (let page = 0; page < 3; page += 1)
        yield Array.from({ length: 50 }, () => ({ ...ofOld, packageName: "com.example.gone" }));
      yield [ofGood];
    },
    remove: ({ purchase }) => Promise.resolve(void removed.push(purchase.key)),
  });
  expect(report).toMatchObject({ done: 1, due: 150 });
  expect(removed).toEqual([ofGood.purchase.key]);
  expect([old, good].map(isAcknowledged)).toEqual([false, true]);
});

test("an unexpected failure of one is passed on, and the acknowledgement stays due", async () => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  const waiting = await waitingIn(createAcknowledgementQueue(table));
  const failure = new Error("The table is gone.");
  const report = await world.at(NOW + 1000).run(undefined, {
    shards: ACKNOWLEDGEMENT_SHARDS,
    waiting: async function* (shard) {
      if (shard === 0) yield waiting;
    },
    remove: () => Promise.reject(failure),
  });
  expect(report).toEqual({ ...NOTHING, due: 1, oldest: 1000 });
  expect(world.failures).toEqual([failure]);
});

test("all due acknowledgements are tried, and none is started once time is over", async () => {
  const world = aWorld();
  const tokens = Array.from({ length: 9 }, () => buy());
  for (const token of tokens) await linkedButNotAcknowledged(world, token);
  expect(await world.at(NOW + 1000).run(NOW)).toEqual(NOTHING);
  expect(await world.at(NOW + 1000).run()).toMatchObject({ done: 9 });
  expect(tokens.every(isAcknowledged)).toBe(true);
});

describe("the queue's shards", () => {
  const SHARDS = Array.from({ length: ACKNOWLEDGEMENT_SHARDS }, (_, shard) => shard);

  test("skip an item of an unknown shape and process the items behind it", async () => {
    const world = aWorld();
    const tokens = Array.from({ length: 4 }, () => buy());
    for (const token of tokens) await linkedButNotAcknowledged(world, token);
    const oldest = { sk: "2026-01-01T00:00:00.000Z#later", kind: "of a later version" };
    for (const shard of SHARDS)
      await table.client.send(
        new PutCommand({ TableName: table.name, Item: { pk: acknowledgementPartition(shard), ...oldest } }),
      );
    expect(await world.at(NOW + 1000).run()).toEqual({ ...NOTHING, done: 4 });
    expect(tokens.every(isAcknowledged)).toBe(true);
    expect((await table.items()).filter(({ kind }) => kind === oldest.kind)).toHaveLength(SHARDS.length);
  });

  test("are all processed when one cannot be read, and then the run fails", async () => {
    const world = aWorld();
    const tokens = Array.from({ length: 8 }, () => buy());
    for (const token of tokens) await linkedButNotAcknowledged(world, token);
    const queue = createAcknowledgementQueue(table);
    const waitingIn = async (shard: number): Promise<string[]> => {
      const waiting: string[] = [];
      for await (const page of queue.waiting(shard))
        waiting.push(...page.map(({ purchaseToken }) => purchaseToken));
      return waiting;
    };
    const waiting = await Promise.all(SHARDS.map(waitingIn));
    const unreadable = waiting.findIndex((some) => some.length > 0);
    const failure = new Error("The shard could not be read.");
    const run = world.at(NOW + 1000).run(undefined, {
      ...queue,
      waiting: async function* (shard) {
        if (shard === unreadable) throw failure;
        yield* queue.waiting(shard);
      },
    });
    await expect(run).rejects.toBe(failure);
    const left = new Set(waiting[unreadable]);
    expect(tokens.filter((token) => !isAcknowledged(token)).every((token) => left.has(token))).toBe(true);
    expect(tokens.filter(isAcknowledged)).toHaveLength(tokens.length - left.size);
    expect(await world.at(NOW + 1000).run()).toMatchObject({ done: left.size });
  });
});

test("a purchase that the store shows as pending again stays due: that answer is older than the acknowledgement", async () => {
  const world = aWorld();
  const token = buy();
  await linkedButNotAcknowledged(world, token);
  const answer = { ...local.sandbox.read(token)?.answer, subscriptionState: "SUBSCRIPTION_STATE_PENDING" };
  local.sandbox.failNext("publisher", { status: 200, body: answer });
  expect(await world.at(NOW + DAY).run()).toMatchObject({ done: 0, due: 1 });
  expect(await world.queued()).toBe(1);
  local.sandbox.failNext("publisher", { status: 200, body: answer });
  await world.at(NOW + DAY + 120_000).link(token);
  expect(await world.queued()).toBe(1);
  expect(await world.at(NOW + DAY + 240_000).run()).toMatchObject({ done: 1 });
});

test("a rejected credential of one package leaves the acknowledgements of the others to be tried", async () => {
  const world = aWorld();
  const [own] = [buy()];
  await linkedButNotAcknowledged(world, own);
  const queue = createAcknowledgementQueue(table);
  const [due] = await waitingIn(queue);
  if (due === undefined) throw new Error("It is due.");
  const foreign = { ...due, packageName: "com.example.gone" };
  const waiting: AcknowledgementRun["queue"] = {
    ...queue,
    shards: 1,
    // The rejected package's entry comes first.
    waiting: async function* () {
      yield [foreign, due];
    },
    remove: (one) => (one === due ? queue.remove(one) : Promise.resolve()),
  };
  const [configuration] = world.configured.androidStore;
  if (configuration === undefined) throw new Error("The application has a package.");
  const two: Application = {
    ...world.configured,
    androidStore: [configuration, { ...configuration, packageName: "com.example.gone" }],
  };
  // The first look-up is that of the rejected package.
  local.sandbox.failNext("publisher", {
    status: 403,
    body: { error: { code: 403, errors: [{ reason: "insufficientPermissions" }] } },
  });
  const report = await world.at(NOW + DAY).run(undefined, waiting, two);
  expect(report).toMatchObject({ done: 1, due: 1, credentialRejectedOf: [world.application] });
  expect(isAcknowledged(own)).toBe(true);
});
