import { spawn, type ChildProcessByStdio } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { signMessage, type Message } from "../../client/source/index.ts";
import { startTestService, type TestApplication, type TestService } from "../../testing/support/service.ts";
import { compileExamples, makeBackend } from "./backend.ts";
import { aChange } from "./stub-service.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

let service: TestService;
let app: TestApplication;
beforeAll(async () => {
  service = await startTestService();
  app = await service.application();
}, 90_000);
afterAll(() => service?.stop());

describe("the examples of docs/integration.md", () => {
  const backend = makeBackend();
  beforeAll(() => compileExamples(backend), 60_000);

  let child: ChildProcessByStdio<null, Readable, null> | undefined;
  afterEach(() => child?.kill());

  /** Starts compiled code until the test ends; resolves with the address that it prints. */
  const serve = async (code: string): Promise<string> => {
    child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      cwd: join(backend, "out"),
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        PATH: process.env["PATH"],
        ENTITLEMENTS_URL: service.address,
        ENTITLEMENTS_KEY: app.key,
        ENTITLEMENTS_SECRETS: SECRET,
      },
    });
    for await (const line of createInterface({ input: child.stdout })) return line;
    throw new Error("It did not start.");
  };

  const message: Message = {
    identifier: "msg_1",
    type: "account.entitlements_changed",
    timestamp: new Date().toISOString(),
    data: aChange({ applicationAccountIdentifier: "express-1" }),
  };

  test("Express: a purchase opens, a conflict is 409, a forged message 400", async () => {
    const address = await serve(
      `import { app } from "./express.js";
       const server = app.listen(0, "127.0.0.1", () => console.log("http://127.0.0.1:" + server.address().port));`,
    );
    const send = async (path: string, account: string, body?: object) =>
      fetch(address + path, {
        method: body === undefined ? "GET" : "POST",
        headers: { "x-account": account, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    expect((await send("/maps/offline", "express-1")).status).toBe(403);
    const device = app.device();
    const bought = { transactionIdentifier: "9001", signedDate: Date.now() - 2000 };
    const purchase = device.request(bought);
    expect((await send("/purchases/ios", "express-1", purchase)).status).toBe(200);
    expect((await send("/maps/offline", "express-1")).status).toBe(200);
    const refused = await send("/purchases/ios", "express-2", purchase);
    expect([refused.status, await refused.json()]).toEqual([409, { error: "CUSTOMER_ALREADY_LINKED" }]);
    const purchaseToken = app.buyOnAndroid();
    const android = { packageName: app.packageName, purchaseToken, productKind: "subscription" };
    expect((await send("/purchases/android", "express-2", android)).status).toBe(200);

    const hook = async (secret: string) => {
      const { headers, body } = signMessage(message, secret);
      return fetch(`${address}/hooks/entitlements`, { method: "POST", headers, body });
    };
    const at = Date.now() - 1500;
    const revocation = { at, reason: 0, type: "REFUND_FULL", percentage: 100_000 } as const;
    const refund = { revocation, signedDate: at + 500 };
    await app.link(device.request({ ...bought, ...refund }), "express-1");
    expect((await hook(`whsec_${Buffer.alloc(32, 8).toString("base64")}`)).status).toBe(400);
    // The kept answer, which is fresh.
    expect((await send("/maps/offline", "express-1")).status).toBe(200);
    expect((await hook(SECRET)).status).toBe(204);
    expect((await send("/maps/offline", "express-1")).status).toBe(403);
  });

  test("Next: the routes answer requests of the web's standard", async () => {
    const address = await serve(
      `import { createServer } from "node:http";
       import { linkPurchases, takeMessage } from "./next.js";
       const server = createServer(async (request, response) => {
         const chunks = [];
         for await (const chunk of request) chunks.push(chunk);
         const route = request.url === "/purchases/ios" ? linkPurchases : takeMessage;
         const { method, headers } = request;
         const answer = await route(new Request("http://next" + request.url, { method, headers, body: Buffer.concat(chunks) }));
         response.writeHead(answer.status).end(await answer.text());
       }).listen(0, "127.0.0.1", () => console.log("http://127.0.0.1:" + server.address().port));`,
    );
    const post = async (path: string, headers: Readonly<Record<string, string>>, body: string) =>
      (await fetch(address + path, { method: "POST", headers, body })).status;
    const purchase = JSON.stringify(app.device().request({}));
    expect(await post("/purchases/ios", { "x-account": "next-1" }, purchase)).toBe(200);
    expect(await post("/purchases/ios", { "x-account": "next-2" }, purchase)).toBe(409);
    const { headers, body } = signMessage(message, SECRET);
    expect(await post("/hooks/entitlements", headers, body)).toBe(204);
    expect(await post("/hooks/entitlements", headers, `${body} `)).toBe(400);
  });
});
