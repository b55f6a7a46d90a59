import { decodeProtectedHeader, jwtVerify } from "jose";
import {
  aKey,
  AN_APP_TRANSACTION,
  APP,
  HASTY,
  KEY,
  KEY_LINES,
  NOW,
  pemOf,
  scriptedAppStore,
  TRANSACTION,
} from "./scripted-app-store.ts";

const MINUTE = 60_000;
const store = scriptedAppStore();
beforeEach(() => {
  store.otherwise = AN_APP_TRANSACTION;
});

const verified = (token = "", publicKey = KEY.publicKey) =>
  jwtVerify(token, publicKey, { currentDate: new Date(NOW) });
const ANSWERED = { outcome: "answered" };

describe("a token", () => {
  test("names the key, issuer and app, and verifies with its public key", async () => {
    await store.aClient().client.appTransaction(APP, TRANSACTION);
    const token = store.received[0]?.token ?? "";
    const { issuerIdentifier, keyIdentifier } = APP.key;
    expect(decodeProtectedHeader(token)).toStrictEqual({ alg: "ES256", kid: keyIdentifier, typ: "JWT" });
    expect((await verified(token)).payload).toStrictEqual({
      iss: issuerIdentifier,
      iat: NOW / 1000 - 60,
      exp: NOW / 1000 + 19 * 60,
      aud: "appstoreconnect-v1",
      bid: APP.bundleIdentifier,
    });
  });

  test("is made once for both environments and concurrent questions", async () => {
    const { client, secretsRead } = store.aClient();
    const apps = [APP, { ...APP, environment: "sandbox" as const }, APP];
    await Promise.all(apps.map((app, index) => client.appTransaction(app, String(index))));
    await client.appTransaction(APP, TRANSACTION);
    expect(store.received).toHaveLength(4);
    expect(store.tokensUsed()).toBe(1);
    expect(secretsRead).toStrictEqual([APP.key.secret]);
  });

  test("is used for 15 minutes; then the key is read again", async () => {
    let now = NOW;
    const { client, secretsRead } = store.aClient({ now: () => now });
    await client.appTransaction(APP, TRANSACTION);
    now += 15 * MINUTE - 1;
    await client.appTransaction(APP, TRANSACTION);
    expect([store.tokensUsed(), secretsRead.length]).toStrictEqual([1, 1]);
    now += 1;
    await client.appTransaction(APP, TRANSACTION);
    expect([store.tokensUsed(), secretsRead.length]).toStrictEqual([2, 2]);
  });

  test("of another app or key is another", async () => {
    const { client } = store.aClient();
    const asking = (bundleIdentifier: string, key = {}) =>
      client.appTransaction({ ...APP, bundleIdentifier, key: { ...APP.key, ...key } }, "1");
    await asking("a");
    await asking("b");
    for (const field of ["issuerIdentifier", "keyIdentifier", "secret"])
      await asking("b", { [field]: "other" });
    expect(store.tokensUsed()).toBe(5);
  });
});

describe("a refused token", () => {
  test("is replaced within the question, with the key as it is now", async () => {
    const rotated = aKey();
    let current = KEY;
    const { client, secretsRead } = store.aClient({ secret: async () => pemOf(current.privateKey) });
    store.script = [AN_APP_TRANSACTION, { status: 401 }];
    await client.appTransaction(APP, TRANSACTION);
    current = rotated;
    for (const _ of [1, 2]) expect(await client.appTransaction(APP, TRANSACTION)).toMatchObject(ANSWERED);
    expect([store.received.length, secretsRead.length]).toStrictEqual([4, 2]);
    const [, , third, fourth] = store.received;
    expect(fourth?.token).toBe(third?.token);
    await verified(third?.token, rotated.publicKey);
  });

  test("is replaced once, its key read again, and is not kept", async () => {
    const { client, secretsRead } = store.aClient();
    store.script = [AN_APP_TRANSACTION];
    store.otherwise = { status: 401 };
    await client.appTransaction(APP, TRANSACTION);
    const rejected = { outcome: "credential-rejected", status: 401, reason: null };
    expect(await client.appTransaction(APP, TRANSACTION)).toStrictEqual(rejected);
    expect([store.received.length, secretsRead.length]).toStrictEqual([3, 2]);
    await client.appTransaction(APP, TRANSACTION);
    expect([store.received.length, secretsRead.length]).toStrictEqual([4, 3]);
  });

  test("of an unknown app stays in use", async () => {
    const { client, secretsRead } = store.aClient();
    store.otherwise = { status: 404, body: { errorCode: 4040003 } };
    for (const _ of [1, 2]) await client.appTransaction(APP, TRANSACTION);
    expect([store.received.length, secretsRead.length]).toStrictEqual([2, 1]);
  });
});

describe("a key", () => {
  const notPrivate = "secretIsNoPrivateKey";
  test.each<[string, string | null, string]>([
    ["no PEM", KEY_LINES.join(""), notPrivate],
    ["a public key", KEY.publicKey.export({ type: "spki", format: "pem" }).toString(), notPrivate],
    ["a key of another curve", pemOf(aKey("P-384").privateKey), notPrivate],
    ["missing, or may not be read", null, "secretIsUnreadable"],
  ])("that is %s is credential-rejected, without a request, and not kept", async (_, text, reason) => {
    const { client, secretsRead } = store.aClient({ secret: async () => text });
    for (const _ of [1, 2]) {
      const answer = await client.appTransaction(APP, TRANSACTION);
      expect(answer).toStrictEqual({ outcome: "credential-rejected", status: null, reason });
      store.expectNoSecrets(answer);
    }
    expect([store.received.length, secretsRead.length]).toStrictEqual([0, 2]);
  });

  test("with a byte order mark and Windows line ends is used", async () => {
    const text = `\uFEFF${pemOf(KEY.privateKey).replaceAll("\n", "\r\n")}`;
    const { client } = store.aClient({ secret: async () => text });
    expect(await client.appTransaction(APP, TRANSACTION)).toMatchObject(ANSWERED);
  });

  const unreadable = { outcome: "unavailable", retryAt: null, status: null, reason: "credentialUnavailable" };

  test("that cannot be read is unavailable, and read by the next question", async () => {
    const failing = () => Promise.reject(new Error(`no ${APP.key.secret}`));
    const secrets = [failing, async () => pemOf(KEY.privateKey)];
    const { client, secretsRead } = store.aClient({ secret: async () => secrets.shift()?.() ?? null });
    const answer = await client.appTransaction(APP, TRANSACTION);
    expect(answer).toStrictEqual(unreadable);
    store.expectNoSecrets(answer);
    expect(await client.appTransaction(APP, TRANSACTION)).toMatchObject(ANSWERED);
    expect(secretsRead).toHaveLength(2);
  });

  test("that is not read in time is unavailable", async () => {
    const { client } = store.aClient({
      secret: () => Promise.withResolvers<null>().promise,
      timing: { ...HASTY, total: 200 },
    });
    expect(await client.appTransaction(APP, TRANSACTION)).toStrictEqual(unreadable);
    expect(store.received).toHaveLength(0);
  });
});
