import { setTimeout as sleep } from "node:timers/promises";
import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { decodeJwt } from "jose";
import { endpoints } from "../../lib/contract/endpoints.ts";
import type { ErrorCode } from "../../lib/contract/errors.ts";
import { accountId, keyId } from "../../lib/identifiers.ts";
import { METRICS } from "../../lib/contract/metrics.ts";
import { keys, partitions } from "../../lib/table/keys.ts";
import {
  startTestService,
  type Answer,
  type TestApplication,
  type TestService,
} from "../../testing/support/service.ts";

/** Any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

const ACCOUNT = "nora.nobody@example.com";
const OTHER_ACCOUNT = "somebody.else@example.com";
const READS = endpoints.readAccountEntitlements.function;
const forbidden = { status: 403, body: { error: { code: 403, errors: [{ reason: "permissionDenied" }] } } };

let service: TestService;
let app: TestApplication;

beforeAll(async () => {
  // Makes Google's client log all requests and answers, unless the service prevents it.
  service = await startTestService({ GOOGLE_SDK_NODE_LOGGING: "all" });
  app = await service.application();
}, 90_000);

afterAll(async () => {
  await service?.stop();
});

/** A line of a function's log, from either stream; null for text that Lambda itself would log. */
const parsed = (line: string): Json | null => {
  try {
    return JSON.parse(line.slice(line.indexOf("{")));
  } catch {
    return null;
  }
};

const lines = (): Json[] =>
  [...service.output, ...service.log]
    .map(parsed)
    .filter((line: unknown) => typeof line === "object" && line !== null);

/** Waits for a line, which may arrive after the answer. */
const lineWith = async (matches: (line: Json) => boolean): Promise<Json> => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const found = lines().find(matches);
    if (found !== undefined) return found;
    await sleep(20);
  }
  throw new Error("There is no such line.");
};

const lineOf = async (answer: Answer): Promise<Json> => {
  const requestId = answer.headers.get("x-amzn-requestid");
  return lineWith((line) => line.requestId === requestId && "outcome" in line);
};

/** The last readable line of a request that matches. */
const requestWith = async (text: RegExp): Promise<string> => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const found = service.requests.findLast((line) => text.test(line));
    if (found !== undefined) return found;
    await sleep(20);
  }
  throw new Error(`There is no line ${text} among\n${service.requests.join("\n")}`);
};

/** The sum of a metric's values with these dimensions. */
const measured = (name: keyof typeof METRICS, dimensions: Record<string, string> = {}): number =>
  lines()
    .filter((line) => line._aws?.CloudWatchMetrics[0].Metrics[0].Name === METRICS[name])
    .filter((line) => Object.entries(dimensions).every(([dimension, value]) => line[dimension] === value))
    .reduce((sum, line) => sum + line[METRICS[name]], 0);

// Values in requests and answers that must not appear in the log.
const secrets = new Set<string>(
  [ACCOUNT, OTHER_ACCOUNT].flatMap((account) => [account, encodeURIComponent(account)]),
);

/** Collects a request's tokens, its signed transactions and the identifiers in them. */
const keep = <Value>(value: Value): Value => {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(keep);
  if (typeof value !== "string") return value;
  secrets.add(value);
  if (!value.startsWith("eyJ")) return value;
  for (const part of value.split(".")) secrets.add(part);
  const { transactionId, originalTransactionId, appTransactionId } = decodeJwt<Json>(value);
  for (const identifier of [transactionId, originalTransactionId, appTransactionId])
    if (typeof identifier === "string") secrets.add(identifier);
  return value;
};

const keepAnswer = (answer: Answer): Answer => {
  for (const identifier of [answer.body.customerIdentifier, ...(answer.body.customerIdentifiers ?? [])])
    if (identifier) secrets.add(identifier);
  return answer;
};

