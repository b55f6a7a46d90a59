import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import type { AndroidStoreCredential } from "../../../lib/stores/android-store/credentials.ts";
import type { AndroidStoreOptions } from "../../../lib/stores/android-store/android-store.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import {
  DAY,
  HASTY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../../testing/support/android-store.ts";

let local: LocalAndroidStore;
beforeAll(async () => {
  local = await startAndroidStore();
});
afterAll(() => local.close());
beforeEach(() => {
  local.sandbox.calls.length = 0;
});

const exchanges = () => local.sandbox.calls.filter(({ endpoint }) => endpoint === "token").length;

/** A look-up that can be repeated on one store with this credential. */
const asking = (credential: AndroidStoreCredential, options: Partial<AndroidStoreOptions> = {}) => {
  const store = local.store(options);
  return () =>
    store.lookUp(
      { packageName: PACKAGE_NAME, credential },
      {
        purchaseToken: local.sandbox.buy({
          packageName: PACKAGE_NAME,
          productKind: "subscription",
          productIdentifier: "premium",
        }),
        productKind: "subscription",
        productIdentifier: null,
      },
    );
};

/** On Linux, this file holds the environment, and so the credentials, of the process that reads it. */
const ENVIRONMENT_FILE = "/proc/self/environ";

const sourceOf = (account: Record<string, unknown>) => account["credential_source"] as object;

