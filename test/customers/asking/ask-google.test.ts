import { v7 as uuid } from "uuid";
import {
  linkAndroidStoreCustomer,
  type AndroidStoreLinking,
} from "../../../lib/customers/link-android-store-customer.ts";
import { isOfThisPurchase } from "../../../lib/customers/storing/store-android-store-purchase.ts";
import { askGoogle } from "../../../lib/customers/asking/ask-google.ts";
import { askDuePurchases, type AskRun } from "../../../lib/customers/asking/ask-due-purchases.ts";
import { createAskQueues } from "../../../lib/table/queues/asks.ts";
import { referenceText } from "../../../lib/entitlements/purchase.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import {
  aGoogleError,
  DAY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../../testing/support/stores/android-store.ts";
import { assertInvariants } from "../../../testing/support/table/invariants.ts";
import { aCatalog, aProduct } from "../../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../../testing/support/table/table.ts";
import { queuedOf, recordedOf } from "../refreshing.ts";
import { createWorld, refusal } from "../../../testing/support/world.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { anApplication } from "../../../testing/support/application.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const clock = { now: NOW };

let table: TestTable;
let local: LocalAndroidStore;
beforeAll(async () => {
  [table, local] = await Promise.all([createMemoryTable(), startAndroidStore({ now: () => clock.now })]);
});
beforeEach(() => {
  local.sandbox.clearFaults();
});
afterAll(async () => {
  await assertInvariants(table);
  await Promise.all([table.remove(), local.close()]);
});

/** An application whose purchases are linked and refreshed through the real client. */
const aWorld = () => {
  const world = createWorld(table, {
    application: anApplication({
      androidStore: [
        { ...local.androidPackage, environments: ["production", "sandbox"], notifications: null },
      ],
      catalog: aCatalog([aProduct({ store: "android-store", productIdentifier: "premium" })]),
    }),
  });
  const { application, directory } = world;
  const linking: AndroidStoreLinking = {
    ...world.factStore,
    now: () => clock.now,
    directory,
    androidStore: local.store({ now: () => clock.now }),
    asks: createAskQueues(table),
  };
  const failures: unknown[] = [];
  const run: AskRun = {
    store: "android-store",
    directory,
    queues: createAskQueues(table),
    table: world.factStore.table,
    applications: () => Promise.resolve([application.identifier]),
    ask: (asked, due) => askGoogle(linking, asked, due),
    newWorker: uuid,
    now: () => clock.now,
    wait: (milliseconds) => {
      clock.now += milliseconds;
      return Promise.resolve();
    },
    onFailure: (error) => failures.push(error),
  };
  return {
    world,
    failures,
    verifiedAt: async (purchaseToken: string): Promise<number> => {
      const reference = {
        store: "android-store" as const,
        environment: "production" as const,
        key: purchaseKeyOfToken(purchaseToken),
      };
      const known = await world.factStore.table.findFacts(application.identifier, [], [reference], clock.now);
      return known.purchases.get(referenceText(reference))?.purchase.verifiedAt ?? NaN;
    },
    linkToken: async (purchaseToken: string) =>
      linkAndroidStoreCustomer(linking, application.identifier, {
        packageName: PACKAGE_NAME,
        purchaseToken,
        productKind: "subscription",
        applicationAccountIdentifier: "user-1",
      }),
    link: async (changes: object = {}): Promise<string> => {
      const purchaseToken = local.sandbox.buy({
        packageName: PACKAGE_NAME,
        productKind: "subscription",
        productIdentifier: "premium",
        basePlanIdentifier: "monthly",
        ...changes,
      });
      await linkAndroidStoreCustomer(linking, application.identifier, {
        packageName: PACKAGE_NAME,
        purchaseToken,
        productKind: "subscription",
        applicationAccountIdentifier: "user-1",
      });
      return purchaseToken;
    },
    /** The time of the only refresh. */
    dueAt: async (): Promise<number> => {
      const [queued, recorded] = [await queuedOf(world), await recordedOf(world)];
      expect(queued).toEqual(recorded);
      return Object.values(queued)[0] ?? NaN;
    },
    /** @param onAnswered called once, after the store's first answer and before it is stored */
    run: (onAnswered?: () => Promise<void>) => {
      let answered = onAnswered;
      const lookUp: AndroidStoreLinking["androidStore"]["lookUp"] = async (...question) => {
        const answer = await linking.androidStore.lookUp(...question);
        const first = answered;
        answered = undefined;
        await first?.();
        return answer;
      };
      const asking = { ...linking, androidStore: { ...linking.androidStore, lookUp } };
      const ask: AskRun["ask"] = (asked, due) => askGoogle(asking, asked, due);
      return askDuePurchases({ ...run, ask }, clock.now + 5 * MINUTE);
    },
  };
};
type Refreshed = ReturnType<typeof aWorld>;

