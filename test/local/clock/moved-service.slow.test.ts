import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SCHEDULED_FUNCTIONS } from "../../../infra/functions.ts";
import { DAY, HOUR } from "../../../lib/duration.ts";
import { DEMO } from "../../../local/demo.ts";
import { assemblyFolder, startWholeService } from "../../../testing/support/local-gateway.ts";
import { operatorOf } from "../../support/local-operator.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { calling, issueKey } from "../calling.ts";
import { FUNCTIONS_APP } from "../functions/modules.ts";

const folder = temporaryFolder();
const service = await startWholeService();
afterAll(service.stop);

const { read, move, buyOnIos, linkOnIos, buyOnAndroid, linkOnAndroid } = calling(service);

const link = async (account: string): Promise<void> => {
  const linked = await linkOnIos(await buyOnIos({ applicationAccountIdentifier: account }));
  expect(linked.status).toBe(200);
};

describe("POST /sandbox/clock", () => {
  test("an Android purchase can be linked after months: its tokens are new", async () => {
    await move({ advance: "P3M" });
    const linked = await linkOnAndroid("months-later", await buyOnAndroid());
    expect(linked.body.entitlements).toMatchObject([{ identifier: "premium", active: true }]);
  });

  test("the operator's commands go by the moved clock", async () => {
    const account = "seen-by-both";
    await move({ advance: "P1D" });
    await link(account);
    const { entitlements } = JSON.parse(
      await operatorOf(service)("--json", "account", "show", DEMO.applicationIdentifier, account),
    );
    expect(entitlements).toEqual((await read(account)).body.entitlements);
    expect(entitlements).toMatchObject([{ identifier: "offline-maps", active: true }]);
  });

  test("a reset restores real time, an empty table and the demo", async () => {
    await move({ advance: "P2D" });
    const otherKey = await issueKey(operatorOf(service), DEMO.applicationIdentifier, "entitlements:read");
    await link("somebody");
    expect((await read("somebody")).body.entitlements).toHaveLength(1);
    expect((await read("somebody", otherKey)).status).toBe(200);

    expect(Math.abs((await move({ reset: true })) - Date.now())).toBeLessThan(HOUR);
    expect(await read("somebody")).toMatchObject({
      status: 200,
      body: { customerIdentifiers: [], entitlements: [] },
    });
    expect((await read("somebody", otherKey)).status).toBe(401);
    await link("somebody");
    const linked = await linkOnAndroid("somebody", service.androidPurchaseToken);
    expect(linked.body.entitlements).toMatchObject([{ identifier: "premium", active: true }]);
    const moved = await move({ advance: "P1M" });
    const { entitlements } = (await read("somebody")).body;
    const premium = entitlements.find(({ identifier }: { identifier: string }) => identifier === "premium");
    expect(premium.active).toBe(true);
    expect(Date.parse(premium.expiresAt)).toBeGreaterThan(moved);
    await move({ reset: true });
  });

  test("requests during a reset are answered, before it or after it", async () => {
    await link("during");
    const reading = async () => Promise.all(Array.from({ length: 20 }, async () => read("during")));
    const [before, , later] = await Promise.all([reading(), move({ reset: true }), reading()]);
    for (const answer of [...before, ...later]) expect(answer.status).toBe(200);
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
  const there = calling(other);
  expect(await there.post("/sandbox/clock", { reset: true })).toEqual({
    status: 400,
    body: { message: expect.stringContaining("is not on this machine") },
  });
  const shown = await fetch(`${other.address}/console`);
  expect([shown.status, await shown.text()]).toEqual([403, expect.stringContaining("not on this machine")]);
  expect((await there.read("anyone")).status).toBe(200);
  await other.stop();
});

test("a data folder keeps the clock, the key and the demo's purchase", async () => {
  const options = { dataFolder: join(folder, "data"), tableName: `test-kept-${Date.now()}` };
  const during = async (act: (there: ReturnType<typeof calling>) => Promise<number>) => {
    const started = await startWholeService(options);
    return { time: await act(calling(started)).finally(started.stop), key: started.demo.apiKey };
  };
  const { time: moved, key } = await during((there) => there.move({ advance: "P2D" }));
  const second = await during(async (there) => {
    expect(await there.now()).toBeGreaterThanOrEqual(moved);
    return there.move({ reset: true });
  });
  const third = await during((there) => there.now());
  for (const { time } of [second, third]) expect(time).toBeLessThan(moved);
  expect([second.key, third.key]).toEqual([key, key]);
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
    const there = calling(scheduled);
    const echoed = await there.post("/v1/customers/ios-store/synchronize", { do: "echo" });
    expect(echoed.body.environment).toMatchObject({
      AWS_ENDPOINT_URL_SECRETS_MANAGER: scheduled.address,
      AWS_ENDPOINT_URL_STS: scheduled.address,
      GOOGLE_CERTIFICATES_URL: `${scheduled.address}/sandbox/android-publisher/certs`,
    });
    while (runs().length <= Object.keys(SCHEDULED_FUNCTIONS).length) await sleep(50);

    const start = await there.now();
    await there.move({ advance: "P3D" });
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