describe("one line for each request", () => {
  test("a link of the iOS store logs its application, purchases, outcome and duration", async () => {
    const request = keep(app.device().request({}, { productIdentifier: "forever", type: "Non-Consumable" }));
    const answer = keepAnswer(await app.link(request, ACCOUNT));
    const line = await lineOf(answer);
    expect(line).toMatchObject({
      level: "INFO",
      message: "request",
      service: "customer-entitlements",
      endpoint: "link-ios-store-customer",
      store: "ios-store",
      application: app.identifier,
      keyIdentifier: expect.stringMatching(/^[0-9a-f]{16}$/),
      invocation: expect.any(String),
      transactions: 2,
      purchases: 2,
      outcome: "OK",
      status: 200,
      coldStart: true,
      initializationMilliseconds: expect.any(Number),
      peakMegabytes: expect.any(Number),
      milliseconds: expect.any(Number),
    });
    expect(line.initializationMilliseconds).toBeGreaterThan(0);
    // A process of Node.js alone holds some 40 MB.
    expect(line.peakMegabytes).toBeGreaterThan(20);
    expect(line.peakMegabytes).toBeLessThan(4096);
    const again = await lineOf(await app.link(request, ACCOUNT));
    expect(again).toMatchObject({ outcome: "OK", coldStart: false });
    expect(again).not.toHaveProperty("initializationMilliseconds");
    expect(measured("requests", { Endpoint: "link-ios-store-customer", Outcome: "OK" })).toBe(2);
  });

  test("synchronize logs the application that its bundle names", async () => {
    const request = keep(app.device().request({}));
    const line = await lineOf(keepAnswer(await app.synchronize(request, ACCOUNT)));
    expect(line).toMatchObject({
      endpoint: "synchronize-ios-store-purchases",
      application: app.identifier,
      transactions: 1,
      purchases: 1,
      outcome: "OK",
    });
    expect(line).not.toHaveProperty("keyIdentifier");
  });

  test("a read logs no purchase and no store", async () => {
    const line = await lineOf(keepAnswer(await app.read(ACCOUNT)));
    expect(line).toMatchObject({
      endpoint: "read-account-entitlements",
      application: app.identifier,
      outcome: "OK",
    });
    expect(line).not.toHaveProperty("store");
  });

  test("a link of the Android store logs how long the store took", async () => {
    const token = keep(app.buyOnAndroid());
    const line = await lineOf(keepAnswer(await app.linkAndroid(token, ACCOUNT)));
    expect(line).toMatchObject({
      endpoint: "link-android-store-customer",
      store: "android-store",
      purchases: 1,
      storeMilliseconds: expect.any(Number),
      outcome: "OK",
    });
    expect(measured("storeLatency", { Store: "android-store" })).toBeGreaterThan(0);
  });

  test("the authorizer logs whom it allowed, and of a refusal nothing but the outcome and why", async () => {
    const { keyIdentifier } = await app.issue(["entitlements:read"]);
    const { apiKey, keyIdentifier: known } = await app.issue(["entitlements:read"]);
    secrets.add(apiKey.split("_")[2] ?? "");
    expect((await service.send("GET", "/v1/customers/a/entitlements", { key: apiKey })).status).toBe(200);
    const allowed = await lineWith(
      (line) => line.keyIdentifier === known && line.message === "authorization",
    );
    expect(allowed).toMatchObject({ outcome: "ALLOWED", application: app.identifier });

    const wrong = `cek_${keyIdentifier}_${apiKey.split("_")[2]}`;
    expect((await service.send("GET", "/v1/customers/a/entitlements", { key: wrong })).status).toBe(401);
    const refused = await lineWith((line) => line.outcome === "REFUSED");
    expect(refused.because).toBe("malformed");
    expect(Object.keys(refused).sort()).toEqual([
      "because",
      "coldStart",
      "endpoint",
      "invocation",
      "level",
      "message",
      "milliseconds",
      "outcome",
      "peakMegabytes",
      "sampling_rate",
      "service",
      "timestamp",
    ]);
  });
});

describe("a purchase that grants nothing is named and counted:", () => {
  test.each([
    [
      "an unmapped product",
      {},
      { productIdentifier: "unmapped" },
      "unmapped",
      /ios-store unmapped grants nothing/,
    ],
  ])("%s of the iOS store", async (_, device, transaction, because, text) => {
    const before = measured("ungrantedProducts", { Store: "ios-store", Reason: because });
    const answer = await app.link(keep(app.device(device).request(transaction)), ACCOUNT);
    expect([answer.status, (await lineOf(keepAnswer(answer))).grantsNothing]).toEqual([
      200,
      [
        {
          store: "ios-store",
          productIdentifier: "unmapped",
          basePlanIdentifier: null,
          purchaseOptionIdentifier: null,
          because,
        },
      ],
    ]);
    expect(await requestWith(text)).toMatch(/^POST \/v1\/customers\/ios-store\/link 200 \d+ ms; ios-store /);
    expect(measured("ungrantedProducts", { Store: "ios-store", Reason: because })).toBe(before + 1);
  });

  test("a base plan that the catalog does not map", async () => {
    const token = keep(app.buyOnAndroid({ basePlanIdentifier: "weekly" }));
    const line = await lineOf(keepAnswer(await app.linkAndroid(token, ACCOUNT)));
    expect(line).toMatchObject({
      outcome: "OK",
      grantsNothing: [{ productIdentifier: "premium", basePlanIdentifier: "weekly", because: "unmapped" }],
    });
    expect(await requestWith(/base plan weekly grants nothing: the catalog does not map it$/)).toMatch(
      / 200 \d+ ms; android-store premium, base plan weekly /,
    );
  });
});