/** Moves the clock to the refresh; the store renews nothing meanwhile. */
const untilDue = async ({ dueAt }: Refreshed): Promise<number> => (clock.now = await dueAt());
const lookups = (): number =>
  local.sandbox.calls.filter(({ path }) => path.includes("/subscriptionsv2/")).length;

describe("a subscription", () => {
  test("that was renewed unheard is read just after its end, and next just after the new one", async () => {
    const refreshed = aWorld();
    const token = await refreshed.link();
    const due = await untilDue(refreshed);
    local.sandbox.change(token, "renew");
    expect(await refreshed.run()).toMatchObject({ asked: 1, failed: 0, paused: [] });
    expect(await refreshed.dueAt()).toBeGreaterThan(due + 20 * DAY);
    expect(refreshed.failures).toEqual([]);
  });
  test("that the store has dropped leaves the queue once it is over for 60 days, and its token the table", async () => {
    const refreshed = aWorld();
    const token = await refreshed.link();
    const end = (await untilDue(refreshed)) - 5 * SECOND;
    local.sandbox.drop(token);
    // Google says so 60 days after the end; sooner it may be a mistake, and the refresh has the only copy of the token.
    await refreshed.run();
    expect(await refreshed.dueAt()).toBe(end + 2 * MINUTE);
    expect(JSON.stringify(await refreshed.world.items())).toContain(token);
    clock.now = end + 60 * DAY;
    await refreshed.run();
    expect(await queuedOf(refreshed.world)).toEqual({});
    expect(await recordedOf(refreshed.world)).toEqual({});
    expect(JSON.stringify(await refreshed.world.items())).not.toContain(token);
  });

  test("that the store has dropped keeps its refresh where it is linked again, until it is over for 60 days", async () => {
    const refreshed = aWorld();
    const token = await refreshed.link();
    const due = await refreshed.dueAt();
    const end = due - 5 * SECOND;
    local.sandbox.drop(token);
    clock.now = end - DAY;
    await refreshed.linkToken(token);
    expect(await refreshed.dueAt()).toBe(due);
    clock.now = end + 60 * DAY;
    await refreshed.linkToken(token);
    expect(await queuedOf(refreshed.world)).toEqual({});
  });
  test("of an erased customer that the store has dropped is not linked", async () => {
    const refreshed = aWorld();
    const token = await refreshed.link();
    const { customerIdentifiers } = await refreshed.world.read("user-1");
    await refreshed.world
      .at(clock.now)
      .erase({ identifier: customerId(customerIdentifiers[0] ?? ""), holdings: [] });
    local.sandbox.drop(token);
    expect(await refusal(refreshed.linkToken(token))).toBe("CUSTOMER_NOT_FOUND");
  });
  test.each([
    [404, "purchaseTokenNotFound"],
    [410, "purchaseTokenNoLongerValid"],
  ])("about which the store once answers %i is asked about again, with its token", async (status, reason) => {
    const refreshed = aWorld();
    const token = await refreshed.link();
    const end = (await untilDue(refreshed)) - 5 * SECOND;
    local.sandbox.change(token, "renew");
    const fault: Fault = { status, body: aGoogleError(status, reason) };
    local.sandbox.failNext("publisher", fault);
    await refreshed.run();
    expect(await refreshed.dueAt()).toBe(end + 2 * MINUTE);
    await untilDue(refreshed);
    local.sandbox.clearFaults();
    await refreshed.run();
    expect(await refreshed.dueAt()).toBeGreaterThan(end + 20 * DAY);
  });
});

