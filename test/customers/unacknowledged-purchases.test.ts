import { v7 as uuid } from "uuid";
import {
  acknowledgeDuePurchases,
  type AcknowledgementRun,
} from "../../lib/customers/acknowledge-due-purchases.ts";
import { linkAndroidStoreCustomer } from "../../lib/customers/link-android-store-customer.ts";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import { askGoogle } from "../../lib/customers/ask-google.ts";
import { sourceOf } from "../../lib/customers/store-android-store-purchase.ts";
import { askDuePurchases } from "../../lib/customers/ask-due-purchases.ts";
import type { ProductKind } from "../../lib/contract/schemas.ts";
import { accountId } from "../../lib/identifiers.ts";
import { createAskQueues } from "../../lib/table/asks.ts";
import {
  DAY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../testing/support/android-store.ts";
import { assertInvariants } from "../../testing/support/invariants.ts";
import { aCatalog, aProduct } from "../../testing/support/purchases.ts";
import { waitingIn, type TestTable } from "../../testing/support/table.ts";
import { queuedOf } from "./refreshing.ts";
import { createWorld } from "../../testing/support/world.ts";
import { anApplication } from "../../testing/support/application.ts";
import { createMemoryTable } from "../../testing/support/memory-table.ts";

const HOUR = 3_600_000;
const clock = { now: NOW };

let table: TestTable;
let local: LocalAndroidStore;
beforeEach(async () => {
  clock.now = NOW;
  [table, local] = await Promise.all([createMemoryTable(), startAndroidStore({ now: () => clock.now })]);
});
afterEach(async () => {
  await assertInvariants(table);
  await Promise.all([table.remove(), local.close()]);
});

const SOLD = {
  one_time_product: { productIdentifier: "lifetime" },
  subscription: { productIdentifier: "premium", basePlanIdentifier: "yearly", period: "P1Y" },
} as const satisfies Record<ProductKind, object>;

/** A purchase of an account, whose acknowledgement the store refuses while it answers look-ups. */
const aRefusedPurchase = async (productKind: ProductKind) => {
  const world = createWorld(table, {
    application: anApplication({
      androidStore: [{ ...local.androidPackage, environments: ["production"], notifications: null }],
      catalog: aCatalog([
        aProduct({ store: "android-store", productIdentifier: "premium" }),
        aProduct({ store: "android-store", productIdentifier: "lifetime" }),
      ]),
    }),
  });
  const { application, directory } = world;
  const now = () => clock.now;
  const androidStore = local.store({ now });
  const queue = createAskQueues(table);
  const linking = { ...world.factStore, now, directory, androidStore, acknowledgements: queue };
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => failures.push(error);
  const purchaseToken = local.sandbox.buy({ packageName: PACKAGE_NAME, productKind, ...SOLD[productKind] });
  const refusing = () => {
    const refused = { status: 403, body: { error: { code: 403, errors: [{ reason: "permissionDenied" }] } } };
    local.sandbox.failNext(
      "publisher",
      { status: 200, body: local.sandbox.read(purchaseToken)?.answer },
      refused,
      refused,
    );
  };
  refusing();
  await linkAndroidStoreCustomer(linking, application.identifier, {
    packageName: PACKAGE_NAME,
    purchaseToken,
    productKind,
    applicationAccountIdentifier: "user-1",
  });
  return {
    purchaseToken,
    failures,
    waiting: async () => (await waitingIn(queue)).length,
    queued: async () => Object.values(await queuedOf(world)),
    /** Asks twice more, as a notification does whose event the store's answer does not show yet. */
    askTwice: async (...askAgainAt: readonly number[]) => {
      const [due] = await waitingIn(queue);
      if (due === undefined) throw new Error("It is due.");
      const { table: facts } = world.factStore;
      const known = await facts.findFacts(application.identifier, [], [due.purchase], clock.now);
      await world.store({
        environment: "production",
        purchases: [...known.purchases.values()].map(({ purchase }) => ({
          ...purchase,
          verifiedAt: purchase.verifiedAt - 1,
        })),
        origin: {
          source: sourceOf(local.androidPackage, { purchaseToken, productKind }),
          canAsk: true,
          askedAt: null,
          askAgainAt,
        },
      });
    },
    /** Runs the queue of acknowledgements at a time, to which the store's own clock goes. */
    acknowledge: async (at: number, changes: Changes = () => ({})) => {
      clock.now = at;
      await local.sandbox.runUntil(at);
      if (local.sandbox.read(purchaseToken)?.answer.acknowledgementState === "ACKNOWLEDGEMENT_STATE_PENDING")
        refusing();
      const run = {
        directory,
        androidStore,
        queue,
        refreshes: createAskQueues(table),
        table: world.factStore.table,
        now,
        onFailure,
      };
      const report = await acknowledgeDuePurchases({ ...run, ...changes(run) }, at + 60_000);
      local.sandbox.clearFaults();
      return report;
    },
    refresh: () =>
      askDuePurchases(
        {
          store: "android-store",
          directory,
          queue: createAskQueues(table),
          table: world.factStore.table,
          applications: () => Promise.resolve([application.identifier]),
          ask: (asked, due) => askGoogle(linking, asked, due),
          newWorker: uuid,
          now,
          wait: (milliseconds) => {
            clock.now += milliseconds;
            return Promise.resolve();
          },
          onFailure,
        },
        clock.now + 60_000,
      ),
    entitlement: async () => {
      const account = accountId("user-1");
      const reading = { directory, table: world.factStore.table, now };
      const { entitlements } = await readAccountEntitlements(reading, application.identifier, account);
      return entitlements[0]?.status;
    },
  };
};

type Changes = (run: AcknowledgementRun) => Partial<AcknowledgementRun>;
const fails = () => Promise.reject(new Error("The table cannot be read or written."));
const conflicting: Changes = ({ refreshes }) => ({
  refreshes: { ...refreshes, set: () => Promise.resolve("conflict") },
});

/** A run in which nothing can be learned of a purchase, or kept. */
const UNSETTLED: readonly [string, Changes][] = [
  [
    "the store does not answer",
    ({ androidStore }) => ({
      androidStore: {
        ...androidStore,
        lookUp: () =>
          Promise.resolve({ outcome: "unavailable", status: 503, reason: null, retryAfterSeconds: 5 }),
      },
    }),
  ],
  [
    "the store rejects the credential",
    ({ androidStore }) => ({
      androidStore: {
        ...androidStore,
        lookUp: () => Promise.resolve({ outcome: "credential-rejected", status: 403, reason: null }),
      },
    }),
  ],
  [
    "its package is in no application",
    ({ directory }) => ({ directory: { ...directory, byIdentifier: () => Promise.resolve(null) } }),
  ],
  ["the purchase changes meanwhile", conflicting],
  ["the refresh cannot be set", ({ refreshes }) => ({ refreshes: { ...refreshes, set: fails } })],
  ["the purchase cannot be read", ({ table: facts }) => ({ table: { ...facts, findFacts: fails } })],
  ["its customer cannot be read", ({ table: facts }) => ({ table: { ...facts, findCustomers: fails } })],
];

describe.each<ProductKind>(["one_time_product", "subscription"])("a %s", (productKind) => {
  test("that Google refunds because nobody could acknowledge it ends, and has failed", async () => {
    const refused = await aRefusedPurchase(productKind);
    expect(await refused.acknowledge(NOW + HOUR)).toMatchObject({ due: 1, failed: 0 });
    expect(await refused.acknowledge(NOW + 71 * HOUR)).toMatchObject({ due: 1, nearDeadline: 1, failed: 0 });
    expect(await refused.entitlement()).toBe("active");
    expect(await refused.acknowledge(NOW + 3 * DAY + HOUR)).toMatchObject({ done: 0, due: 0, failed: 1 });
    expect(await refused.waiting()).toBe(0);
    expect(await refused.queued()).toEqual([clock.now]);
    await refused.refresh();
    expect(["revoked", "expired"]).toContain(await refused.entitlement());
    expect(refused.failures).toEqual([]);
  });
  test("that is refunded before its deadline ends too, and nothing has failed", async () => {
    const refused = await aRefusedPurchase(productKind);
    local.sandbox.change(refused.purchaseToken, "revoke");
    expect(await refused.acknowledge(NOW + HOUR)).toMatchObject({ done: 1, due: 0, failed: 0 });
    await refused.refresh();
    expect(["revoked", "expired"]).toContain(await refused.entitlement());
  });
  test("whose refund is asked about, is asked about twice more where a notification wants that", async () => {
    const refused = await aRefusedPurchase(productKind);
    await refused.askTwice(NOW + 2 * HOUR, NOW + 3 * HOUR);
    local.sandbox.change(refused.purchaseToken, "revoke");
    expect(await refused.acknowledge(NOW + HOUR)).toMatchObject({ done: 1 });
    expect(await refused.queued()).toEqual([NOW + HOUR]);
    await refused.refresh();
    expect(["revoked", "expired"]).toContain(await refused.entitlement());
    expect(await refused.queued()).toEqual([NOW + 2 * HOUR]);
    clock.now = NOW + 2 * HOUR;
    await refused.refresh();
    expect(await refused.queued()).toEqual([NOW + 3 * HOUR]);
  });
  test("that the app has acknowledged itself is asked about no more", async () => {
    const refused = await aRefusedPurchase(productKind);
    const before = await refused.queued();
    local.sandbox.change(refused.purchaseToken, "acknowledge");
    expect(await refused.acknowledge(NOW + HOUR)).toMatchObject({ done: 1, due: 0, failed: 0 });
    expect([await refused.waiting(), await refused.queued()]).toEqual([0, before]);
    expect(await refused.entitlement()).toBe("active");
  });
  test("whose refund cannot be asked about, because the purchase has changed since, stays due", async () => {
    const refused = await aRefusedPurchase(productKind);
    local.sandbox.change(refused.purchaseToken, "revoke");
    expect(await refused.acknowledge(NOW + HOUR, conflicting)).toMatchObject({ done: 0, due: 1 });
    expect(await refused.waiting()).toBe(1);
    expect(await refused.acknowledge(NOW + HOUR)).toMatchObject({ done: 1, due: 0 });
    expect(await refused.queued()).toEqual([clock.now]);
  });
  test.each(UNSETTLED)("is tried again after its deadline, and ends, where %s then", async (_, unsettled) => {
    const refused = await aRefusedPurchase(productKind);
    const after = NOW + 3 * DAY + HOUR;
    expect(await refused.acknowledge(after, unsettled)).toMatchObject({ due: 1, nearDeadline: 1, failed: 0 });
    expect(await refused.waiting()).toBe(1);
    expect(await refused.acknowledge(after + 60_000)).toMatchObject({ due: 0, failed: 1 });
    expect(await refused.waiting()).toBe(0);
    await refused.refresh();
    expect(["revoked", "expired"]).toContain(await refused.entitlement());
  });
  test.each(UNSETTLED)(
    "leaves the queue a week after its deadline, where %s all the time",
    async (_, unsettled) => {
      const refused = await aRefusedPurchase(productKind);
      const week = NOW + 10 * DAY;
      expect(await refused.acknowledge(week - 1, unsettled)).toMatchObject({ due: 1, failed: 0 });
      expect(await refused.acknowledge(week, unsettled)).toMatchObject({ due: 0, failed: 1 });
      expect(await refused.waiting()).toBe(0);
    },
  );
});
