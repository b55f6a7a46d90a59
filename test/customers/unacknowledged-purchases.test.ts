import { v7 as uuid } from "uuid";
import { linkAndroidStoreCustomer } from "../../lib/customers/link-android-store-customer.ts";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import { askGoogle } from "../../lib/customers/asking/ask-google.ts";
import { askDuePurchases, type AskRun } from "../../lib/customers/asking/ask-due-purchases.ts";
import type { ProductKind } from "../../lib/contract/schemas.ts";
import { accountId } from "../../lib/identifiers.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import {
  DAY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../testing/support/android-store.ts";
import { assertInvariants } from "../../testing/support/invariants.ts";
import { aCatalog, aProduct } from "../../testing/support/purchases.ts";
import { pendingIn, type TestTable } from "../../testing/support/table.ts";
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
  const asks = createAskQueues(table);
  const linking = { ...world.factStore, now, directory, androidStore, asks };
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
    waiting: async () => (await pendingIn(table)).length,
    queued: async () => Object.values(await queuedOf(world)),
    /** Has Google asked at a time, to which the store's own clock goes. */
    ask: async (at: number, changes: Partial<AskRun> = {}) => {
      clock.now = at;
      await local.sandbox.runUntil(at);
      if (local.sandbox.read(purchaseToken)?.answer.acknowledgementState === "ACKNOWLEDGEMENT_STATE_PENDING")
        refusing();
      const run: AskRun = {
        store: "android-store",
        directory,
        queues: asks,
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
        ...changes,
      };
      const { acknowledgements } = await askDuePurchases(run, at + 60_000);
      local.sandbox.clearFaults();
      return acknowledgements;
    },
    entitlement: async () => {
      const account = accountId("user-1");
      const reading = { directory, table: world.factStore.table, now };
      const { entitlements } = await readAccountEntitlements(reading, application.identifier, account);
      return entitlements[0]?.status;
    },
  };
};

const unavailable: AskRun["ask"] = () => Promise.resolve({ outcome: "unavailable", retryAt: null });
const rejected: AskRun["ask"] = () => Promise.resolve({ outcome: "credential-rejected" });
const fails: AskRun["ask"] = () => Promise.reject(new Error("The answer cannot be stored."));

describe.each<ProductKind>(["one_time_product", "subscription"])("a %s", (productKind) => {
  test("that Google refunds because nobody could acknowledge it ends, and has failed", async () => {
    const refused = await aRefusedPurchase(productKind);
    expect(await refused.ask(NOW + HOUR)).toMatchObject({ due: 1, failed: 0 });
    expect(await refused.ask(NOW + 71 * HOUR)).toMatchObject({ due: 1, nearDeadline: 1, failed: 0 });
    expect(await refused.entitlement()).toBe("active");
    expect(await refused.ask(NOW + 3 * DAY + HOUR)).toMatchObject({ made: 0, due: 0, failed: 1 });
    expect(await refused.waiting()).toBe(0);
    expect(["revoked", "expired"]).toContain(await refused.entitlement());
    expect(refused.failures).toEqual([]);
  });
  test("that is refunded before its deadline ends too, and nothing has failed", async () => {
    const refused = await aRefusedPurchase(productKind);
    local.sandbox.change(refused.purchaseToken, "revoke");
    expect(await refused.ask(NOW + HOUR)).toMatchObject({ made: 0, due: 0, failed: 0 });
    expect(await refused.waiting()).toBe(0);
    expect(["revoked", "expired"]).toContain(await refused.entitlement());
  });
  test("that the app has acknowledged itself is acknowledged no more", async () => {
    const refused = await aRefusedPurchase(productKind);
    local.sandbox.change(refused.purchaseToken, "acknowledge");
    expect(await refused.ask(NOW + HOUR)).toMatchObject({ made: 0, due: 0, failed: 0 });
    expect(await refused.waiting()).toBe(0);
    expect(await refused.queued()).toHaveLength(productKind === "subscription" ? 1 : 0);
    expect(await refused.entitlement()).toBe("active");
  });
  test.each([
    ["the store does not answer", unavailable],
    ["the store rejects the credential", rejected],
    ["this service fails", fails],
  ])("has failed at its deadline, and is asked about until an answer, where %s", async (_, ask) => {
    const refused = await aRefusedPurchase(productKind);
    const deadline = NOW + 3 * DAY;
    expect(await refused.ask(deadline - HOUR, { ask })).toMatchObject({ due: 1, nearDeadline: 1, failed: 0 });
    expect(await refused.ask(deadline + HOUR, { ask })).toMatchObject({ due: 0, failed: 1 });
    expect(await refused.waiting()).toBe(0);
    expect(await refused.queued()).toHaveLength(1);
    expect(await refused.ask(deadline + DAY)).toMatchObject({ due: 0, failed: 0 });
    expect(["revoked", "expired"]).toContain(await refused.entitlement());
  });
});
