import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { decodeJwt } from "jose";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import type { ErrorCode } from "../../../lib/contract/errors.ts";
import { accountId, keyId } from "../../../lib/identifiers.ts";
import { keys, partitions } from "../../../lib/table/keys.ts";
import type { Answer } from "../../../testing/support/service.ts";
import { serviceForFile } from "../../support/service-for-file.ts";

const ACCOUNT = "nora.nobody@example.com";
const OTHER_ACCOUNT = "somebody.else@example.com";
const READ = "/v1/customers/a/entitlements";
const SYNCHRONIZE = "/v1/customers/ios-store/synchronize";
const READS = endpoints.readAccountEntitlements.function;
const forbidden = { status: 403, body: { error: { code: 403, errors: [{ reason: "permissionDenied" }] } } };

// Makes Google's client log all requests and answers, unless the service prevents it.
const { service, app, log } = serviceForFile(() => ({
  environment: { GOOGLE_SDK_NODE_LOGGING: "all" },
}));

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
  const { transactionId, originalTransactionId, appTransactionId } =
    decodeJwt<Record<string, unknown>>(value);
  for (const identifier of [transactionId, originalTransactionId, appTransactionId])
    if (typeof identifier === "string") secrets.add(identifier);
  return value;
};
const keepAnswer = (answer: Answer): Answer => {
  for (const identifier of [answer.body.customerIdentifier, ...(answer.body.customerIdentifiers ?? [])])
    if (identifier) secrets.add(identifier);
  return answer;
};
const issueReader = async () => {
  const issued = await app.issue(["entitlements:read"]);
  secrets.add(issued.apiKey.split("_")[2] ?? "");
  return issued;
};
const putBadItem = async (item: Record<string, unknown>) =>
  service.table.client.send(new PutCommand({ TableName: service.table.name, Item: item }));
/** An account that cannot be read. */
const spoilt = async (account: string) => {
  const pk = partitions.account(app.identifier, accountId(account));
  await putBadItem({ pk, sk: "CUSTOMER#x", customer: 7 });
  return keep(account);
};

describe("one line for each request", () => {
  test("names its application, purchases, outcome and duration", async () => {
    const request = keep(app.device().request({}, { productIdentifier: "forever", type: "Non-Consumable" }));
    const line = await log.lineOf(keepAnswer(await app.link(request, ACCOUNT)));
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
      milliseconds: expect.any(Number),
    });
    // A process of Node.js alone holds some 40 MB.
    expect([line.initializationMilliseconds > 0, line.peakMegabytes > 20]).toEqual([true, true]);
    const again = await log.lineOf(await app.link(request, ACCOUNT));
    expect(again).toMatchObject({ outcome: "OK", coldStart: false });
    expect(again).not.toHaveProperty("initializationMilliseconds");
    expect(log.measured("requests", { Endpoint: "link-ios-store-customer", Outcome: "OK" })).toBe(2);
  });

  test.each<[endpoint: string, act: () => Promise<Answer>, has: object, lacks: string]>([
    [
      "synchronize-ios-store-purchases",
      () => app.synchronize(keep(app.device().request({})), ACCOUNT),
      { transactions: 1, purchases: 1 },
      "keyIdentifier",
    ],
    ["read-account-entitlements", () => app.read(ACCOUNT), {}, "store"],
    [
      "link-android-store-customer",
      () => app.linkAndroid(keep(app.buyOnAndroid()), ACCOUNT),
      { store: "android-store", purchases: 1, storeMilliseconds: expect.any(Number) },
      "transactions",
    ],
  ])("%s logs what it is about", async (endpoint, act, has, lacks) => {
    const line = await log.lineOf(keepAnswer(await act()));
    expect(line).toMatchObject({ endpoint, application: app.identifier, outcome: "OK", ...has });
    expect(line).not.toHaveProperty(lacks);
  });

  test("the authorizer logs whom it allowed, and why it refused", async () => {
    const { keyIdentifier } = await issueReader();
    const { apiKey, keyIdentifier: known } = await issueReader();
    expect((await service.send("GET", READ, { key: apiKey })).status).toBe(200);
    const allowed = await log.lineWith(
      (line) => line.keyIdentifier === known && line.message === "authorization",
    );
    expect(allowed).toMatchObject({ outcome: "ALLOWED", application: app.identifier });
    const wrong = `cek_${keyIdentifier}_${apiKey.split("_")[2]}`;
    expect((await service.send("GET", READ, { key: wrong })).status).toBe(401);
    const refused = await log.lineWith((line) => line.outcome === "REFUSED");
    expect(refused.because).toBe("malformed");
    const technical = "coldStart endpoint invocation level message milliseconds outcome peakMegabytes";
    expect(Object.keys(refused).sort()).toEqual(
      ["because", ...technical.split(" "), "sampling_rate", "service", "timestamp"].sort(),
    );
  });
});

