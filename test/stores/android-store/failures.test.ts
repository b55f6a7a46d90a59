import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import type { StoreClientOptions } from "../../../lib/stores/store-client.ts";
import {
  aGoogleError,
  HASTY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
} from "../../../testing/support/stores/android-store.ts";
import { storeForFile } from "./store-for-file.ts";

const local = storeForFile();

const buySubscription = (packageName = PACKAGE_NAME) =>
  local.sandbox.buy({ packageName, productKind: "subscription", productIdentifier: "premium" });

const lookUp = (purchaseToken: string, options?: Partial<StoreClientOptions>, from = local) =>
  from.store(options).lookUp(from.androidPackage, {
    purchaseToken,
    productKind: "subscription",
    productIdentifier: null,
  });

/** The answer to a look-up that meets these faults, and the number of its requests. */
const met = async (endpoint: "token" | "publisher", ...faults: Fault[]) => {
  const purchaseToken = buySubscription();
  local.sandbox.failNext(endpoint, ...faults);
  local.sandbox.calls.length = 0;
  const answer = await lookUp(purchaseToken, faults.includes("hang") ? { timing: HASTY } : {});
  const count = (name: string) => local.sandbox.calls.filter((call) => call.endpoint === name).length;
  return { answer, exchanges: count("token"), calls: count("publisher") };
};

const google = (status: number, reason?: string, location?: string): Fault => ({
  status,
  body: aGoogleError(status, reason, location),
});

const REASON_OF_TOMORROW = "aReasonOfTomorrow";
const TOO_LONG =
  "The subscription purchase is no longer available for query because it has been expired for too long.";
const precondition = (message: string, error: object): Fault => ({
  status: 400,
  body: { error: { code: 400, message, ...error } },
});
const FAILED_PRECONDITION = {
  errors: [{ domain: "global", reason: "failedPrecondition" }],
  status: "FAILED_PRECONDITION",
};

test.each<[status: number, reason: string | undefined, outcome: string, location?: string]>([
  [400, "invalid", "rejected"],
  [400, REASON_OF_TOMORROW, "rejected", "token"],
  [404, "purchaseTokenNotFound", "rejected"],
  [404, "notFound", "rejected"],
  [410, "subscriptionPurchaseNoLongerAvailable", "gone"],
  [410, REASON_OF_TOMORROW, "gone"],
  [404, "purchaseTokenNoLongerValid", "gone"],
  [401, "authError", "credential-rejected"],
  [401, undefined, "credential-rejected"],
  [403, REASON_OF_TOMORROW, "credential-rejected"],
  [404, "applicationNotFound", "credential-rejected"],
])("%i %s is %s, without a retry", async (status, reason, outcome, ...[location]) => {
  const { answer, calls } = await met("publisher", google(status, reason, location));
  expect(answer).toStrictEqual({ outcome, status, reason: reason ?? null });
  expect(calls).toBe(1);
});

test.each([
  ["failedPrecondition", FAILED_PRECONDITION],
  ["FAILED_PRECONDITION", { status: "FAILED_PRECONDITION" }],
])("400 %s of what has been expired for too long is gone", async (reason, error) => {
  const { answer } = await met("publisher", precondition(TOO_LONG, error));
  expect(answer).toStrictEqual({ outcome: "gone", status: 400, reason });
});

test("another package's token is rejected", async () => {
  const reason = "purchaseTokenDoesNotMatchPackageName";
  expect(await lookUp(buySubscription("com.example.other"))).toMatchObject({ outcome: "rejected", reason });
});

test.each([".", "..", "", "\ud800", "%".repeat(4096)])(
  "a token that no path can hold, without a request: %j",
  async (purchaseToken) => {
    expect(await lookUp(purchaseToken)).toMatchObject({ outcome: "rejected" });
    expect(local.sandbox.calls).toHaveLength(0);
  },
);

test.each(["a/b", "a?b#c", "../../x", "ünï"])(
  "a token that looks like a path, which is encoded: %j",
  async (token) => {
    const reason = "purchaseTokenNotFound";
    expect(await lookUp(token)).toMatchObject({ outcome: "rejected", reason });
    const path = local.sandbox.calls.at(-1)?.path.split("/purchases/")[1];
    expect(path).toBe(`subscriptionsv2/tokens/${encodeURIComponent(token)}`);
  },
);