describe("a request is one readable line, which says why it was refused:", () => {
  const expectLine = async (answer: Answer, text: RegExp): Promise<void> => {
    keepAnswer(answer);
    expect(await requestWith(text)).toMatch(new RegExp(`^(?:GET|POST) /v1/\\S+ ${answer.status} \\d+ ms `));
  };
  const read = (headers: Record<string, string>) =>
    service.send("GET", "/v1/customers/a/entitlements", { headers });

  test("the app's Apple ID is another", async () => {
    const answer = await app.link(keep(app.device({ appAppleIdentifier: 12 }).request()), ACCOUNT);
    expect(answer.body).toEqual({
      error: "INVALID_APP_TRANSACTION",
      message: "The signed app transaction could not be verified.",
    });
    const because = "the app's Apple ID is 12, the manifest says 1234567890";
    expect(await lineOf(answer)).toMatchObject({ because });
    await expectLine(answer, new RegExp(`INVALID_APP_TRANSACTION: ${because}$`));
  });

  test("no application has the bundle, or another one has", async () => {
    const request = keep(app.device({ bundleIdentifier: "com.example.nobodys" }).request());
    await expectLine(
      await app.synchronize(request),
      /APPLICATION_NOT_FOUND: no application has the bundle com\.example\.nobodys$/,
    );
    await expectLine(
      await app.link(request, ACCOUNT),
      new RegExp(`STORE_CONFIGURATION_NOT_FOUND: the manifest has only the bundles ${app.bundleIdentifier}$`),
    );
  });

  test("a package that the manifest does not have is not repeated", async () => {
    const answer = await app.linkAndroid(keep(app.buyOnAndroid()), ACCOUNT, { packageName: "com.example.x" });
    await expectLine(
      answer,
      new RegExp(`STORE_CONFIGURATION_NOT_FOUND: the manifest has only the packages ${app.packageName}$`),
    );
  });

  test("a field is missing", async () => {
    const answer = await service.send("POST", "/v1/customers/ios-store/synchronize", { body: {} });
    await expectLine(answer, /INVALID_REQUEST: signedAppTransaction is required$/);
  });

  test("the store does not know the token", async () => {
    const answer = await app.linkAndroid(keep("a-token-that-nobody-has"), ACCOUNT);
    await expectLine(answer, /INVALID_PURCHASE: the store answered \d{3}(?: \w+)?$/);
  });

  test("there is no key, none of its form, or none that is known", async () => {
    const { apiKey } = await app.issue(["entitlements:read"]);
    const [, , secret = ""] = apiKey.split("_");
    const { keyIdentifier } = await app.issue(["entitlements:read"]);
    secrets.add(secret);
    await expectLine(await read({}), /INVALID_CREDENTIAL: there is no header Authorization$/);
    await expectLine(
      await read({ authorization: "Basic x" }),
      /INVALID_CREDENTIAL: the header Authorization is not Bearer and a whole API key$/,
    );
    await expectLine(
      await read({ authorization: `Bearer cek_${keyIdentifier}_${secret.slice(0, 64)}00000000` }),
      /INVALID_CREDENTIAL: the API key is (?:malformed|unknown)$/,
    );
  });

  test("a scope is missing, or a route", async () => {
    const { apiKey } = await app.issue(["entitlements:read"]);
    secrets.add(apiKey.split("_")[2] ?? "");
    const answer = await service.send("POST", "/v1/customers/ios-store/link", { key: apiKey, body: {} });
    await expectLine(answer, /INSUFFICIENT_SCOPE: .* The key lacks: .*customers:write/);
    await expectLine(await service.send("GET", "/v1/nothing"), /ROUTE_NOT_FOUND: There is no such route\.$/);
  });
});

