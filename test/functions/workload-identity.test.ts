import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import { serve, type Served } from "../../testing/server.ts";
import type { TestApplication } from "../../testing/support/service.ts";
import { serviceForFile } from "../support/service-for-file.ts";

/** A stranger's server, which must receive no request. It answers like a token exchange. */
const heard: string[] = [];
let stranger: Served;
const { service, log } = serviceForFile();

beforeAll(async () => {
  stranger = await serve(async (request, response) => {
    heard.push(`${request.method} ${request.url} ${Buffer.concat(await request.toArray()).toString()}`);
    response.setHeader("Content-Type", "application/json");
    response.end('{ "access_token": "token", "token_type": "Bearer", "expires_in": 3600 }');
  });
});
afterAll(() => stranger?.stop());

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

test.each<[string, () => Record<string, unknown>]>([
  [
    "sends a file of the function to a stranger",
    () => ({ credential_source: { file: "/proc/self/environ" }, token_url: `${stranger.address}/token` }),
  ],
  [
    "sends the function's signature to a stranger",
    () => ({ token_url: `${stranger.address}/token`, universe_domain: "googleapis.com" }),
  ],
  ["asks a stranger for a token", () => ({ credential_source: { url: `${stranger.address}/source` } })],
])(
  "a stored workload identity that %s is STORE_REJECTED_CREDENTIAL, and gets nothing",
  async (_, changes) => {
    const app = await service.application();
    await store(app, { ...service.android.externalAccount(service.address), ...changes() });
    const answer = await app.linkAndroid(app.buyOnAndroid(), "user-1");
    expect(heard).toEqual([]);
    expect([answer.status, answer.body.error]).toEqual([503, "STORE_REJECTED_CREDENTIAL"]);
    expect(await log.lineOf(answer)).toMatchObject({ storeReason: "workloadIdentityIsNoExternalAccount" });
    expect(log.text()).not.toContain(stranger.address);
  },
);
