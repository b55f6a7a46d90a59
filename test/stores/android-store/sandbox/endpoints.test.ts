import { PACKAGE_NAME } from "../../../../testing/support/stores/android-store.ts";
import { timedAndroidStoreForEachTest, type TimedAndroidStore } from "./timed-android-store.ts";

const timed = timedAndroidStoreForEachTest();

const request: TimedAndroidStore["request"] = async (...asked) => timed.request(...asked);

/** Sells a subscription, or another purchase. */
const buy = async (purchase: Record<string, unknown> = {}): Promise<string> => {
  const standard = { packageName: PACKAGE_NAME, productKind: "subscription", productIdentifier: "premium" };
  const { status, body } = await request("POST", "purchases", { ...standard, ...purchase });
  expect(status).toBe(201);
  return String(body["purchaseToken"]);
};

test.each(["subscription", "one_time_product"] as const)(
  "a pending %s grants nothing until it is complete",
  async (productKind) => {
    const token = await buy({ productKind, pending: true });
    expect(await timed.standing(token, productKind)).toBe("nothing");
    await request("POST", `purchases/${token}`, { change: "complete", period: "P1W" });
    expect(await timed.standing(token, productKind)).toBe("entitled");
  },
);

test("a rental says so, and a subscription bought again outside the app, until it is acknowledged", async () => {
  const rental = await buy({ productKind: "one_time_product", productIdentifier: "film", rental: true });
  const again = await buy({ resubscribes: "expired" });
  expect((await request("GET", `purchases/${rental}`)).body).toMatchObject({
    purchase: { productLineItem: [{ productOfferDetails: { rentOfferDetails: {} } }] },
  });
  expect((await request("GET", `purchases/${again}`)).body).toMatchObject({
    purchase: { outOfAppPurchaseContext: { expiredPurchaseToken: "expired" } },
  });
  await request("POST", `purchases/${again}`, { change: "acknowledge" });
  const acknowledged = (await request("GET", `purchases/${again}`)).body?.["purchase"];
  expect(acknowledged).toMatchObject({ acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED" });
  expect(acknowledged).not.toHaveProperty("outOfAppPurchaseContext");
});

test("purchases are listed and read over HTTP in the API's shapes", async () => {
  const token = await buy({ test: true });
  const { body } = await request("GET", `purchases/${token}`);
  expect(body).toMatchObject({
    purchaseToken: token,
    packageName: PACKAGE_NAME,
    productKind: "subscription",
    purchase: { subscriptionState: "SUBSCRIPTION_STATE_ACTIVE", testPurchase: {} },
  });
  expect((await request("GET", "purchases")).body["purchases"]).toContainEqual(body);
});

test("a change that makes another purchase answers it, over HTTP", async () => {
  const older = await buy();
  const replace = { change: "replace", productIdentifier: "pro", period: "P1Y" };
  const { status, body } = await request("POST", `purchases/${older}`, replace);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    purchaseToken: expect.not.stringMatching(`^${older}$`),
    purchase: { linkedPurchaseToken: older, lineItems: [{ productId: "pro" }] },
  });
  expect(await timed.standing(older, "subscription")).toBe("expired");
});

test.each([
  [{ change: "renew", period: "soon" }, "period"],
  [{ change: "refund-partly", quantity: 0 }, "quantity"],
  [{ change: "fail-billing", gracePeriod: "P0D" }, "gracePeriod"],
])("a change with invalid details is refused, and named: %j", async (change, path) => {
  const token = await buy();
  const before = await request("GET", `purchases/${token}`);
  const { status, body } = await request("POST", `purchases/${token}`, change);
  expect([status, body["message"]]).toEqual([400, expect.stringContaining(`at ${path}`)]);
  expect(await request("GET", `purchases/${token}`)).toEqual(before);
});

test("invalid purchases and impossible changes are refused", async () => {
  const token = await buy({ productKind: "one_time_product", productIdentifier: "lifetime" });
  const statusOf = async (...asked: Parameters<typeof request>) => (await request(...asked)).status;
  expect(await statusOf("POST", "purchases", { productKind: "subscription" })).toBe(400);
  expect(await statusOf("POST", `purchases/${token}`, { change: "vanish" })).toBe(400);
  expect(await statusOf("POST", `purchases/${token}`, { change: "renew" })).toBe(409);
  for (const change of ["renew", "replace"])
    expect(await statusOf("POST", "purchases/unknown", { change })).toBe(404);
  expect(await statusOf("GET", "purchases/unknown")).toBe(404);
});

test("the API needs an access token, and the token endpoint a grant", async () => {
  const token = await buy();
  const path = `androidpublisher/v3/applications/${PACKAGE_NAME}/purchases/subscriptionsv2/tokens/${token}`;
  expect(await request("GET", path)).toMatchObject({
    status: 401,
    body: { error: { code: 401, errors: [{ reason: "authError" }] } },
  });
  expect(await request("POST", "token", {})).toMatchObject({
    status: 400,
    body: { error: "unsupported_grant_type" },
  });
});
