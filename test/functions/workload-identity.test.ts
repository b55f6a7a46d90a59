import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import { startTestService, type TestApplication, type TestService } from "../../testing/support/service.ts";

/** A stranger's server, which must receive no request. It answers like a token exchange. */
const heard: string[] = [];
let stranger: Server;
let address: string;
let service: TestService;

beforeAll(async () => {
  stranger = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      heard.push(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`);
      response.setHeader("Content-Type", "application/json");
      response.end('{ "access_token": "token", "token_type": "Bearer", "expires_in": 3600 }');
    })();
  });
  await new Promise<void>((resolve) => void stranger.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  service = await startTestService();
}, 90_000);

afterAll(async () => {
  await service.stop();
  stranger.closeAllConnections();
  await new Promise((resolve) => void stranger.close(resolve));
});

/** Writes a credential into the table that no manifest would be accepted with. */
const store = async (
  { identifier }: TestApplication,
  workloadIdentity: Record<string, unknown>,
): Promise<void> => {
  const applications = createApplicationTable(service.table);
  const before = await applications.read(identifier);
  if (before === null) throw new Error("There is no application.");
  const androidStore = before.application.androidStore.map((androidPackage) => ({
    ...androidPackage,
    credential: { workloadIdentity },
  }));
  expect(await applications.save(before, { ...before.application, androidStore })).toEqual({
    outcome: "saved",
  });
};

/** Waits for a line of the function's log, which may arrive after the answer. */
const lineWith = async (...texts: readonly string[]): Promise<string> => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const found = [...service.output, ...service.log].find((line) =>
      texts.every((text) => line.includes(text)),
    );
    if (found !== undefined) return found;
    await sleep(20);
  }
  throw new Error("There is no such line.");
};

test.each<[string, () => Record<string, unknown>]>([
  [
    "sends a file of the function to a stranger",
    () => ({ credential_source: { file: "/proc/self/environ" }, token_url: `${address}/token` }),
  ],
  [
    "sends the function's signature to a stranger",
    () => ({ token_url: `${address}/token`, universe_domain: "googleapis.com" }),
  ],
  ["asks a stranger for a token", () => ({ credential_source: { url: `${address}/source` } })],
])(
  "a stored workload identity that %s is STORE_REJECTED_CREDENTIAL, and gets nothing",
  async (_, changes) => {
    const app = await service.application();
    await store(app, { ...service.android.externalAccount(service.address), ...changes() });
    const answer = await app.linkAndroid(app.buyOnAndroid(), "user-1");
    expect(heard).toEqual([]);
    expect([answer.status, answer.body.error]).toEqual([503, "STORE_REJECTED_CREDENTIAL"]);
    expect(await lineWith(app.identifier, "STORE_REJECTED_CREDENTIAL")).toContain(
      '"storeReason":"workloadIdentityIsNoExternalAccount"',
    );
    expect([...service.output, ...service.log].join("\n")).not.toContain(address);
  },
);

test("a package with the sandbox's workload identity is read", async () => {
  const app = await service.application();
  expect((await app.linkAndroid(app.buyOnAndroid(), "user-1")).status).toBe(200);
});