describe("workload identity", () => {
  const workloadIdentity = (changes: Record<string, unknown> = {}) => ({
    workloadIdentity: { ...local.sandbox.externalAccount(local.rootUrl), ...changes },
  });

  test("exchanges the function's AWS identity for one access token until it expires", async () => {
    const ask = asking(workloadIdentity());
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(local.sandbox.calls.map(({ method, endpoint }) => `${method} ${endpoint}`)).toStrictEqual([
      "POST token",
      "GET publisher",
      "GET publisher",
    ]);
  });

  test("shares one exchange among concurrent requests", async () => {
    const ask = asking(workloadIdentity());
    const answers = await Promise.all(Array.from({ length: 8 }, ask));
    expect(new Set(answers.map(({ outcome }) => outcome))).toStrictEqual(new Set(["verified"]));
    expect(exchanges()).toBe(1);
  });

  test("is exchanged again within the request after a revocation", async () => {
    const ask = asking(workloadIdentity());
    await ask();
    local.sandbox.revokeAccessTokens();
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(exchanges()).toBe(2);
  });

  describe("that impersonates a service account", () => {
    const impersonating = () => ({
      workloadIdentity: local.sandbox.externalAccount(local.rootUrl, {
        impersonate: "play@trails.iam.gserviceaccount.com",
      }),
    });
    const impersonations = () =>
      local.sandbox.calls.filter(({ endpoint }) => endpoint === "impersonation").length;

    test("reads with that account's access token", async () => {
      expect(await asking(impersonating())()).toMatchObject({ outcome: "verified" });
    });

    test("without permission is credential-rejected", async () => {
      local.sandbox.failNext("impersonation", {
        status: 403,
        body: { error: { status: "PERMISSION_DENIED" } },
      });
      expect(await asking(impersonating())()).toStrictEqual({
        outcome: "credential-rejected",
        status: 403,
        reason: "PERMISSION_DENIED",
      });
      expect(impersonations()).toBe(1);
    });

    test.each<Fault>([{ status: 503 }, "disconnect", "hang"])(
      "and meets %j is unavailable after exactly one retry",
      async (fault) => {
        local.sandbox.failNext("impersonation", fault, fault);
        const options = fault === "hang" ? { timing: HASTY } : {};
        expect(await asking(impersonating(), options)()).toMatchObject({ outcome: "unavailable" });
        expect(impersonations()).toBe(2);
      },
    );
  });

  test("of another pool is refused", async () => {
    const credential = workloadIdentity({ audience: "//iam.googleapis.com/projects/2/elsewhere" });
    expect(await asking(credential)()).toStrictEqual({
      outcome: "credential-rejected",
      status: 400,
      reason: "invalid_target",
    });
  });

  test("is credential-rejected without AWS credentials, and asks no machine for any", async () => {
    const ask = asking(
      workloadIdentity({
        credential_source: {
          ...sourceOf(local.sandbox.externalAccount(local.rootUrl)),
          url: "http://169.254.169.254/latest/meta-data/iam/security-credentials",
        },
      }),
    );
    const before = process.env["AWS_ACCESS_KEY_ID"];
    delete process.env["AWS_ACCESS_KEY_ID"];
    try {
      expect(await ask()).toStrictEqual({
        outcome: "credential-rejected",
        status: null,
        reason: "credentialUnusable",
      });
    } finally {
      process.env["AWS_ACCESS_KEY_ID"] = before;
    }
  });

  describe("that is not an AWS provider's", () => {
    const refused = {
      outcome: "credential-rejected",
      status: null,
      reason: "workloadIdentityIsNoExternalAccount",
    };
    /** A server that records its requests and answers like a token exchange. */
    const startListener = async () => {
      const heard: string[] = [];
      const server = createServer((request, response) => {
        let body = "";
        request.on("data", (part) => (body += String(part)));
        request.on("end", () => {
          heard.push(`${request.method} ${request.url} ${body}`);
          response.setHeader("content-type", "application/json");
          response.end('{"access_token":"t","token_type":"Bearer","expires_in":3600}');
        });
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      return {
        heard,
        address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        close: () => once(server.close(), "close"),
      };
    };
    let listener: Awaited<ReturnType<typeof startListener>>;
    beforeAll(async () => {
      listener = await startListener();
    });
    afterAll(() => listener.close());

    test.each<[string, (listener: string) => Record<string, unknown>]>([
      ["another type", () => ({ type: "service_account" })],
      ["no source", () => ({ credential_source: undefined })],
      [
        "no source, only one under a camelCase key",
        () => ({ credential_source: undefined, credentialSource: {} }),
      ],
      ["a program as its source", () => ({ credential_source: { executable: { command: "/bin/true" } } })],
      ["a source of another cloud", () => ({ credential_source: { environment_id: "azure1" } })],
      [
        "an unknown version of a source",
        () => ({
          credential_source: {
            ...sourceOf(local.sandbox.externalAccount(local.rootUrl)),
            environment_id: "aws2",
          },
        }),
      ],
      [
        "a file as its source, sent to a stranger",
        (listener) => ({ credential_source: { file: ENVIRONMENT_FILE }, token_url: `${listener}/token` }),
      ],
      [
        "a file as its source, sent to the store itself",
        () => ({ credential_source: { file: ENVIRONMENT_FILE } }),
      ],
      ["a stranger as its source", (listener) => ({ credential_source: { url: `${listener}/source` } })],
      [
        "a stranger for the function's region and credentials",
        (listener) => ({
          credential_source: {
            ...sourceOf(local.sandbox.externalAccount(local.rootUrl)),
            region_url: `${listener}/region`,
            url: `${listener}/credentials`,
            imdsv2_session_token_url: `${listener}/token`,
          },
        }),
      ],
      ["a stranger's token exchange", (listener) => ({ token_url: `${listener}/token` })],
      [
        "a stranger's token exchange under a camelCase key",
        (listener) => ({ tokenUrl: `${listener}/token` }),
      ],
      [
        "a stranger's impersonation",
        (listener) => ({
          service_account_impersonation_url: `${listener}/serviceAccounts/a@b.c:generateAccessToken`,
        }),
      ],
      [
        "a stranger's impersonation under a camelCase key",
        (listener) => ({
          serviceAccountImpersonationUrl: `${listener}/serviceAccounts/a@b.c:generateAccessToken`,
        }),
      ],
      ["a stranger's universe", () => ({ universe_domain: "stranger.example" })],
      ["a secret of its own", () => ({ client_id: "id", client_secret: "secret" })],
    ])("with %s is refused without any request", async (_, changes) => {
      const asked: string[] = [];
      const ask = asking(workloadIdentity(changes(listener.address)), {
        fetch: (input, init) => {
          asked.push(String(input instanceof Request ? input.url : input));
          return fetch(input, init);
        },
      });
      expect(await ask()).toStrictEqual(refused);
      expect(asked).toStrictEqual([]);
      expect(listener.heard).toStrictEqual([]);
      expect(local.sandbox.calls).toStrictEqual([]);
    });

    test.each([undefined, "https://stranger.example/"])(
      "is refused with the sandbox's token exchange at %s",
      async (rootUrl) => {
        expect(await asking(workloadIdentity(), { rootUrl })()).toStrictEqual(refused);
        expect(local.sandbox.calls).toStrictEqual([]);
      },
    );
  });

  test("in gcloud's form is exchanged at Google and nowhere else", async () => {
    const asked: string[] = [];
    const ask = asking(
      {
        workloadIdentity: {
          ...local.sandbox.externalAccount(local.rootUrl),
          token_url: "https://sts.googleapis.com/v1/token",
          service_account_impersonation_url:
            "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/play@trails.iam.gserviceaccount.com:generateAccessToken",
          credential_source: {
            environment_id: "aws1",
            region_url: "http://169.254.169.254/latest/meta-data/placement/availability-zone",
            url: "http://169.254.169.254/latest/meta-data/iam/security-credentials",
            regional_cred_verification_url:
              "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
            imdsv2_session_token_url: "http://169.254.169.254/latest/api/token",
          },
        },
      },
      {
        fetch: (input) => {
          const { origin, pathname } = new URL(input instanceof Request ? input.url : input);
          asked.push(`${origin}${pathname}`);
          return Promise.resolve(
            Response.json({
              access_token: "a",
              token_type: "Bearer",
              expires_in: 3600,
              accessToken: "b",
              expireTime: isoTime(Date.now() + DAY),
            }),
          );
        },
        rootUrl: undefined,
      },
    );
    await ask();
    expect(asked).toStrictEqual([
      "https://sts.googleapis.com/v1/token",
      "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/play@trails.iam.gserviceaccount.com:generateAccessToken",
      expect.stringMatching(
        /^https:\/\/androidpublisher\.googleapis\.com\/androidpublisher\/v3\/applications\//,
      ),
    ]);
  });
});

describe("a secret", () => {
  const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token";

  /** Google's client always sends a service account's assertion to Google. This redirects it to the sandbox. */
  const sandboxFetch: typeof fetch = (input, init) =>
    String(input) === GOOGLE_TOKEN_URL ? fetch(`${local.rootUrl}token`, init) : fetch(input, init);

  /** A look-up with a secret whose text the test can change, on a clock that it can move. */
  const askingWithSecret = (text: string) => {
    const secret = { text, reads: [] as string[], now: NOW };
    const ask = asking(
      { secret: "trails/play" },
      {
        fetch: sandboxFetch,
        now: () => secret.now,
        readSecret: (name) => {
          secret.reads.push(name);
          return Promise.resolve(secret.text);
        },
      },
    );
    return { secret, ask };
  };
  const aServiceAccount = () => JSON.stringify(local.sandbox.createServiceAccount());

  test("as service-account JSON is read once, and signs for one token", async () => {
    const { secret, ask } = askingWithSecret(aServiceAccount());
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map(({ outcome }) => outcome)).toStrictEqual(["verified", "verified", "verified"]);
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(secret.reads).toStrictEqual(["trails/play"]);
    expect(exchanges()).toBe(1);
  });

  test("with other addresses in its JSON still signs for Google only", async () => {
    const asked: string[] = [];
    const ask = asking(
      { secret: "trails/play" },
      {
        fetch: (input, init) => {
          asked.push(String(input));
          return sandboxFetch(input, init);
        },
        readSecret: () =>
          Promise.resolve(
            JSON.stringify({
              ...local.sandbox.createServiceAccount(),
              token_uri: "https://stranger.example/token",
              auth_uri: "https://stranger.example/auth",
              universe_domain: "stranger.example",
              universeDomain: "stranger.example",
              quota_project_id: "stranger",
            }),
          ),
      },
    );
    expect(await ask()).toMatchObject({ outcome: "verified" });
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
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(secret.reads).toHaveLength(2);
    expect(exchanges()).toBe(1);
  });

  test("that was rotated is used within five minutes", async () => {
    const { secret, ask } = askingWithSecret(aServiceAccount());
    await ask();
    secret.text = aServiceAccount();
    secret.now += 5 * 60_000;
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(exchanges()).toBe(2);
  });

  test("that was rotated is used at once after the old one's refusal", async () => {
    const { secret, ask } = askingWithSecret(aServiceAccount());
    await ask();
    secret.text = aServiceAccount();
    local.sandbox.revokeAccessTokens();
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(secret.reads).toHaveLength(2);
  });

  test("may hold a workload identity from a trusted origin", async () => {
    const { ask } = askingWithSecret(JSON.stringify(local.sandbox.externalAccount(local.rootUrl)));
    expect(await ask()).toMatchObject({ outcome: "verified" });
    const elsewhere = askingWithSecret(
      JSON.stringify(local.sandbox.externalAccount("https://tokens.example.com")),
    );
    expect(await elsewhere.ask()).toStrictEqual({
      outcome: "credential-rejected",
      status: null,
      reason: "workloadIdentityIsNoExternalAccount",
    });
  });

  test("that the store refuses is read again once for each request", async () => {
    const stranger = JSON.stringify({ ...local.sandbox.createServiceAccount(), client_email: "stranger" });
    const { secret, ask } = askingWithSecret(stranger);
    const refused = { outcome: "credential-rejected", status: 400, reason: "invalid_grant" };
    expect(await ask()).toStrictEqual(refused);
    expect(await ask()).toStrictEqual(refused);
    expect(secret.reads).toHaveLength(2);
    secret.text = aServiceAccount();
    expect(await ask()).toMatchObject({ outcome: "verified" });
  });

  test.each<[string, () => string]>([
    ["not JSON", () => "-----BEGIN PRIVATE KEY-----"],
    ["empty", () => ""],
    ["JSON of another kind", () => JSON.stringify({ type: "authorized_user", refresh_token: "token" })],
    [
      "without an e-mail",
      () => JSON.stringify({ ...local.sandbox.createServiceAccount(), client_email: "" }),
    ],
    [
      "without a usable key",
      () => JSON.stringify({ ...local.sandbox.createServiceAccount(), private_key: "key" }),
    ],
  ])("that is %s is credential-rejected and not quoted", async (_, text) => {
    const { ask } = askingWithSecret(text());
    expect(await ask()).toStrictEqual({
      outcome: "credential-rejected",
      status: null,
      reason: "secretIsNoServiceAccount",
    });
    expect(exchanges()).toBe(0);
  });

  test("that does not exist is credential-rejected and read again", async () => {
    const texts = [null, aServiceAccount()];
    const readSecret = async () => texts.shift() ?? null;
    const ask = asking({ secret: "trails/play" }, { fetch: sandboxFetch, readSecret });
    expect(await ask()).toStrictEqual({
      outcome: "credential-rejected",
      status: null,
      reason: "secretIsUnreadable",
    });
    expect(await ask()).toMatchObject({ outcome: "verified" });
  });

  test("whose read fails is unavailable", async () => {
    const readSecret = () => Promise.reject(new Error("ThrottlingException"));
    expect(await asking({ secret: "trails/play" }, { readSecret })()).toMatchObject({
      outcome: "unavailable",
      reason: "credentialUnavailable",
    });
  });

  test("that takes too long to read is unavailable", async () => {
    const timing = { request: 100, pause: 10, total: 200 };
    const readSecret = () => Promise.withResolvers<string>().promise;
    expect(await asking({ secret: "trails/play" }, { readSecret, timing })()).toMatchObject({
      outcome: "unavailable",
    });
  });
});
