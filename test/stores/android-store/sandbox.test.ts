import { PACKAGE_NAME, startAndroidStore, type LocalAndroidStore } from "../../support/android-store.ts";

let local: LocalAndroidStore;
beforeAll(async () => {
  local = await startAndroidStore();
});
afterAll(() => local.close());

const request = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${local.rootUrl}${path}`, {
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

const standing = async (purchaseToken: string, productKind: "subscription" | "one_time_product") => {
  const answer = await local
    .store()
    .lookUp(local.androidPackage, { purchaseToken, productKind, productIdentifier: null });
  if (answer.outcome !== "verified") return answer.outcome;
  return answer.purchase.lines.map((line) => line.standing).join() || "nothing";
};

test.each([
  [["renew"], "entitled"],
  [["cancel"], "entitled"],
  [["grace"], "grace_period"],
  [["hold"], "billing_retry"],
  [["pause"], "paused"],
  [["expire"], "expired"],
  [["refund"], "expired"],
  [["hold", "renew"], "entitled"],
])("a subscription created and changed over HTTP with %j has the standing %s", async (changes, expected) => {
  const token = await buy({
    productKind: "subscription",
    productIdentifier: "premium",
    basePlanIdentifier: "monthly",
  });
  for (const change of changes)
    expect(await request("POST", `purchases/${token}`, { change })).toMatchObject({ status: 200 });
  expect(await standing(token, "subscription")).toBe(expected);
});

test.each([
  [[], "entitled"],
  [["consume"], "entitled"],
  [["refund"], "revoked"],
])(
  "a one-time purchase created and changed over HTTP with %j has the standing %s",
  async (changes, expected) => {
    const token = await buy({ productKind: "one_time_product", productIdentifier: "lifetime", quantity: 2 });
    for (const change of changes) await request("POST", `purchases/${token}`, { change });
    expect(await standing(token, "one_time_product")).toBe(expected);
  },
);

test.each(["subscription", "one_time_product"] as const)(
  "a pending %s grants nothing until it is complete",
  async (productKind) => {
    const token = await buy({ productKind, productIdentifier: "premium", pending: true });
    expect(await standing(token, productKind)).toBe("nothing");
    await request("POST", `purchases/${token}`, { change: "complete", period: "P1W" });
    expect(await standing(token, productKind)).toBe("entitled");
  },
);

test("a subscription ends the one it replaces once it is paid", async () => {
  const older = await buy({ productKind: "subscription", productIdentifier: "premium" });
  const newer = await buy({
    productKind: "subscription",
    productIdentifier: "pro",
    replaces: older,
    pending: true,
  });
  expect(await standing(older, "subscription")).toBe("entitled");
  await request("POST", `purchases/${newer}`, { change: "complete" });
  expect(await standing(older, "subscription")).toBe("expired");
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

test("a purchase deleted over HTTP is gone", async () => {
  const token = await buy({ productKind: "subscription", productIdentifier: "premium" });
  expect(await request("DELETE", `purchases/${token}`)).toMatchObject({ status: 204 });
  expect(await standing(token, "subscription")).toBe("gone");
});

test("invalid purchases and impossible changes are refused", async () => {
  const token = await buy({ productKind: "one_time_product", productIdentifier: "lifetime" });
  expect(await request("POST", "purchases", { productKind: "subscription" })).toMatchObject({ status: 400 });
  expect(await request("POST", `purchases/${token}`, { change: "vanish" })).toMatchObject({ status: 400 });
  expect(await request("POST", `purchases/${token}`, { change: "renew" })).toMatchObject({ status: 409 });
  expect(await request("POST", "purchases/unknown", { change: "renew" })).toMatchObject({ status: 404 });
});

test("the API requires an access token, and the token endpoint a valid grant", async () => {
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

test("other paths are left to the server", async () => {
  expect((await fetch(`${local.rootUrl}elsewhere`)).status).toBe(404);
});
