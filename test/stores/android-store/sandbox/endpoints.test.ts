import { PACKAGE_NAME } from "../../../../testing/support/stores/android-store.ts";
import { timedAndroidStoreForEachTest } from "./timed-android-store.ts";

const timed = timedAndroidStoreForEachTest();

const request = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${timed.rootUrl}${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text === "" ? null : (JSON.parse(text) as Record<string, unknown>),
  };
};

const buy = async (purchase: Record<string, unknown>): Promise<string> => {
  const { status, body } = await request("POST", "purchases", { packageName: PACKAGE_NAME, ...purchase });
  expect(status).toBe(201);
  return String(body?.["purchaseToken"]);
};

test.each(["subscription", "one_time_product"] as const)(
  "a pending %s grants nothing until it is complete",
  async (productKind) => {
    const token = await buy({ productKind, productIdentifier: "premium", pending: true });
    expect(await timed.standing(token, productKind)).toBe("nothing");
    await request("POST", `purchases/${token}`, { change: "complete", period: "P1W" });
    expect(await timed.standing(token, productKind)).toBe("entitled");
  },
);

test("a rental says so, and a subscription bought again outside the app, until it is acknowledged", async () => {
  const rental = await buy({ productKind: "one_time_product", productIdentifier: "film", rental: true });
  const again = await buy({
    productKind: "subscription",
    productIdentifier: "premium",
    resubscribes: "expired",
  });
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
  const token = await buy({ productKind: "subscription", productIdentifier: "premium", test: true });
  const { body } = await request("GET", `purchases/${token}`);
  expect(body).toMatchObject({
    purchaseToken: token,
    packageName: PACKAGE_NAME,
    productKind: "subscription",
    purchase: { subscriptionState: "SUBSCRIPTION_STATE_ACTIVE", testPurchase: {} },
  });
  expect((await request("GET", "purchases")).body?.["purchases"]).toContainEqual(body);
});

test("a change that makes another purchase answers it, over HTTP", async () => {
  const older = await buy({ productKind: "subscription", productIdentifier: "premium" });
  const { status, body } = await request("POST", `purchases/${older}`, {
    change: "replace",
    productIdentifier: "pro",
    period: "P1Y",
  });
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
  const token = await buy({ productKind: "subscription", productIdentifier: "premium" });
  const before = await request("GET", `purchases/${token}`);
  const { status, body } = await request("POST", `purchases/${token}`, change);
  expect([status, body?.["message"]]).toEqual([400, expect.stringContaining(`at ${path}`)]);
  expect(await request("GET", `purchases/${token}`)).toEqual(before);
});

test("invalid purchases and impossible changes are refused", async () => {
  const token = await buy({ productKind: "one_time_product", productIdentifier: "lifetime" });
  expect(await request("POST", "purchases", { productKind: "subscription" })).toMatchObject({ status: 400 });
  expect(await request("POST", `purchases/${token}`, { change: "vanish" })).toMatchObject({ status: 400 });
  expect(await request("POST", `purchases/${token}`, { change: "renew" })).toMatchObject({ status: 409 });
  for (const change of ["renew", "replace"])
    expect(await request("POST", "purchases/unknown", { change })).toMatchObject({ status: 404 });
  expect(await request("GET", "purchases/unknown")).toMatchObject({ status: 404 });
});

test("the API needs an access token, and the token endpoint a grant", async () => {
  const token = await buy({ productKind: "subscription", productIdentifier: "premium" });
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
