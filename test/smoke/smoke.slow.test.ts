import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { close, listen } from "../../local/server.ts";
import { startWholeService, type WholeService } from "../../testing/support/local-gateway.ts";

const MAIN = fileURLToPath(new URL("../../smoke/main.ts", import.meta.url));
const OPERATOR = fileURLToPath(new URL("../../operator/main.ts", import.meta.url));

let service: WholeService;
let tableName: string;

beforeAll(async () => {
  tableName = `smoke-${process.pid}-${Date.now()}`;
  service = await startWholeService({ tableName });
}, 90_000);
afterAll(() => service?.stop());

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a script as an operator does: in a process of its own. */
const run = (script: string, ...args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const env = { ...process.env, TABLE_NAME: tableName };
    const child = execFile(process.execPath, [script, ...args], { env }, (_, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });

const operator = async (...words: readonly string[]) => {
  const { out, err } = await run(OPERATOR, ...words, "--json");
  if (out === "") throw new Error(err);
  return JSON.parse(out);
};

test("a working service passes every step, and nothing remains of it", async () => {
  const { code, out, err } = await run(MAIN, service.address);
  expect([code, err]).toEqual([0, ""]);
  const steps = out.split("\n").filter((line) => line.startsWith("  ok"));
  expect(steps.map((line) => line.slice("  ok      ".length))).toEqual([
    "read without a key: 401 INVALID_CREDENTIAL",
    "read with a revoked key: 401 INVALID_CREDENTIAL",
    "read before the link: 200",
    "synchronize: 200 active",
    "synchronize a forged purchase: 400 INVALID_TRANSACTION",
    "link: 200 active",
    "read: 200 active",
    "link to another account: 409 CUSTOMER_ALREADY_LINKED",
    "link an Android purchase of no package: 404 STORE_CONFIGURATION_NOT_FOUND",
    "an App Store notification that nobody signed: 400 INVALID_NOTIFICATION",
    "a push without Google's token: 401 INVALID_CREDENTIAL",
    "synchronize a refund: 200 revoked",
    "read after the refund: 200 revoked",
  ]);
  const bundle = "invalid.customer-entitlements.smoke";
  const { applicationIdentifier } = await operator("application", "find", bundle);
  const { credentials } = await operator("credential", "list", "--application", applicationIdentifier);
  expect(credentials.map(({ state }: { state: string }) => state)).toEqual(["revoked", "revoked"]);
  const { audit } = await operator("application", "audit", applicationIdentifier);
  expect(audit).toContainEqual(expect.objectContaining({ action: "erase", reason: "smoke test" }));
});

const UNKEYED = "read without a key: expected 401 INVALID_CREDENTIAL, and was answered 200";
const APPLES = "an App Store notification that nobody signed: 404 ROUTE_NOT_FOUND";
const NO_ROUTE = { error: "ROUTE_NOT_FOUND" };
test.each<[where: string, path: string, status: number, body: object, code: number, says: string]>([
  ["fails where keys are not checked", "/entitlements", 200, { entitlements: [] }, 1, `${UNKEYED}.\n`],
  ["fails where something else answers", "/v1/", 200, ["hello"], 1, `${UNKEYED} NOT_THE_SERVICE.\n`],
  ["passes where only Apple may notify", "/notifications/ios-store", 404, NO_ROUTE, 0, APPLES],
])("the smoke test %s", async (_, path, status, body, code, says) => {
  // Passes everything on to the service, but for this path.
  const stub = createServer((request, response) => {
    void (async () => {
      const sent = Buffer.concat(await request.toArray());
      const { method = "GET", url = "", headers } = request;
      if (url.includes(path)) return response.writeHead(status).end(JSON.stringify(body));
      const passed = await fetch(service.address + url, {
        method,
        headers: {
          "content-type": "application/json",
          ...(headers.authorization !== undefined && { authorization: headers.authorization }),
        },
        ...(method === "POST" && { body: sent }),
      });
      return response.writeHead(passed.status).end(await passed.text());
    })();
  });
  const ended = await run(MAIN, `http://127.0.0.1:${await listen(stub, 0)}`);
  await close(stub);
  expect(ended.code).toBe(code);
  expect(code === 0 ? ended.out : ended.err).toContain(says);
});

test("no listener and no address are errors of their own", async () => {
  const silent = await run(MAIN, "http://127.0.0.1:1");
  expect([silent.code, silent.err]).toEqual([1, expect.stringContaining("cannot be asked")]);
  for (const args of [[], ["nowhere"], ["ftp://example.com"], [service.address, "again"]])
    expect(await run(MAIN, ...args)).toMatchObject({ code: 2, err: expect.stringContaining("Usage") });
});
