import { request as send } from "node:http";
import {
  assemblyFolder,
  startWholeService,
  type WholeService,
} from "../../../testing/support/local-gateway.ts";
import { FUNCTIONS_APP } from "../functions/modules.ts";

/** What a local run tells and does for a page of another server that a browser shows. */

let service: WholeService;

beforeAll(async () => {
  service = await startWholeService({ assemblyFolder: await assemblyFolder(FUNCTIONS_APP) });
}, 90_000);
afterAll(async () => {
  await service?.stop();
});

type Headers = Readonly<Record<string, string>>;

const ask = async (
  method: string,
  path: string,
  headers: Headers,
  body = "",
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const { hostname, port, host } = new URL(service.address);
    const asked = send({ hostname, port, method, path, headers: { Host: host, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => void chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    asked.on("error", reject);
    asked.end(body);
  });

const portOf = (): string => new URL(service.address).port;
const nowIn = async (): Promise<number> =>
  Date.parse(JSON.parse((await ask("GET", "/sandbox/clock", {})).text).now);

const TARGET = "secretsmanager.GetSecretValue";
const REQUESTS: readonly (readonly [method: string, path: string, headers: Headers, body: string])[] = [
  ["GET", "/docs/credentials.json", {}, ""],
  ["GET", "//docs/credentials.json", {}, ""],
  ["GET", "/console/", {}, ""],
  ["POST", "/sandbox/clock", {}, `{"advance":"P2D"}`],
  ["POST", "/sandbox/clock", { "Content-Type": "text/plain" }, `{"reset":true}`],
  ["POST", "/sandbox/ios-store/purchases", {}, `{"transactions":[]}`],
  ["GET", "/sandbox/android-publisher/purchases", {}, ""],
  ["POST", "/sandbox/destination", {}, "{}"],
  ["POST", "/", { "X-Amz-Target": TARGET }, `{"SecretId":"sandbox/app-store-key"}`],
];

describe.each<[string, () => Headers]>([
  ["another origin", () => ({ Origin: "https://evil.example.com" })],
  ["another port of this machine", () => ({ Origin: "http://127.0.0.1:1" })],
  ["a sandboxed frame", () => ({ Origin: "null" })],
  [
    "another site, which names no origin",
    () => ({ "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" }),
  ],
  ["a name that was rebound to this machine", () => ({ Host: `evil.example.com:${portOf()}` })],
  [
    "a rebound name with an origin",
    () => ({ Host: `evil.example.com:${portOf()}`, Origin: `http://evil.example.com:${portOf()}` }),
  ],
  ["a name that begins as an address", () => ({ Host: `127.0.0.1.evil.example.com:${portOf()}` })],
  ["a name that begins as this machine's", () => ({ Host: `localhost.evil.example.com:${portOf()}` })],
  ["a name that ends as this machine's", () => ({ Host: `evil-localhost:${portOf()}` })],
])("a page of %s", (_, headers) => {
  test.each(REQUESTS)("is refused %s %s", async (method, path, others, body) => {
    const before = await nowIn();
    const { status, text } = await ask(method, path, { ...others, ...headers() }, body);
    expect([status, text.includes(service.demo.apiKey), text.includes("PRIVATE KEY")]).toEqual([
      403,
      false,
      false,
    ]);
    expect((await nowIn()) - before).toBeLessThan(24 * 3600 * 1000);
  });
});

describe("what is no page of another server", () => {
  test.each<[string, () => Headers]>([
    ["a command or a native app", () => ({})],
    ["an app in the Android emulator", () => ({ Host: `10.0.2.2:${portOf()}` })],
    ["an app in the simulator", () => ({ Host: `localhost:${portOf()}` })],
    ["a container", () => ({ Host: `host.docker.internal:${portOf()}` })],
    ["an address of IPv6", () => ({ Host: `[::1]:${portOf()}` })],
    ["a page of this server", () => ({ Origin: service.address, "Sec-Fetch-Site": "same-origin" })],
    ["the address bar", () => ({ "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate" })],
  ])("%s is answered", async (_, headers) => {
    expect((await ask("GET", "/docs/credentials.json", headers())).text).toContain(service.demo.apiKey);
    const bought = { transactions: [{ productIdentifier: "p", period: "P1M" }] };
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const { status } = await ask(
      "POST",
      "/sandbox/ios-store/purchases",
      { ...form, ...headers() },
      JSON.stringify(bought),
    );
    expect(status).toBe(200);
  });

  test("a link of another site opens the documentation and the console", async () => {
    const opened = {
      "Sec-Fetch-Site": "cross-site",
      "Sec-Fetch-Mode": "navigate",
      "Sec-Fetch-Dest": "document",
    };
    for (const path of ["/docs", "/console/"]) expect((await ask("GET", path, opened)).status).toBe(200);
  });

  test("the API answers whatever the origin, as the deployed one does", async () => {
    const headers = { Origin: "https://evil.example.com", Host: "api.example.com" };
    expect((await ask("GET", "/v1/customers/user-1/entitlements", headers)).status).toBe(401);
  });
});
