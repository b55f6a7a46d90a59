import { isoTime } from "../../../../lib/entitlements/time.ts";
import { NOW, PACKAGE_NAME } from "../../../../testing/support/stores/android-store.ts";
import { startTimedAndroidStore, timedAndroidStoreForEachTest } from "./timed-android-store.ts";

const timed = timedAndroidStoreForEachTest();

/** Orders, as Google's client reads them. */
const batchGet = async (...orderIds: string[]) => {
  const { client, auth, options } = await timed.google();
  const { data } = await client.orders.batchget({ packageName: PACKAGE_NAME, orderIds, auth }, options);
  return data.orders ?? [];
};

const coins = { productKind: "one_time_product", productIdentifier: "coins", quantity: 3 } as const;

test("orders name their tokens, in the order of the request", async () => {
  const [once, renewing] = [timed.buy(coins), timed.buy({ orderIdentifier: "GPA.1" })];
  const processed = { state: "PROCESSED", createTime: isoTime(NOW) };
  const lineItems = [{ productId: "coins", oneTimePurchaseDetails: { quantity: 3 } }];
  expect(await batchGet("GPA.1", timed.orderOf(once))).toEqual([
    expect.objectContaining({ purchaseToken: renewing, orderId: "GPA.1", ...processed }),
    expect.objectContaining({ purchaseToken: once, lineItems }),
  ]);
});

test("an order outlives its purchase, and a restart of the store", async () => {
  const token = timed.buy({ orderIdentifier: "GPA.1" });
  timed.sandbox.drop(token);
  expect(await batchGet("GPA.1")).toMatchObject([{ purchaseToken: token }]);
  const saved = timed.sandbox.save();
  await timed.close();
  Object.assign(timed, await startTimedAndroidStore({ saved }));
  expect(await batchGet("GPA.1")).toMatchObject([{ purchaseToken: token }]);
});

test("refunds show in an order's state", async () => {
  const [whole, part] = [timed.buy(coins), timed.buy(coins)];
  timed.sandbox.change(whole, { change: "refund" });
  timed.sandbox.change(part, { change: "refund-partly", quantity: 1 });
  const orders = await batchGet(timed.orderOf(whole), timed.orderOf(part));
  expect(orders.map(({ state }) => state)).toEqual(["REFUNDED", "PARTIALLY_REFUNDED"]);
});

test("one unknown order fails the whole request", async () => {
  timed.buy({ orderIdentifier: "GPA.1" });
  await expect(batchGet("GPA.1", "GPA.2")).rejects.toMatchObject({
    response: { status: 404, data: { error: { errors: [{ reason: "notFound" }] } } },
  });
});

test("orders fail as the API's other requests do", async () => {
  timed.buy({ orderIdentifier: "GPA.1" });
  await batchGet("GPA.1");
  timed.sandbox.failNext("publisher", { status: 503 });
  await expect(batchGet("GPA.1")).rejects.toMatchObject({ response: { status: 503 } });
  timed.sandbox.limitPublisher(1);
  await batchGet("GPA.1");
  await expect(batchGet("GPA.1")).rejects.toMatchObject({
    response: { status: 429, data: { error: { errors: [{ reason: "rateLimitExceeded" }] } } },
  });
  timed.clock.now += 1000;
  expect(await batchGet("GPA.1")).toHaveLength(1);
});
