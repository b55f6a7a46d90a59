import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import type { AndroidStoreOptions } from "../../../lib/stores/android-store/android-store.ts";
import {
  aGoogleError,
  HASTY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../../testing/support/android-store.ts";

let local: LocalAndroidStore;
beforeAll(async () => {
  local = await startAndroidStore();
});
afterEach(() => local.sandbox.clearFaults());
afterAll(() => local.close());

const buySubscription = () =>
  local.sandbox.buy({
    packageName: PACKAGE_NAME,
    productKind: "subscription",
    productIdentifier: "premium",
  });

const lookUp = (purchaseToken: string, options?: Partial<AndroidStoreOptions>, from = local) =>
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

describe("a caller's error is rejected without a retry:", () => {
  test.each([
    [400, "invalid"],
    [400, "invalidValue"],
    [400, "purchaseTokenDoesNotMatchPackageName"],
    [400, "purchaseTokenDoesNotMatchProductId"],
    [400, "purchaseTokenMismatch"],
    [400, "productNotOwnedByUser"],
    [404, "purchaseTokenNotFound"],
    [404, "notFound"],
  ])("%i %s", async (status, reason) => {
    const { answer, calls } = await met("publisher", google(status, reason));
    expect(answer).toStrictEqual({ outcome: "rejected", status, reason });
    expect(calls).toBe(1);
  });

  test("400 with any reason that Google attributes to the token", async () => {
    const { answer } = await met("publisher", google(400, "aReasonOfNextYear", "token"));
    expect(answer).toMatchObject({ outcome: "rejected" });
  });

  test("an unknown token", async () => {
    expect(await lookUp("unknown")).toMatchObject({ outcome: "rejected", reason: "purchaseTokenNotFound" });
  });

  test("a token of another kind", async () => {
    const purchaseToken = local.sandbox.buy({
      packageName: PACKAGE_NAME,
      productKind: "one_time_product",
      productIdentifier: "lifetime",
    });
    expect(await lookUp(purchaseToken)).toMatchObject({ outcome: "rejected", reason: "invalid" });
  });

  test("a token of another package", async () => {
    const purchaseToken = local.sandbox.buy({
      packageName: "com.example.other",
      productKind: "subscription",
      productIdentifier: "premium",
    });
    expect(await lookUp(purchaseToken)).toMatchObject({
      outcome: "rejected",
      reason: "purchaseTokenDoesNotMatchPackageName",
    });
  });

  test.each([".", "..", "", "\ud800", "😀".repeat(700), "%".repeat(4096)])(
    "a token that no path can hold, without a request: %j",
    async (purchaseToken) => {
      local.sandbox.calls.length = 0;
      expect(await lookUp(purchaseToken)).toMatchObject({ outcome: "rejected" });
      expect(local.sandbox.calls).toHaveLength(0);
    },
  );

  test.each(["a/b", "a?b#c", "a b", "%2e%2e", "../../x", "a:acknowledge", "ünï"])(
    "a token that looks like a path, which is encoded: %j",
    async (purchaseToken) => {
      local.sandbox.calls.length = 0;
      expect(await lookUp(purchaseToken)).toMatchObject({
        outcome: "rejected",
        reason: "purchaseTokenNotFound",
      });
      expect(local.sandbox.calls.at(-1)?.path).toBe(
        `/androidpublisher/v3/applications/${PACKAGE_NAME}/purchases/subscriptionsv2/tokens/${encodeURIComponent(purchaseToken)}`,
      );
    },
  );
});

describe("a purchase that the store has dropped is gone:", () => {
  test.each([
    [410, "subscriptionPurchaseNoLongerAvailable"],
    [410, "purchaseTokenNoLongerValid"],
    [410, "aReasonOfNextYear"],
    [404, "purchaseTokenNoLongerValid"],
  ])("%i %s", async (status, reason) => {
    const { answer, calls } = await met("publisher", google(status, reason));
    expect(answer).toStrictEqual({ outcome: "gone", status, reason });
    expect(calls).toBe(1);
  });

  const TOO_LONG =
    "The subscription purchase is no longer available for query because it has been expired for too long.";
  const precondition = (message: string, error: object): Fault => ({
    status: 400,
    body: { error: { code: 400, message, ...error } },
  });
  const both = {
    errors: [{ domain: "global", reason: "failedPrecondition" }],
    status: "FAILED_PRECONDITION",
  };

  test.each([
    ["failedPrecondition", both],
    ["FAILED_PRECONDITION", { status: "FAILED_PRECONDITION" }],
  ])("400 %s that has been expired for too long", async (reason, error) => {
    const { answer, calls } = await met("publisher", precondition(TOO_LONG, error));
    expect(answer).toStrictEqual({ outcome: "gone", status: 400, reason });
    expect(calls).toBe(1);
  });
  test("not where another precondition failed, nor for another reason", async () => {
    const answers = [
      precondition("The purchase is not in a valid state.", both),
      precondition(TOO_LONG, { errors: [{ reason: "aReasonOfNextYear" }] }),
    ];
    for (const fault of answers)
      expect((await met("publisher", fault, fault, fault)).answer).toMatchObject({
        outcome: "unavailable",
        status: 400,
      });
  });

  test("a purchase that expired long ago", async () => {
    const purchaseToken = buySubscription();
    local.sandbox.drop(purchaseToken);
    expect(await lookUp(purchaseToken)).toMatchObject({ outcome: "gone", status: 410 });
  });
});

describe("an operator's error is credential-rejected:", () => {
  test.each([
    [401, "authError"],
    [401, "permissionDenied"],
    [401, undefined],
    [403, "permissionDenied"],
    [403, "forbidden"],
    [403, "userInsufficientPermission"],
    [403, "aReasonOfNextYear"],
    [400, "invalid_grant"],
    [404, "applicationNotFound"],
  ])("%i %s", async (status, reason) => {
    const { answer, calls } = await met("publisher", google(status, reason));
    expect(answer).toStrictEqual({ outcome: "credential-rejected", status, reason: reason ?? null });
    expect(calls).toBe(1);
  });

  test("a registered package that the store does not know", async () => {
    const other = { ...local.androidPackage, packageName: "com.example.unpublished" };
    const request = {
      purchaseToken: buySubscription(),
      productKind: "subscription",
      productIdentifier: null,
    } as const;
    expect(await local.store().lookUp(other, request)).toMatchObject({
      outcome: "credential-rejected",
      reason: "applicationNotFound",
    });
  });
});

describe("a transient failure is unavailable after exactly one retry:", () => {
  const MALFORMED: Fault = { status: 502, body: "<html>bad gateway</html>" };

  test.each<[string, Fault]>([
    ["403 rateLimitExceeded", google(403, "rateLimitExceeded")],
    ["403 userRateLimitExceeded", google(403, "userRateLimitExceeded")],
    ["403 quotaExceeded", google(403, "quotaExceeded")],
    ["403 dailyLimitExceeded", google(403, "dailyLimitExceeded")],
    ["403 without a reason", { status: 403, body: "<html>forbidden by a proxy</html>" }],
    ["409 concurrentUpdate", google(409, "concurrentUpdate")],
    ["429 rateLimitExceeded", google(429, "rateLimitExceeded")],
    ["500 backendError", google(500, "backendError")],
    ["503", google(503)],
    ["502 of a proxy", MALFORMED],
    ["400 without a reason", google(400)],
    ["400 with a reason of next year", google(400, "aReasonOfNextYear")],
    ["404 without a reason", google(404)],
    ["404 of a proxy", { status: 404, body: "<html>not found</html>" }],
    ["a closed connection", "disconnect"],
  ])("%s", async (_, fault) => {
    const { answer, calls } = await met("publisher", fault, fault);
    expect(answer).toMatchObject({ outcome: "unavailable", retryAfterSeconds: 5 });
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

  test("no answer, after two timeouts", async () => {
    const { answer, calls } = await met("publisher", "hang", "hang");
    expect(answer).toStrictEqual({
      outcome: "unavailable",
      status: null,
      reason: "timeout",
      retryAfterSeconds: 5,
    });
    expect(calls).toBe(2);
  });

  test("a look-up that exceeds the total time", async () => {
    const timing = { request: 5_000, pause: 10, total: 300 };
    local.sandbox.failNext("token", "hang");
    expect(await lookUp(buySubscription(), { timing })).toMatchObject({
      outcome: "unavailable",
      reason: "timeout",
    });
  });

  test("a name that does not resolve, and a certificate that nobody trusts", async () => {
    const failing = (code: string) => (): Promise<never> =>
      Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code }) }));
    for (const [code, reason] of [
      ["ENOTFOUND", "nameNotResolved"],
      ["CERT_HAS_EXPIRED", "tls"],
    ] as const)
      expect(await lookUp("token", { fetch: failing(code) })).toMatchObject({
        outcome: "unavailable",
        reason,
      });
  });

  test("a store that cannot be reached", async () => {
    const unreachable = await startAndroidStore();
    await unreachable.close();
    expect(await lookUp("token", {}, unreachable)).toMatchObject({
      outcome: "unavailable",
      status: null,
      reason: "connection",
    });
  });

  test.each([
    ["7", 7],
    ["0", 1],
    ["86400", 60],
    [new Date(NOW + 30_000).toUTCString(), 30],
    [new Date(NOW - 30_000).toUTCString(), 1],
  ])("Retry-After %s, which is passed on as %i seconds without a retry", async (header, seconds) => {
    const { answer, calls } = await met("publisher", {
      status: 503,
      body: aGoogleError(503, "backendError"),
      headers: { "retry-after": header },
    });
    expect(answer).toMatchObject({ outcome: "unavailable", retryAfterSeconds: seconds });
    expect(calls).toBe(1);
  });

  test("an unreadable Retry-After, which is ignored", async () => {
    const fault = { status: 503, headers: { "retry-after": "soon" } };
    const { answer, calls } = await met("publisher", fault, fault);
    expect(answer).toMatchObject({ outcome: "unavailable", retryAfterSeconds: 5 });
    expect(calls).toBe(2);
  });
});