describe("a failure is counted, and its line gives the reason:", () => {
  const outcomeOf = async (answer: Answer, outcome: ErrorCode) => {
    expect(answer.body.error).toBe(outcome);
    const line = await log.lineOf(keepAnswer(answer));
    expect(line).toMatchObject({ outcome, status: answer.status });
    await log.lineWith(
      ({ Requests, Endpoint, Outcome }) =>
        Requests === 1 && Endpoint === line.endpoint && Outcome === outcome,
    );
    return line;
  };

  test("a signature that is not the store's", async () => {
    const request = keep(app.device().request({}));
    const [transaction = ""] = request.signedTransactions;
    const forged = `${transaction.slice(0, transaction.lastIndexOf(".") + 1)}${"A".repeat(86)}`;
    const answer = await app.link({ ...request, signedTransactions: [forged] }, ACCOUNT);
    expect(await outcomeOf(answer, "INVALID_TRANSACTION")).toMatchObject({ refusedBecause: "signature" });
    expect(log.measured("verificationFailures", { Reason: "signature" })).toBe(1);
  });

  test("an invalid request, of which nothing is repeated", async () => {
    const body = { signedAppTransaction: 7, applicationAccountIdentifier: ACCOUNT };
    const line = await outcomeOf(await service.send("POST", SYNCHRONIZE, { body }), "INVALID_REQUEST");
    expect(line).not.toHaveProperty("application");
    const path = `/v1/customers/${encodeURIComponent(ACCOUNT)}%zz/entitlements`;
    await outcomeOf(await service.send("GET", path, { key: app.key }), "INVALID_REQUEST");
  });

  test("a customer of another account", async () => {
    const request = keep(app.device().request({}));
    keepAnswer(await app.link(request, ACCOUNT));
    await outcomeOf(await app.link(request, OTHER_ACCOUNT), "CUSTOMER_ALREADY_LINKED");
    expect(log.measured("linksRefused", { Outcome: "CUSTOMER_ALREADY_LINKED" })).toBe(1);
  });

  test("a store that does not answer, and one that refuses the credential", async () => {
    const token = keep(app.buyOnAndroid());
    service.android.failNext("publisher", { status: 503 }, { status: 503 });
    const unavailable = await outcomeOf(await app.linkAndroid(token, ACCOUNT), "STORE_UNAVAILABLE");
    expect(unavailable).toMatchObject({ storeStatus: 503 });
    expect(log.measured("storeErrors", { Store: "android-store", Reason: "unavailable" })).toBe(1);
    const failures = () => [log.measured("unansweredRequests"), log.measured("harmlessFailures")];
    expect(failures()).toEqual([1, 1]);
    service.android.failNext("publisher", forbidden, forbidden);
    const refused = await outcomeOf(await app.linkAndroid(token, ACCOUNT), "STORE_REJECTED_CREDENTIAL");
    expect(refused).toMatchObject({ storeStatus: 403, storeReason: "permissionDenied" });
    expect(log.measured("storeErrors", { Reason: "credential-rejected" })).toBe(1);
    expect(failures()).toEqual([1, 2]);
    service.android.clearFaults();
  });

  test("a credential that may read but not acknowledge", async () => {
    const counted = () => [
      log.measured("storeErrors", { Reason: "credential-rejected" }),
      log.measured("storeCredentialsRejected"),
    ];
    const before = counted();
    const token = keep(app.buyOnAndroid());
    const answer = service.android.read(token)?.answer;
    service.android.failNext("publisher", { status: 200, body: answer }, forbidden, forbidden);
    expect(await log.lineOf(keepAnswer(await app.linkAndroid(token, ACCOUNT)))).toMatchObject({
      outcome: "OK",
      acknowledgementDue: true,
      storeStatus: 403,
      storeReason: "permissionDenied",
    });
    expect(counted()).toEqual(before.map((count) => count + 1));
    service.android.clearFaults();
    expect(await service.askGoogle()).toMatchObject({ status: "succeeded" });
  });

  test("an internal error, with its place and without its message", async () => {
    const account = await spoilt("spoilt-item-of-an-account");
    const line = await outcomeOf(await app.read(account), "INTERNAL_ERROR");
    expect(line).toMatchObject({ level: "ERROR", error: { at: expect.stringMatching(/:\d+:\d+\)?$/) } });
  });

  test("a lone failure among many requests is harmless", async () => {
    const account = await spoilt("spoilt-item-of-another-account");
    for (let times = 0; times < 100; times += 1) await log.lineOf(await app.read("nobody"));
    const failed = () => log.measured("requests", { Endpoint: READS, Outcome: "INTERNAL_ERROR" });
    const [harmlessBefore, failedBefore] = [log.measured("harmlessFailures"), failed()];
    for (let times = 1; times <= 10; times += 1) {
      expect((await app.read(account)).status).toBe(500);
      await log.lineWith(() => failed() === failedBefore + times);
    }
    // The first four are less than a twentieth of the last hundred.
    expect(log.measured("harmlessFailures")).toBe(harmlessBefore + 4);
  });

  test("an error in the authorizer", async () => {
    const { apiKey } = await issueReader();
    await putBadItem({
      ...keys.credential(keyId(apiKey.split("_")[1] ?? "")),
      scopes: "cek_0123456789abcdef_",
    });
    const answer = await service.send("GET", READ, { key: apiKey });
    expect([answer.status, answer.body.error]).toEqual([500, "INTERNAL_ERROR"]);
    await log.lineWith((line) => line.Outcome === "FAILED");
    const outcomes = (Outcome: string) =>
      log.measured("requests", { Endpoint: "authorize-credential", Outcome });
    expect([outcomes("FAILED"), log.measured("credentialsRefused")]).toEqual([1, outcomes("REFUSED")]);
  });
});