describe("a failure is counted, and its line gives the reason:", () => {
  const outcomeOf = async (answer: Answer, outcome: ErrorCode) => {
    expect(answer.body.error).toBe(outcome);
    const line = await lineOf(keepAnswer(answer));
    expect(line).toMatchObject({ outcome, status: answer.status });
    await lineWith(
      ({ Requests, Endpoint, Outcome }) =>
        Requests === 1 && Endpoint === line.endpoint && Outcome === outcome,
    );
    return line;
  };

  test("a signature that is not the store's", async () => {
    const request = app.device().request({});
    const [transaction = ""] = request.signedTransactions;
    const forged = `${transaction.slice(0, transaction.lastIndexOf(".") + 1)}${"A".repeat(86)}`;
    keep({ ...request, forged: transaction });
    const answer = await app.link({ ...request, signedTransactions: [forged] }, ACCOUNT);
    expect(await outcomeOf(answer, "INVALID_TRANSACTION")).toMatchObject({ refusedBecause: "signature" });
    expect(measured("verificationFailures", { Reason: "signature" })).toBe(1);
  });

  test("an invalid request", async () => {
    const answer = await service.send("POST", "/v1/customers/ios-store/synchronize", {
      body: { signedAppTransaction: 7, applicationAccountIdentifier: ACCOUNT },
    });
    expect(await outcomeOf(answer, "INVALID_REQUEST")).not.toHaveProperty("application");
    await outcomeOf(
      await service.send("GET", `/v1/customers/${encodeURIComponent(ACCOUNT)}%zz/entitlements`, {
        key: app.key,
      }),
      "INVALID_REQUEST",
    );
  });

  test("a customer of another account", async () => {
    const request = keep(app.device().request({}));
    keepAnswer(await app.link(request, ACCOUNT));
    await outcomeOf(await app.link(request, OTHER_ACCOUNT), "CUSTOMER_ALREADY_LINKED");
    expect(measured("linksRefused", { Outcome: "CUSTOMER_ALREADY_LINKED" })).toBe(1);
  });

  test("a store that does not answer, and one that refuses the credential", async () => {
    const token = keep(app.buyOnAndroid());
    service.android.failNext("publisher", { status: 503 }, { status: 503 });
    const unavailable = await outcomeOf(await app.linkAndroid(token, ACCOUNT), "STORE_UNAVAILABLE");
    expect(unavailable).toMatchObject({ storeStatus: 503 });
    expect(measured("storeErrors", { Store: "android-store", Reason: "unavailable" })).toBe(1);
    expect([measured("unansweredRequests"), measured("harmlessFailures")]).toEqual([1, 1]);
    service.android.failNext("publisher", forbidden, forbidden);
    const refused = await outcomeOf(await app.linkAndroid(token, ACCOUNT), "STORE_REJECTED_CREDENTIAL");
    expect(refused).toMatchObject({ storeStatus: 403, storeReason: "permissionDenied" });
    expect(measured("storeErrors", { Store: "android-store", Reason: "credential-rejected" })).toBe(1);
    expect([measured("unansweredRequests"), measured("harmlessFailures")]).toEqual([1, 2]);
    service.android.clearFaults();
  });

  test("an acknowledgement that fails, and is due", async () => {
    const token = keep(app.buyOnAndroid());
    const answer = service.android.read(token)?.answer;
    service.android.failNext("publisher", { status: 200, body: answer }, { status: 500 }, { status: 500 });
    const linked = keepAnswer(await app.linkAndroid(token, ACCOUNT));
    expect(await lineOf(linked)).toMatchObject({ outcome: "OK", acknowledgementDue: true });

    service.android.clearFaults();
    expect(await service.askGoogle()).toMatchObject({ status: "succeeded" });
  });

  test("a credential that may read but not acknowledge", async () => {
    const before = measured("storeErrors", { Reason: "credential-rejected" });
    const token = keep(app.buyOnAndroid());
    const answer = service.android.read(token)?.answer;
    service.android.failNext("publisher", { status: 200, body: answer }, forbidden, forbidden);
    const linked = keepAnswer(await app.linkAndroid(token, ACCOUNT));
    expect(await lineOf(linked)).toMatchObject({
      outcome: "OK",
      acknowledgementDue: true,
      storeStatus: 403,
      storeReason: "permissionDenied",
    });
    expect(measured("storeErrors", { Reason: "credential-rejected" })).toBe(before + 1);
    expect(measured("storeCredentialsRejected")).toBe(before + 1);
    service.android.clearFaults();
  });

  test("concurrent writes of one customer, which are retried", async () => {
    const device = app.device();
    const requests = Array.from({ length: 8 }, () => keep(device.request({})));
    for (const answer of await Promise.all(requests.map(async (request) => app.link(request, ACCOUNT)))) {
      expect(answer.status).toBe(200);
      await lineOf(keepAnswer(answer));
    }
    const conflicts = lines().reduce((sum, line) => sum + (line.conflicts ?? 0), 0);
    expect(measured("conflictsRetried")).toBe(conflicts);
    expect(conflicts).toBeGreaterThan(0);
  });

  test("an internal error, with its place in the code and without its message", async () => {
    const spoilt = keep("spoilt-item-of-an-account");
    await service.table.client.send(
      new PutCommand({
        TableName: service.table.name,
        Item: { pk: partitions.account(app.identifier, accountId(spoilt)), sk: "CUSTOMER#x", customer: 7 },
      }),
    );
    const line = await outcomeOf(await app.read(spoilt), "INTERNAL_ERROR");
    expect(line).toMatchObject({ level: "ERROR", error: { at: expect.stringMatching(/:\d+:\d+\)?$/) } });
  });

  test("a lone failure among many requests is harmless, and one of several is not", async () => {
    const spoilt = accountId("spoilt-item-of-another-account");
    await service.table.client.send(
      new PutCommand({
        TableName: service.table.name,
        Item: { pk: partitions.account(app.identifier, spoilt), sk: "CUSTOMER#x", customer: 7 },
      }),
    );
    for (let times = 0; times < 100; times += 1) await lineOf(await app.read("nobody"));
    const failed = () => measured("requests", { Endpoint: READS, Outcome: "INTERNAL_ERROR" });
    const [harmlessBefore, failedBefore] = [measured("harmlessFailures"), failed()];
    keep(spoilt);
    for (let times = 1; times <= 10; times += 1) {
      expect((await app.read(spoilt)).status).toBe(500);
      await lineWith(() => failed() === failedBefore + times);
    }
    // The first four are less than a twentieth of the last hundred.
    expect(measured("harmlessFailures")).toBe(harmlessBefore + 4);
  });

  test("an error in the authorizer", async () => {
    const spoilt = `cek_${"0123456789abcdef"}_`;
    const { apiKey } = await app.issue(["entitlements:read"]);
    const [, identifier = "", secret = ""] = apiKey.split("_");
    secrets.add(secret);
    await service.table.client.send(
      new PutCommand({
        TableName: service.table.name,
        Item: { ...keys.credential(keyId(identifier)), scopes: spoilt },
      }),
    );
    const answer = await service.send("GET", "/v1/customers/a/entitlements", { key: apiKey });
    expect([answer.status, answer.body.error]).toEqual([500, "INTERNAL_ERROR"]);
    await lineWith((line) => line.outcome === "FAILED");
    await lineWith((line) => line.Outcome === "FAILED");
    expect(measured("requests", { Endpoint: "authorize-credential", Outcome: "FAILED" })).toBe(1);
    expect(measured("credentialsRefused")).toBe(
      measured("requests", { Endpoint: "authorize-credential", Outcome: "REFUSED" }),
    );
  });
});