describe("a store that fails", () => {
  const failingWith = async (fault: Fault) => {
    const refreshed = aWorld();
    await refreshed.link();
    await untilDue(refreshed);
    local.sandbox.failNext("publisher", fault, fault);
    return { refreshed, report: await refreshed.run() };
  };
  const limited = (retryAfter: string): Fault => ({
    status: 429,
    headers: { "retry-after": retryAfter },
    body: aGoogleError(429, "rateLimitExceeded"),
  });

  test("with a 429 of seconds is asked after them", async () => {
    const { refreshed, report } = await failingWith(limited("45"));
    expect(report.paused).toMatchObject([{ because: "unavailable", until: clock.now + 45 * SECOND }]);
    const before = lookups();
    clock.now += 45 * SECOND - 1;
    await refreshed.run();
    expect(lookups()).toBe(before);
    clock.now += 1;
    local.sandbox.clearFaults();
    expect(await refreshed.run()).toMatchObject({ asked: 1, paused: [] });
  });

  test("with a refusal for a reason that is not known pauses nothing, and is asked about within five minutes", async () => {
    const { refreshed, report } = await failingWith({
      status: 400,
      body: aGoogleError(400, "ofNextYear"),
    });
    expect(report).toMatchObject({ failed: 1, paused: [] });
    const dueAt = (await refreshed.dueAt()) ?? Infinity;
    expect(dueAt).toBeGreaterThan(clock.now);
    expect(dueAt).toBeLessThanOrEqual(clock.now + 5 * MINUTE);
  });
  test("with a rejected credential pauses, and heals", async () => {
    const { refreshed, report } = await failingWith({ status: 401, body: aGoogleError(401, "authError") });
    expect(report.paused).toMatchObject([{ because: "credential-rejected", until: clock.now + 5 * MINUTE }]);
    expect(report.oldest).toBe(0);
    clock.now += 5 * MINUTE;
    local.sandbox.clearFaults();
    expect(await refreshed.run()).toMatchObject({ asked: 1, paused: [] });
  });
  test("never shows a token in what is reported", async () => {
    const refreshed = aWorld();
    const token = await refreshed.link();
    await untilDue(refreshed);
    local.sandbox.failNext("publisher", "disconnect", { status: 200, body: { wrong: true } });
    const report = await refreshed.run();
    expect(JSON.stringify([report, refreshed.failures.map(String)])).not.toContain(token);
  });
});

test("a replacement that was never paid has the older purchase asked about again", async () => {
  const refreshed = aWorld();
  const older = await refreshed.link();
  // Older than a minute, or Google's unchanged answer would be a replay.
  clock.now += 2 * MINUTE;
  const newer = local.sandbox.change(older, "replace", { basePlanIdentifier: "yearly", pending: true });
  await refreshed.linkToken(newer);
  const before = await refreshed.verifiedAt(older);
  clock.now += 2 * MINUTE;
  local.sandbox.change(newer, "decline");
  await refreshed.linkToken(newer);
  expect(await refreshed.verifiedAt(older)).toBeGreaterThan(before);
});

test.each([403, 429])("a quota's %i is not of the purchase that was asked about", (status) => {
  const quota = { outcome: "unavailable", status, reason: "quotaExceeded", retryAfterSeconds: 60 } as const;
  expect(isOfThisPurchase(quota)).toBe(false);
});
