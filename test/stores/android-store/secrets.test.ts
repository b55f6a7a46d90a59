import { NOW } from "../../../testing/support/stores/android-store.ts";
import { credentialStore } from "./store-for-file.ts";

const { local, asking, exchanges } = credentialStore();

describe("a secret", () => {
  const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token";

  /** Google's client always sends a service account's assertion to Google. This redirects it to the sandbox. */
  const sandboxFetch: typeof fetch = (input, init) =>
    String(input) === GOOGLE_TOKEN_URL ? fetch(`${local.rootUrl}token`, init) : fetch(input, init);

  /** A look-up with a secret whose text the test can change, on a clock that it can move. */
  const askingWithSecret = (text: string | null, fetch = sandboxFetch) => {
    const secret = { text, reads: [] as string[], now: NOW };
    const ask = asking(
      { secret: "trails/play" },
      {
        fetch,
        now: () => secret.now,
        readSecret: (name) => {
          secret.reads.push(name);
          return Promise.resolve(secret.text);
        },
      },
    );
    return { secret, ask };
  };
  const aServiceAccount = (fields: object = {}) =>
    JSON.stringify({ ...local.sandbox.createServiceAccount(), ...fields });
  const unusable = (reason: string) => ({ outcome: "credential-rejected", status: null, reason });

  const VERIFIED = { outcome: "verified" };

  test("as service-account JSON is read once, and signs for one token", async () => {
    const { secret, ask } = askingWithSecret(aServiceAccount());
    for (const answer of await Promise.all([ask(), ask(), ask()])) expect(answer).toMatchObject(VERIFIED);
    expect(await ask()).toMatchObject(VERIFIED);
    expect([secret.reads, exchanges()]).toStrictEqual([["trails/play"], 1]);
  });

  test("with other addresses in its JSON still signs for Google only", async () => {
    const asked: string[] = [];
    const stranger = { universe_domain: "stranger.example", universeDomain: "stranger.example" };
    const account = {
      ...stranger,
      token_uri: "https://stranger.example/token",
      quota_project_id: "stranger",
    };
    const { ask } = askingWithSecret(aServiceAccount(account), (input, init) => {
      asked.push(String(input));
      return sandboxFetch(input, init);
    });
    expect(await ask()).toMatchObject(VERIFIED);
    expect(asked.map((address) => new URL(address).origin)).toStrictEqual([
      "https://oauth2.googleapis.com",
      new URL(local.rootUrl).origin,
    ]);
  });

  test("is read again after five minutes; unchanged, its token is kept", async () => {
    const { secret, ask } = askingWithSecret(aServiceAccount());
    await ask();
    secret.now += 5 * 60_000 - 1;
    await ask();
    expect(secret.reads).toHaveLength(1);
    secret.now += 1;
    expect(await ask()).toMatchObject(VERIFIED);
    expect(secret.reads).toHaveLength(2);
    expect(exchanges()).toBe(1);
  });

  test("that was rotated is used at once after the old one's refusal", async () => {
    const { secret, ask } = askingWithSecret(aServiceAccount());
    await ask();
    secret.text = aServiceAccount();
    local.sandbox.revokeAccessTokens();
    expect(await ask()).toMatchObject(VERIFIED);
    expect(secret.reads).toHaveLength(2);
  });

  test("may hold a workload identity from a trusted origin", async () => {
    const { ask } = askingWithSecret(JSON.stringify(local.sandbox.externalAccount(local.rootUrl)));
    expect(await ask()).toMatchObject(VERIFIED);
    const elsewhere = JSON.stringify(local.sandbox.externalAccount("https://tokens.example.com"));
    const unknown = unusable("workloadIdentityIsNoExternalAccount");
    expect(await askingWithSecret(elsewhere).ask()).toStrictEqual(unknown);
  });

  test("that the store refuses is read again once for each request", async () => {
    const { secret, ask } = askingWithSecret(aServiceAccount({ client_email: "stranger" }));
    const refused = { outcome: "credential-rejected", status: 400, reason: "invalid_grant" };
    expect(await ask()).toStrictEqual(refused);
    expect(await ask()).toStrictEqual(refused);
    expect(secret.reads).toHaveLength(2);
    secret.text = aServiceAccount();
    expect(await ask()).toMatchObject(VERIFIED);
  });

  test.each<[string, () => string]>([
    ["not JSON", () => "-----BEGIN PRIVATE KEY-----"],
    ["without an e-mail", () => aServiceAccount({ client_email: "" })],
    ["JSON of another kind", () => aServiceAccount({ type: "authorized_user" })],
    ["without a usable key", () => aServiceAccount({ private_key: "key" })],
  ])("that is %s is credential-rejected and not quoted", async (_, text) => {
    const { ask } = askingWithSecret(text());
    expect(await ask()).toStrictEqual(unusable("secretIsNoServiceAccount"));
    expect(exchanges()).toBe(0);
  });

  test("that does not exist is credential-rejected and read again", async () => {
    const { secret, ask } = askingWithSecret(null);
    expect(await ask()).toStrictEqual(unusable("secretIsUnreadable"));
    secret.text = aServiceAccount();
    expect(await ask()).toMatchObject(VERIFIED);
  });

  test("whose read fails is unavailable", async () => {
    const readSecret = () => Promise.reject(new Error("ThrottlingException"));
    const unavailable = { outcome: "unavailable", reason: "credentialUnavailable" };
    expect(await asking({ secret: "trails/play" }, { readSecret })()).toMatchObject(unavailable);
  });
});
