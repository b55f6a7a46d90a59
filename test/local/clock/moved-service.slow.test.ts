import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { decodeJwt } from "jose";
import { SCHEDULED_NAMES } from "../../../infra/other-functions.ts";
import { issueCredential } from "../../../lib/applications/credential.ts";
import { createCredentialTable } from "../../../lib/table/applications/credentials.ts";
import { DEMO } from "../../../local/demo.ts";
import {
  assemblyFolder,
  startWholeService,
  type WholeService,
} from "../../../testing/support/local-gateway.ts";
import { operatorOf } from "../../support/local-operator.ts";
import { FUNCTIONS_APP } from "../functions/modules.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

const folder = mkdtempSync(join(tmpdir(), "moved-service-"));
const client = new DynamoDBClient({});
let service: WholeService;

beforeAll(async () => {
  service = await startWholeService();
}, 90_000);

afterAll(async () => {
  await service?.stop();
  client.destroy();
  rmSync(folder, { recursive: true, force: true });
});

/** Any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

const post = async (path: string, body: unknown, { apiKey = "", at = service } = {}) => {
  const response = await fetch(at.address + path, {
    method: "POST",
    headers: apiKey === "" ? {} : { Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  });
  const answer: Json = await response.json();
  return { status: response.status, body: answer };
};

const timeOf = (answer: { status: number; body: Json }): number => {
  expect(answer).toEqual({ status: 200, body: { now: expect.any(String) } });
  return Date.parse(answer.body.now);
};

const move = async (body: unknown, at = service): Promise<number> =>
  timeOf(await post("/sandbox/clock", body, { at }));

const now = async (at = service): Promise<number> => {
  const response = await fetch(`${at.address}/sandbox/clock`);
  return timeOf({ status: response.status, body: await response.json() });
};

const read = async (
  account: string,
  apiKey = service.demo.apiKey,
): Promise<{ status: number; body: Json }> => {
  const response = await fetch(`${service.address}/v1/customers/${account}/entitlements`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  });
  return { status: response.status, body: await response.json() };
};

const bought = async (account: string): Promise<Json> =>
  (
    await post("/sandbox/ios-store/purchases", {
      applicationAccountIdentifier: account,
      transactions: [{ productIdentifier: DEMO.iosNonConsumable, type: "Non-Consumable" }],
    })
  ).body;

const link = async (account: string): Promise<void> => {
  const linked = await post("/v1/customers/ios-store/link", await bought(account), {
    apiKey: service.demo.apiKey,
  });
  expect(linked.status).toBe(200);
};

const credentials = () =>
  createCredentialTable({ client: DynamoDBDocumentClient.from(client), name: service.tableName });

const issue = async (expiresAt: number | null) => {
  const { apiKey, credential } = issueCredential(
    { application: DEMO.applicationIdentifier, label: null, scopes: ["entitlements:read"], expiresAt },
    await now(),
  );
  await credentials().add(credential);
  return { apiKey, keyIdentifier: credential.keyIdentifier };
};

describe("POST /sandbox/clock", () => {
  test("moves to a time, and by a calendar period from there", async () => {
    const target = (await now()) + DAY;
    expect(await move({ at: new Date(target).toISOString() })).toBeGreaterThanOrEqual(target);
    const before = new Date(await now());
    const after = new Date(await move({ advance: "P1M" }));
    expect((after.getUTCMonth() - before.getUTCMonth() + 12) % 12).toBe(1);
  });

  test("two moves at once run one after the other", async () => {
    const before = await now();
    const times = await Promise.all([move({ advance: "P1D" }), move({ advance: "P1D" })]);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(before + DAY);
    expect(Math.max(...times)).toBeGreaterThanOrEqual(before + 2 * DAY);
  });

  test("moves the functions and the stores alike", async () => {
    const before = await move({ advance: "P2D" });
    const request = await bought("days-later");
    expect(decodeJwt(request.signedTransactions[0])["signedDate"]).toBeGreaterThanOrEqual(before);
    const linked = await post("/v1/customers/ios-store/link", request, { apiKey: service.demo.apiKey });
    expect(linked.body.entitlements).toMatchObject([{ identifier: "offline-maps", active: true }]);
    expect(Date.parse(linked.body.entitlements[0].lastVerifiedAt)).toBeGreaterThanOrEqual(before);
  });

  test("an Android purchase can be linked after months: its tokens are new", async () => {
    await move({ advance: "P3M" });
    const { body: purchase } = await post("/sandbox/android-publisher/purchases", {
      packageName: DEMO.packageName,
      productKind: "subscription",
      productIdentifier: DEMO.androidSubscription,
      basePlanIdentifier: DEMO.androidBasePlan,
    });
    const linked = await post(
      "/v1/customers/android-store/link",
      {
        packageName: DEMO.packageName,
        purchaseToken: purchase.purchaseToken,
        productKind: "subscription",
        applicationAccountIdentifier: "months-later",
      },
      { apiKey: service.demo.apiKey },
    );
    expect(linked.body.entitlements).toMatchObject([{ identifier: "premium", active: true }]);
  });

  test("the operator's commands go by the moved clock", async () => {
    const account = "seen-by-both";
    const before = await move({ advance: "P1D" });
    await link(account);
    const operator = operatorOf(service);
    const { entitlements } = JSON.parse(
      await operator("--json", "account", "show", DEMO.applicationIdentifier, account),
    );
    expect(entitlements).toEqual((await read(account)).body.entitlements);
    expect(entitlements).toMatchObject([{ identifier: "offline-maps", active: true }]);
    const words = ["credential", "issue", "--application", DEMO.applicationIdentifier];
    const [apiKey = ""] = (
      await operator(...words, "--scope", "entitlements:read", "--expires", "P1D")
    ).split("\n");
    expect((await read(account, apiKey)).status).toBe(200);
    expect(await now()).toBeLessThan(before + DAY);
    await move({ advance: "P1D" });
    await move({ advance: "PT1M" });
    expect((await read(account, apiKey)).status).toBe(401);
  });

  test("an API key ends when the clock passes its end", async () => {
    const { apiKey } = await issue((await now()) + HOUR);
    expect((await read("anyone", apiKey)).status).toBe(200);
    await move({ advance: "PT30M" });
    expect((await read("anyone", apiKey)).status).toBe(200);
    await move({ advance: "PT31M" });
    expect((await read("anyone", apiKey)).status).toBe(401);
  });

  test("a cached policy lasts its minute of the moved clock", async () => {
    const { apiKey, keyIdentifier } = await issue(null);
    expect((await read("anyone", apiKey)).status).toBe(200);
    await credentials().revoke(keyIdentifier, await now());
    expect((await read("anyone", apiKey)).status).toBe(200);
    await move({ advance: "PT2M" });
    expect((await read("anyone", apiKey)).status).toBe(401);
  });

  test("a reset restores real time, an empty table and the demo", async () => {
    await move({ advance: "P2D" });
    const other = await issue(null);
    await link("somebody");
    expect((await read("somebody")).body.entitlements).toHaveLength(1);
    expect((await read("somebody", other.apiKey)).status).toBe(200);

    expect(Math.abs((await move({ reset: true })) - Date.now())).toBeLessThan(HOUR);
    expect(await read("somebody")).toMatchObject({
      status: 200,
      body: { customerIdentifiers: [], entitlements: [] },
    });
    expect((await read("somebody", other.apiKey)).status).toBe(401);
    await link("somebody");
    const linked = await post(
      "/v1/customers/android-store/link",
      {
        packageName: DEMO.packageName,
        purchaseToken: service.androidPurchaseToken,
        productKind: "subscription",
        applicationAccountIdentifier: "somebody",
      },
      { apiKey: service.demo.apiKey },
    );
    expect(linked.body.entitlements).toMatchObject([{ identifier: "premium", active: true }]);
    const moved = await move({ advance: "P1M" });
    const { entitlements } = (await read("somebody")).body;
    const premium = entitlements.find(({ identifier }: Json) => identifier === "premium");
    expect(premium.active).toBe(true);
    expect(Date.parse(premium.expiresAt)).toBeGreaterThan(moved);
    await move({ reset: true });
  });

  test("requests during a reset are answered, before it or after it", async () => {
    await link("during");
    const reads = Array.from({ length: 20 }, async () => read("during"));
    const reset = move({ reset: true });
    const later = Array.from({ length: 20 }, async () => read("during"));
    await reset;
    for (const answer of await Promise.all([...reads, ...later])) expect(answer.status).toBe(200);
    expect((await read("during")).body.entitlements).toEqual([]);
  });

  test("nothing of all this is a failure", () => {
    // A refused key leaves a line without a reason.
    expect(service.log.filter((line) => !/^AuthorizeCredentialFunction\w+: $/.test(line))).toEqual([]);
  });
});

test("a table on another machine is not emptied and not shown", async () => {
  // DynamoDB Local listens on all addresses; this one stands for another machine's.
  const endpoint = (process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "").replace("127.0.0.1", "127.0.0.2");
  const other = await startWholeService({ dynamoDb: { endpoint } });
  expect(await post("/sandbox/clock", { reset: true }, { at: other })).toEqual({
    status: 400,
    body: { message: expect.stringContaining("is not on this machine") },
  });
  const shown = await fetch(`${other.address}/console`);
  expect([shown.status, await shown.text()]).toEqual([403, expect.stringContaining("not on this machine")]);
  const response = await fetch(`${other.address}/v1/customers/anyone/entitlements`, {
    headers: { Authorization: `Bearer ${other.demo.apiKey}` },
  });
  expect(response.status).toBe(200);
  await other.stop();
});

test("a data folder keeps the clock, the key and the demo's purchase", async () => {
  const options = { dataFolder: join(folder, "data"), tableName: `test-kept-${Date.now()}` };
  const first = await startWholeService(options);
  const moved = await move({ advance: "P2D" }, first);
  await first.stop();
  const second = await startWholeService(options);
  expect(await now(second)).toBeGreaterThanOrEqual(moved);
  expect(second.demo.apiKey).toBe(first.demo.apiKey);
  expect(await move({ reset: true }, second)).toBeLessThan(moved);
  await second.stop();
  const third = await startWholeService(options);
  expect(await now(third)).toBeLessThan(moved);
  expect(third.demo.apiKey).toBe(first.demo.apiKey);
  await third.stop();
});

describe("the schedules of the template", () => {
  const runsFile = join(folder, "runs");
  beforeAll(() => writeFileSync(runsFile, ""));
  const runs = (): number[] => readFileSync(runsFile, "utf8").split("\n").filter(Boolean).map(Number);

  test("run by themselves, and in a move at each stop", async () => {
    const scheduled = await startWholeService({
      assemblyFolder: await assemblyFolder(FUNCTIONS_APP),
      environment: { RUNS_FILE: runsFile },
    });
    const echoed = await post("/v1/customers/ios-store/synchronize", { do: "echo" }, { at: scheduled });
    expect(echoed.body.environment).toMatchObject({
      AWS_ENDPOINT_URL_SECRETS_MANAGER: scheduled.address,
      AWS_ENDPOINT_URL_STS: scheduled.address,
      GOOGLE_CERTIFICATES_URL: `${scheduled.address}/sandbox/android-publisher/certs`,
    });
    while (runs().length <= SCHEDULED_NAMES.size) await sleep(50);

    const start = await now(scheduled);
    await move({ advance: "P3D" }, scheduled);
    const inMove = runs().filter((time) => time >= start + DAY);
    await scheduled.stop();
    for (const day of [1, 2, 3])
      expect(inMove.some((time) => time >= start + day * DAY && time < start + day * DAY + HOUR)).toBe(true);
    const stopped = runs().length;
    await sleep(1500);
    expect(runs()).toHaveLength(stopped);
    expect(scheduled.log).toEqual([]);
  });
});
