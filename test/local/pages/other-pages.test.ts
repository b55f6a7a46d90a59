import { assemblyFolder, startWholeService } from "../../../testing/support/local-gateway.ts";
import { FUNCTIONS_APP } from "../functions/modules.ts";
import { asking } from "../gateway/asking.ts";

/** What a local run tells and does for a page of another server that a browser shows. */

const service = await startWholeService({ assemblyFolder: await assemblyFolder(FUNCTIONS_APP) });
afterAll(service.stop);
const { send } = asking(service);

type Headers = Readonly<Record<string, string>>;
type Request = readonly [method: string, path: string, body?: string, headers?: Headers];

/** Sends to this machine's name, unless the headers have another; `<port>` is the service's. */
const ask = async ([method, path, body = "", own = {}]: Request, headers: Headers) => {
  const { port, host } = new URL(service.address);
  const all = Object.entries({ Host: host, ...own, ...headers });
  const filled = Object.fromEntries(all.map(([name, value]) => [name, value.replace("<port>", port)]));
  const answer = await send(method, path, { headers: filled, body });
  return { status: answer.status, text: answer.body.toString() };
};
const nowIn = async (): Promise<number> =>
  Date.parse(JSON.parse((await ask(["GET", "/sandbox/clock"], {})).text).now);

const CREDENTIALS: Request = ["GET", "/docs/credentials.json"];
const SECRET = { "X-Amz-Target": "secretsmanager.GetSecretValue" };
const REQUESTS: readonly Request[] = [
  CREDENTIALS,
  ["GET", "//docs/credentials.json"],
  ["GET", "/console/"],
  ["POST", "/sandbox/clock", `{"advance":"P2D"}`],
  ["POST", "/sandbox/clock", `{"reset":true}`, { "Content-Type": "text/plain" }],
  ["POST", "/sandbox/ios-store/purchases", `{"transactions":[]}`],
  ["GET", "/sandbox/android-publisher/purchases"],
  ["POST", "/sandbox/destination", "{}"],
  ["POST", "/", `{"SecretId":"sandbox/app-store-key"}`, SECRET],
];

test.each<[string, Headers]>([
  ["another origin", { Origin: "https://evil.example.com" }],
  ["another port of this machine", { Origin: "http://127.0.0.1:1" }],
  ["a sandboxed frame", { Origin: "null" }],
  ["another site, which names no origin", { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" }],
  ["a name that was rebound to this machine", { Host: "evil.example.com:<port>" }],
  ["a name that begins as an address", { Host: "127.0.0.1.evil.example.com:<port>" }],
  ["a name that ends as this machine's", { Host: "evil-localhost:<port>" }],
])("a page of %s is refused everything", async (_, headers) => {
  const before = await nowIn();
  for (const request of REQUESTS) {
    const { status, text } = await ask(request, headers);
    const shown = [text.includes(service.demo.apiKey), text.includes("PRIVATE KEY")];
    expect([...request, status, ...shown]).toEqual([...request, 403, false, false]);
  }
  expect((await nowIn()) - before).toBeLessThan(24 * 3600 * 1000);
});

test.each<[string, Headers]>([
  ["a command or a native app", {}],
  ["an app in the Android emulator", { Host: "10.0.2.2:<port>" }],
  ["an app in the simulator", { Host: "localhost:<port>" }],
  ["a container", { Host: "host.docker.internal:<port>" }],
  ["an address of IPv6", { Host: "[::1]:<port>" }],
  ["a page of this server", { Origin: "http://127.0.0.1:<port>", "Sec-Fetch-Site": "same-origin" }],
  ["the address bar", { "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate" }],
])("%s is answered", async (_, headers) => {
  expect((await ask(CREDENTIALS, headers)).text).toContain(service.demo.apiKey);
  const body = JSON.stringify({ transactions: [{ productIdentifier: "p", period: "P1M" }] });
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  expect((await ask(["POST", "/sandbox/ios-store/purchases", body, form], headers)).status).toBe(200);
});

const LINK = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
const FOREIGN = { Origin: "https://evil.example.com", Host: "api.example.com" };

test.each([
  ["a link of another site opens the documentation", "/docs", LINK, 200],
  ["a link of another site opens the console", "/console/", LINK, 200],
  ["the API answers whatever the origin", "/v1/customers/user-1/entitlements", FOREIGN, 401],
])("%s", async (_, path, headers, status) => {
  expect((await ask(["GET", path], headers)).status).toBe(status);
});