test("every metric is in the service's namespace and has its declared dimensions", () => {
  const metrics = lines().filter((line) => "_aws" in line);
  const dimensions = new Map<string, Set<string>>();
  for (const { _aws, service: name } of metrics) {
    const [{ Namespace, Dimensions, Metrics }] = _aws.CloudWatchMetrics;
    expect([Namespace, name]).toEqual(["CustomerEntitlements", "customer-entitlements"]);
    const known = dimensions.get(Metrics[0].Name) ?? new Set<string>();
    dimensions.set(Metrics[0].Name, known.add(Dimensions[0].toSorted().join(" ")));
  }
  expect(Object.fromEntries([...dimensions].map(([name, sets]) => [name, [...sets]]))).toEqual({
    Requests: ["Endpoint Outcome service"],
    VerificationFailures: ["Reason service"],
    StoreLatency: ["Store service"],
    StoreErrors: ["Reason Store service"],
    UngrantedProducts: ["Reason Store service"],
    LinksRefused: ["Outcome service"],
    ConflictsRetried: ["service"],
    UnansweredRequests: ["service"],
    HarmlessFailures: ["service"],
    CredentialsRefused: ["service"],
    TransactionsRefused: ["service"],
    StoreCredentialsRejected: ["service"],
    ColdStarts: ["service"],
  });
});

test("no log line of these tests holds a key, a token, a JWS, an account or a customer's identifier", () => {
  const written = [...service.output, ...service.log].join("\n");
  expect(secrets.size).toBeGreaterThan(60);
  const leaked = [...secrets, app.key.split("_")[2] ?? app.key].filter((secret) => written.includes(secret));
  expect(leaked).toEqual([]);
  expect(written).not.toMatch(/eyJ|Bearer|cek_[0-9a-f]{16}_|sandbox\.[\w-]{20}|private_key/);
});