test("every metric is in the service's namespace and has its declared dimensions", () => {
  const dimensions = new Map<string, string>();
  for (const { _aws, service: name } of log.lines().filter((line) => "_aws" in line)) {
    const [{ Namespace, Dimensions, Metrics }] = _aws.CloudWatchMetrics;
    expect([Namespace, name]).toEqual(["CustomerEntitlements", "customer-entitlements"]);
    const own = Dimensions[0].toSorted().join(" ");
    expect(dimensions.get(Metrics[0].Name) ?? own).toBe(own);
    dimensions.set(Metrics[0].Name, own);
  }
  expect(Object.fromEntries(dimensions)).toMatchObject({
    Requests: "Endpoint Outcome service",
    VerificationFailures: "Reason service",
    StoreLatency: "Store service",
    StoreErrors: "Reason Store service",
    LinksRefused: "Outcome service",
    UnansweredRequests: "service",
    HarmlessFailures: "service",
    CredentialsRefused: "service",
    TransactionsRefused: "service",
    StoreCredentialsRejected: "service",
    ColdStarts: "service",
  });
});

test("no log line holds a key, token, JWS, account or customer", () => {
  const written = log.text();
  expect(secrets.size).toBeGreaterThan(40);
  const leaked = [...secrets, app.key.split("_")[2] ?? app.key].filter((secret) => written.includes(secret));
  expect(leaked).toEqual([]);
  expect(written).not.toMatch(/eyJ|Bearer|cek_[0-9a-f]{16}_|sandbox\.[\w-]{20}|private_key/);
});