test.each([
  ["a page", "<html>please log in</html>"],
  ["a text", '"verified"'],
  ["an empty object", {}],
  ["a list", []],
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
    [403, "access_denied"],
  ])("refused with %i %s is credential-rejected without a retry", async (status, error) => {
    const fault = { status, body: { error, error_description: "Not you." } };
    const { answer, exchanges, calls } = await met("token", fault);
    expect(answer).toStrictEqual({ outcome: "credential-rejected", status, reason: error });
    expect({ exchanges, calls }).toStrictEqual({ exchanges: 1, calls: 0 });
  });

  test.each<[string, Fault]>([
    ["500", { status: 500, body: { error: "internal_failure" } }],
    ["503 of a proxy", { status: 503, body: "<html>unavailable</html>" }],
    ["429", { status: 429, body: { error: "slow_down" } }],
    ["a closed connection", "disconnect"],
    ["a page instead of an answer", { status: 200, body: "<html>please log in</html>" }],
    ["an answer without a token", { status: 200, body: { expires_in: 3600 } }],
    ["an empty answer", { status: 500, body: null }],
    ["no answer in time", "hang"],
  ])("that meets %s is unavailable after exactly one retry", async (_, fault) => {
    const { answer, exchanges, calls } = await met("token", fault, fault);
    expect(answer).toMatchObject({ outcome: "unavailable" });
    expect({ exchanges, calls }).toStrictEqual({ exchanges: 2, calls: 0 });
  });

  test("that fails once is repeated with the call", async () => {
    const { answer, exchanges, calls } = await met("token", { status: 503 });
    expect(answer).toMatchObject({ outcome: "verified" });
    expect({ exchanges, calls }).toStrictEqual({ exchanges: 2, calls: 1 });
  });

  test("passes on Retry-After", async () => {
    const { answer } = await met("token", { status: 503, headers: { "retry-after": "9" } });
    expect(answer).toMatchObject({ outcome: "unavailable", retryAfterSeconds: 9 });
  });
});

describe("no answer holds a token, a credential or a store's message", () => {
  const purchaseToken = `${"f".repeat(24)}.AO-J1OverySecret`;
  const BODIES: [string, unknown][] = [
    ["Google's error", aGoogleError(400, "invalid")],
    ["Google's error with a token as its reason", aGoogleError(400, purchaseToken)],
    ["OAuth's error", { error: "invalid_grant", error_description: purchaseToken }],
    ["OAuth's error with a token as its code", { error: purchaseToken }],
    ["a page", `<html>${purchaseToken}</html>`],
  ];

  describe.each(["token", "publisher"] as const)("of the %s endpoint", (endpoint) => {
    test.each(
      [400, 401, 403, 404, 410, 500].flatMap((status) => BODIES.map((body) => [status, ...body] as const)),
    )("%i with %s", async (status, _, body) => {
      local.sandbox.failNext(endpoint, { status, body }, { status, body });
      const answer = await lookUp(purchaseToken);
      expect(Object.keys(answer).filter((key) => key !== "retryAfterSeconds")).toStrictEqual([
        "outcome",
        "status",
        "reason",
      ]);
      expect(JSON.stringify(answer)).not.toMatch(/verified|ffff|secret|message/i);
    });
  });
});