describe("a transient failure is unavailable after exactly one retry:", () => {
  test.each<[string, Fault, cause?: object]>([
    ["403 rateLimitExceeded", google(403, "rateLimitExceeded")],
    ["403 without a reason", { status: 403, body: "<html>forbidden by a proxy</html>" }],
    ["429 rateLimitExceeded", google(429, "rateLimitExceeded")],
    ["500 backendError", google(500, "backendError")],
    ["400 with an unknown reason", google(400, REASON_OF_TOMORROW)],
    ["400 for another precondition", precondition("Not in a valid state.", FAILED_PRECONDITION)],
    ["400 expired, for another reason", precondition(TOO_LONG, { errors: [{ reason: REASON_OF_TOMORROW }] })],
    ["404 of a proxy", { status: 404, body: "<html>not found</html>" }],
    ["a closed connection", "disconnect"],
    ["no answer, after two timeouts", "hang", { status: null, reason: "timeout" }],
  ])("%s", async (_, fault, cause = {}) => {
    const { answer, calls } = await met("publisher", fault, fault);
    expect(answer).toMatchObject({ outcome: "unavailable", retryAt: null, ...cause });
    expect(calls).toBe(2);
  });

  test.each<[string, Fault]>([
    ["500", google(500, "backendError")],
    ["a closed connection", "disconnect"],
    ["no answer in time", "hang"],
  ])("%s once, unless the retry succeeds", async (_, fault) => {
    const { answer, calls } = await met("publisher", fault);
    expect(answer).toMatchObject({ outcome: "verified" });
    expect(calls).toBe(2);
  });

  test.each([
    ["7", 7],
    ["0", 1],
    ["86400", 60],
    [new Date(NOW + 30_000).toUTCString(), 30],
  ])("Retry-After %s, which is passed on as %i seconds without a retry", async (header, seconds) => {
    const { answer, calls } = await met("publisher", { status: 503, headers: { "retry-after": header } });
    expect(answer).toMatchObject({ outcome: "unavailable", retryAt: NOW + seconds * 1000 });
    expect(calls).toBe(1);
  });

  test("a store that cannot be reached", async () => {
    const unreachable = await startAndroidStore();
    await unreachable.close();
    const unavailable = { outcome: "unavailable", status: null, reason: "connection" };
    expect(await lookUp("token", {}, unreachable)).toMatchObject(unavailable);
  });
});

test.each([
  ["a page", "<html>please log in</html>"],
  ["an empty object", {}],
  ["nothing", null],
])("a 200 that is %s is unavailable", async (_, body) => {
  const { answer } = await met("publisher", { status: 200, body });
  expect(answer).toMatchObject({ outcome: "unavailable", reason: "malformedAnswer" });
});

describe("the token exchange", () => {
  test.each([
    [400, "invalid_grant"],
    [400, "invalid_target"],
    [401, "invalid_client"],
  ])("refused with %i %s is credential-rejected without a retry", async (status, error) => {
    const fault = { status, body: { error, error_description: "Not you." } };
    const { answer, exchanges, calls } = await met("token", fault);
    expect(answer).toStrictEqual({ outcome: "credential-rejected", status, reason: error });
    expect({ exchanges, calls }).toStrictEqual({ exchanges: 1, calls: 0 });
  });

  test.each<[string, Fault]>([
    ["500", { status: 500, body: { error: "internal_failure" } }],
    ["a page instead of an answer", { status: 200, body: "<html>please log in</html>" }],
    ["an answer without a token", { status: 200, body: { expires_in: 3600 } }],
    ["no answer in time", "hang"],
  ])("that meets %s is unavailable after exactly one retry", async (_, fault) => {
    const { answer, exchanges, calls } = await met("token", fault, fault);
    expect(answer).toMatchObject({ outcome: "unavailable" });
    expect({ exchanges, calls }).toStrictEqual({ exchanges: 2, calls: 0 });
  });
});

describe("no answer holds a token, a credential or a store's message", () => {
  const purchaseToken = `${"f".repeat(24)}.AO-J1OverySecret`;
  const BODIES: readonly unknown[] = [
    aGoogleError(400, "invalid"),
    aGoogleError(400, purchaseToken),
    { error: "invalid_grant", error_description: purchaseToken },
    { error: purchaseToken },
    `<html>${purchaseToken}</html>`,
  ];
  const statuses = [400, 401, 410, 500];
  test.each(
    (["token", "publisher"] as const).flatMap((endpoint) =>
      statuses.map((status) => [endpoint, status] as const),
    ),
  )("of the %s endpoint, with status %i", async (endpoint, status) => {
    for (const body of BODIES) {
      local.sandbox.failNext(endpoint, { status, body }, { status, body });
      const { outcome, ...cause } = await lookUp(purchaseToken);
      expect(outcome).not.toBe("verified");
      expect(cause).toMatchObject({ status });
      expect(JSON.stringify(cause)).not.toMatch(/ffff|secret|message/i);
    }
  });
});

test("a product that is not in the purchase is rejected", async () => {
  const goods = { productKind: "one_time_product", productIdentifier: "lifetime" } as const;
  const purchaseToken = local.sandbox.buy({ packageName: PACKAGE_NAME, ...goods });
  const request = { ...goods, purchaseToken, productIdentifier: "other" };
  const rejected = { outcome: "rejected", reason: "productNotInPurchase" };
  expect(await local.store().lookUp(local.androidPackage, request)).toMatchObject(rejected);
});

test.each([google(400, "invalid"), google(410, "purchaseTokenNoLongerValid")])(
  "the list of voided purchases refuses none: %j",
  async (fault) => {
    local.sandbox.failNext("publisher", fault);
    const period = { from: NOW, to: NOW + 1 };
    const answer = await local.store().voidedPurchases(local.androidPackage, period, null);
    expect(answer).toMatchObject({ outcome: "unavailable" });
  },
);
