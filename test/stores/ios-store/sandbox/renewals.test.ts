import { HOUR } from "../../../../lib/duration.ts";
import { BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { decodedRenewalInfos, decodedTransactions, MONTHLY, storeForEachTest } from "./store-under-test.ts";

const under = storeForEachTest();
const { buy } = under;

const months = (count: number): number => Date.UTC(2026, 5 + count, 15, 12);

test("a year of a subscription: twelve renewals, one lineage, one person", async () => {
  const original = await buy({ period: "P1M" });
  await under.moveTo(months(12) - 1);
  const pushed = await under.pushed();
  expect(pushed).toMatchObject(
    Array.from({ length: 12 }, (_, index) => ({
      name: index === 0 ? "SUBSCRIBED INITIAL_BUY" : "DID_RENEW",
      body: { version: "2.0", data: { status: 1, bundleId: BUNDLE, environment: "Sandbox" } },
      transaction: {
        originalTransactionId: original,
        appTransactionId: "704",
        purchaseDate: months(index),
        expiresDate: months(index + 1),
        transactionReason: index === 0 ? "PURCHASE" : "RENEWAL",
      },
      renewalInfo: {
        originalTransactionId: original,
        productId: MONTHLY,
        autoRenewProductId: MONTHLY,
        autoRenewStatus: 1,
        recentSubscriptionStartDate: NOW,
        renewalDate: months(index + 1),
        appTransactionId: "704",
      },
    })),
  );
  for (const absent of ["isInBillingRetryPeriod", "gracePeriodExpiresDate", "expirationIntent"])
    expect(pushed[1]?.renewalInfo).not.toHaveProperty(absent);
  const events = new Set(pushed.map(({ transaction }) => transaction?.webOrderLineItemId));
  const ids = new Set(pushed.map(({ transaction }) => transaction?.transactionId));
  expect([events.size, ids.size]).toEqual([12, 12]);
  expect(under.store.nextEventAt()).toBe(months(12));
});

test("a failed charge: grace period, retries, and the end after 60 days", async () => {
  const original = await buy();
  await under.store.change(original, { change: "fail-billing" });
  await under.moveTo(months(3));
  const end = months(1);
  const [, ...pushed] = await under.pushed();
  expect(pushed.map(({ name, body }) => [name, body.signedDate, body.data?.status])).toEqual([
    ["DID_FAIL_TO_RENEW GRACE_PERIOD", end, 4],
    ["GRACE_PERIOD_EXPIRED", end + 16 * DAY, 3],
    ["EXPIRED BILLING_RETRY", end + 60 * DAY, 2],
  ]);
  const [grace, retry, expired] = pushed.map(({ renewalInfo }) => renewalInfo);
  expect(grace).toMatchObject({
    autoRenewStatus: 1,
    isInBillingRetryPeriod: true,
    gracePeriodExpiresDate: end + 16 * DAY,
    expirationIntent: 2,
    renewalDate: end,
  });
  expect(retry).toMatchObject({ autoRenewStatus: 1, isInBillingRetryPeriod: true, renewalDate: end });
  expect(retry).not.toHaveProperty("gracePeriodExpiresDate");
  expect(expired).toMatchObject({ autoRenewStatus: 0, isInBillingRetryPeriod: false, expirationIntent: 2 });
  expect(new Set(pushed.map(({ transaction }) => transaction?.expiresDate))).toEqual(new Set([end]));
  expect(under.store.nextEventAt()).toBeNull();
});

test("recovered in grace, the next period begins at the last one's end", async () => {
  const original = await buy();
  await under.store.change(original, { change: "fail-billing" });
  await under.moveTo(months(1) + 5 * DAY);
  await under.store.change(original, { change: "recover" });
  const recovery = (await under.pushed()).at(-1);
  expect(recovery).toMatchObject({
    name: "DID_RENEW BILLING_RECOVERY",
    transaction: { purchaseDate: months(1), expiresDate: months(2), signedDate: months(1) + 5 * DAY },
  });
  expect(recovery?.renewalInfo).not.toHaveProperty("isInBillingRetryPeriod");
  await under.moveTo(months(2));
  expect((await under.pushed()).map(({ name }) => name)).toEqual(["DID_RENEW"]);
});

test("charged a day ahead, the next period begins at the current's end", async () => {
  const original = await buy();
  await under.store.change(original, { change: "renew-ahead" });
  expect(under.store.nextEventAt()).toBe(months(1) - DAY);
  await under.moveTo(months(1) - DAY);
  const renewal = (await under.pushed()).at(-1);
  expect(renewal).toMatchObject({
    name: "DID_RENEW",
    transaction: { purchaseDate: months(1), expiresDate: months(2), signedDate: months(1) - DAY },
  });
  expect(under.store.nextEventAt()).toBe(months(2));
});

test("what is due happens before a change, and what the change makes due with it", async () => {
  const original = await buy();
  under.now = months(2) - HOUR;
  await under.store.change(original, { change: "renew-ahead" });
  expect((await under.pushed()).map(({ name, body }) => [name, body.signedDate])).toEqual([
    ["SUBSCRIBED INITIAL_BUY", NOW],
    ["DID_RENEW", months(1)],
    ["DID_RENEW", expect.closeTo(under.now, -1)],
  ]);
});

test("a customer of long standing has all periods, and no repeated notifications", async () => {
  const bought = await under.store.buy({
    transactions: [{ productIdentifier: MONTHLY, purchaseDate: "2026-01-01T00:00:00Z" }],
  });
  const transactions = await decodedTransactions(bought.signedTransactions);
  expect(transactions.map(({ expiresDate }) => expiresDate)).toEqual(
    [1, 2, 3, 4, 5, 6].map((month) => Date.UTC(2026, month, 1)),
  );
  const [renewalInfo] = await decodedRenewalInfos(bought.signedRenewalInfos);
  expect(renewalInfo).toMatchObject({
    renewalDate: Date.UTC(2026, 6, 1),
    recentSubscriptionStartDate: Date.UTC(2026, 0, 1),
  });
  expect(await under.pushed()).toEqual([]);
});
