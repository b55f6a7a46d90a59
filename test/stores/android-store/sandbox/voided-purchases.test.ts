import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { DAY, NOW, PACKAGE_NAME } from "../../../../testing/support/stores/android-store.ts";
import { timedAndroidStoreForEachTest } from "./timed-android-store.ts";

const MONTH = 31 * DAY;

const timed = timedAndroidStoreForEachTest();

type ListParameters = Omit<
  androidpublisher_v3.Params$Resource$Purchases$Voidedpurchases$List,
  "packageName" | "auth"
>;

/** Page of the voided list, as Google's client reads it. */
const list = async (parameters: ListParameters = {}) => {
  const { client, auth, options } = await timed.google();
  const wanted = { packageName: PACKAGE_NAME, auth, ...parameters };
  const { data } = await client.purchases.voidedpurchases.list(wanted, options);
  return data;
};

const buyOnce = async (quantity = 1): Promise<string> =>
  timed.own({ productKind: "one_time_product", productIdentifier: "coins", quantity });

test("a revoked subscription is notified and listed by its latest renewal", async () => {
  const token = await timed.own();
  await timed.advanceTo(NOW + MONTH);
  timed.clock.now += DAY;
  timed.sandbox.change(token, { change: "revoke" });
  expect(await timed.told()).toEqual(["RENEWED", "REVOKED", "VOIDED subscription full"]);
  expect(await timed.standing(token)).toBe("expired");
  expect(await list({ type: 1 })).toEqual({
    voidedPurchases: [
      {
        kind: "androidpublisher#voidedPurchase",
        purchaseToken: token,
        purchaseTimeMillis: String(NOW + MONTH),
        voidedTimeMillis: String(NOW + MONTH + DAY),
        orderId: timed.orderOf(token),
        voidedSource: 1,
        voidedReason: 0,
      },
    ],
  });
  expect(await list()).toEqual({});
});

test("a part of a quantity is listed on request, the rest fully", async () => {
  const token = await buyOnce(3);
  timed.sandbox.change(token, { change: "refund-partly", quantity: 2 });
  expect(await timed.told()).toEqual(["VOIDED one-time partly"]);
  expect(timed.sandbox.read(token)?.answer).toMatchObject({
    purchaseStateContext: { purchaseState: "PURCHASED" },
    productLineItem: [{ productOfferDetails: { quantity: 3, refundableQuantity: 1 } }],
  });
  expect(await list()).toEqual({});
  expect((await list({ includeQuantityBasedPartialRefund: true })).voidedPurchases).toMatchObject([
    { purchaseToken: token, voidedQuantity: 2 },
  ]);
  expect(() => timed.sandbox.change(token, { change: "refund-partly", quantity: 2 })).toThrow("not left");
  timed.sandbox.change(token, { change: "refund-partly" });
  expect(await timed.told()).toEqual(["VOIDED one-time full"]);
  expect(await timed.standing(token, "one_time_product")).toBe("revoked");
});

test("a void is full unless a part of a quantity is refunded", async () => {
  const [partly, full] = [await buyOnce(3), await buyOnce()];
  timed.clock.now += DAY;
  timed.sandbox.change(partly, { change: "refund-partly", quantity: 2 });
  timed.sandbox.change(full, { change: "refund" });
  const day = { from: NOW, to: NOW + DAY };
  expect(await timed.store().voidedPurchases(timed.androidPackage, day, null)).toEqual({
    outcome: "answered",
    voided: [
      { purchaseToken: partly, fullyVoidedAt: null },
      { purchaseToken: full, fullyVoidedAt: NOW + DAY },
    ],
    next: null,
  });
});

test("the list comes in pages, over the times of the first one", async () => {
  const tokens: string[] = [];
  for (let index = 0; index < 5; index += 1) {
    const token = await buyOnce();
    timed.clock.now += 1;
    timed.sandbox.change(token, { change: "refund" });
    tokens.push(token);
  }
  const first = await list({ maxResults: 2, endTime: String(NOW + 4) });
  timed.clock.now += DAY;
  const second = await list({ maxResults: 2, token: first.tokenPagination?.nextPageToken ?? "" });
  expect(
    [first, second].flatMap(({ voidedPurchases }) =>
      voidedPurchases?.map(({ purchaseToken }) => purchaseToken),
    ),
  ).toEqual(tokens.slice(0, 4));
  expect(second).not.toHaveProperty("tokenPagination");
  expect((await list({ startTime: String(NOW + 5) })).voidedPurchases).toHaveLength(1);
});

test.each<[string, ListParameters]>([
  ["startTime", { startTime: String(NOW - 30 * DAY - 1) }],
  ["endTime", { endTime: String(NOW + 1) }],
  ["maxResults", { maxResults: 0 }],
  ["token", { token: "e30" }],
])("an invalid %s is refused: %j", async (location, parameters) => {
  await expect(list(parameters)).rejects.toMatchObject({
    response: { status: 400, data: { error: { errors: [{ reason: "invalid", location }] } } },
  });
});
