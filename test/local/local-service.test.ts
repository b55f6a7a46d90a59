import { setTimeout as sleep } from "node:timers/promises";
import { decodeJwt } from "jose";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { openApiDocument } from "../../lib/contract/openapi.ts";
import { DEMO } from "../../local/demo.ts";
import { startWholeService } from "../../testing/support/local-gateway.ts";
import { operatorOf } from "../support/local-operator.ts";
import { BOAT_PRODUCT, calling, issueKey, keyOfAnApplication, type Json } from "./calling.ts";

/** Lines of what the demo application's destination got. */
const told: string[] = [];
const requests: string[] = [];
const service = await startWholeService({
  tell: (line) => void told.push(line),
  onRequest: (line) => void requests.push(line),
  runsByItself: false,
});
afterAll(service.stop);

const { read, move, buyOnIos, linkOnIos, buyOnAndroid, linkOnAndroid } = calling(service);

const jsonOf = async (response: Response): Promise<Json> => response.json();

const get = async (path: string): Promise<Response> => fetch(service.address + path);

/** Calls an operation with the examples of its parameters and body. */
const callExample = async (
  path: string,
  method: string,
  { parameters = [], requestBody }: Json,
  headers = {},
) => {
  const filled = parameters.reduce(
    (filled: string, { name, example }: Json) => filled.replace(`{${name}}`, example),
    path,
  );
  const example = requestBody?.content["application/json"].example;
  return fetch(service.address + filled, {
    method: method.toUpperCase(),
    headers,
    ...(example !== undefined && { body: JSON.stringify(example) }),
  });
};

describe("the contract's reference", () => {
  test("is at /openapi.json, and / leads to it", async () => {
    const withoutExamples = (document: object): unknown =>
      JSON.parse(JSON.stringify(document), (name, value: unknown) =>
        name === "example" ? undefined : value,
      );
    const served = await jsonOf(await get("/openapi.json"));
    expect(withoutExamples(served)).toEqual(withoutExamples(openApiDocument()));
    const root = await fetch(service.address, { redirect: "manual" });
    expect([root.status, root.headers.get("location")]).toEqual([302, "/docs"]);
  });

  test("of the sandbox is a document whose examples are answered", async () => {
    const document = await jsonOf(await get("/sandbox/openapi.json"));
    for (const [path, methods] of Object.entries<Json>(document.paths))
      for (const [method, operation] of Object.entries<Json>(methods)) {
        if (operation.parameters !== undefined || path === "/sandbox/clock") continue;
        const answered = await callExample(path, method, operation);
        expect([method, path, answered.status < 300]).toEqual([method, path, true]);
        const { content } = operation.responses[answered.status];
        const type = answered.headers.get("content-type")?.split(";", 1)[0] ?? "";
        expect(Object.keys(content)).toEqual([type]);
      }
    expect(await (await get("/docs/sandbox")).text()).toContain('src="/docs/sandbox.js"');
    expect(await (await get("/docs/sandbox.js")).text()).toContain("/sandbox/openapi.json");
  });

  test("can be read at /docs without loading anything from another host", async () => {
    const page = await get("/docs");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
    const loaded = [...(await page.text()).matchAll(/(?:src|href)="(?!\/docs\/sandbox")([^"]+)"/g)];
    expect(loaded.length).toBeGreaterThan(0);
    for (const [, path = ""] of loaded)
      expect([path.startsWith("/docs/"), (await get(path)).status]).toEqual([true, 200]);
  });

  test.each(["/docs/package.json", "/docs/../package.json", "/openapi.yaml"])(
    "%s is not served",
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );
});

describe("a moved clock", () => {
  test("is that of the stores and of the functions", async () => {
    const moved = await move({ advance: "P2D" });
    const request = await buyOnIos({ applicationAccountIdentifier: "days-later" });
    expect(decodeJwt(request.signedTransactions[0])["signedDate"]).toBeGreaterThanOrEqual(moved);
    const { body } = await linkOnIos(request);
    expect(body.entitlements).toMatchObject([{ identifier: "offline-maps", active: true }]);
    expect(Date.parse(body.entitlements[0].lastVerifiedAt)).toBeGreaterThanOrEqual(moved);
    await move({ advance: "PT1M" });
    expect(told).toContain("told  days-later  version 1: offline-maps active");
    expect(service.log).toEqual([]);
  });

  test("ends an API key, whatever the authorizer has cached", async () => {
    const terms = ["entitlements:read", "--expires", "PT1H"];
    const apiKey = await issueKey(operatorOf(service), DEMO.applicationIdentifier, ...terms);
    expect((await read("anyone", apiKey)).status).toBe(200);
    await move({ advance: "PT61M" });
    expect((await read("anyone", apiKey)).status).toBe(401);
  });
});

// After the others: it links the demo purchase to an account.
test("the reference's examples are answered 200 as they stand, every time", async () => {
  await move({ reset: true });
  for (let time = 0; time < 2; time += 1) {
    const { paths } = await jsonOf(await get("/openapi.json"));
    const credentials = await jsonOf(await get("/docs/credentials.json"));
    const granted: Record<string, unknown> = {};
    for (const { path, method, scope } of Object.values<Endpoint>(endpoints)) {
      const operation = paths[path][method.toLowerCase()];
      const [scheme] = Object.keys(operation.security[0] ?? {});
      expect([path, scope === null || scheme === "apiKey"]).toEqual([path, true]);
      const headers = scheme === undefined ? {} : { Authorization: `Bearer ${credentials[scheme]}` };
      const answered = await callExample(path, method, operation, headers);
      expect([path, answered.status]).toEqual([path, 200]);
      granted[path] = (await jsonOf(answered)).entitlements?.map(({ identifier }: Json) => identifier);
    }
    for (const { path } of [endpoints.linkAndroidStoreCustomer, endpoints.linkIosStoreCustomer])
      expect(granted[path]).toEqual(["premium"]);
  }
});

// After the moved clock: notifications of these packages are refused, and each retry is a stop of a move.
test("every secret that a deployed service may read is there without --secrets", async () => {
  const operator = operatorOf(service);
  const linkOf = async (packageName: string, secretName: string): Promise<Json> => {
    const apiKey = await keyOfAnApplication(operator, packageName, secretName);
    const purchaseToken = await buyOnAndroid({ packageName, ...BOAT_PRODUCT });
    return (await linkOnAndroid("skipper", purchaseToken, { packageName, apiKey })).body;
  };
  expect(await linkOf("com.example.tides", "customer-entitlements/tides")).toMatchObject({
    entitlements: [{ identifier: "captain", active: true }],
  });
  expect(await linkOf("com.example.ebb", "play-key")).toMatchObject({ error: "STORE_REJECTED_CREDENTIAL" });
  const refused = () => requests.find((line) => line.includes("STORE_REJECTED_CREDENTIAL"));
  while (refused() === undefined) await sleep(20);
  expect(refused()).toMatch(
    /STORE_REJECTED_CREDENTIAL: there is no secret of the manifest's name: begin it with customer-entitlements\/, or start with --secrets and a file of that name$/,
  );
}, 60_000);
