import { isoTime } from "../../../lib/entitlements/time.ts";
import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import { DAY, HASTY } from "../../../testing/support/stores/android-store.ts";
import { credentialStore } from "./credential-store.ts";

const { local, asking, exchanges } = credentialStore();

/** On Linux, this file holds the environment, and so the credentials, of the process that reads it. */
const ENVIRONMENT_FILE = "/proc/self/environ";

const STRANGER = "https://stranger.example";

describe("workload identity", () => {
  const workloadIdentity = (changes: Record<string, unknown> = {}) => ({
    workloadIdentity: { ...local().sandbox.externalAccount(local().rootUrl), ...changes },
  });

  test("exchanges the function's AWS identity for one access token until it expires", async () => {
    const ask = asking(workloadIdentity());
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(local().sandbox.calls.map(({ method, endpoint }) => `${method} ${endpoint}`)).toStrictEqual([
      "POST token",
      "GET publisher",
      "GET publisher",
    ]);
  });

  describe("that impersonates a service account", () => {
    const impersonating = () => ({
      workloadIdentity: local().sandbox.externalAccount(local().rootUrl, {
        impersonate: "play@trails.iam.gserviceaccount.com",
      }),
    });
    const impersonations = () =>
      local().sandbox.calls.filter(({ endpoint }) => endpoint === "impersonation").length;

    test("reads with that account's access token", async () => {
      expect(await asking(impersonating())()).toMatchObject({ outcome: "verified" });
    });
    test("without permission is credential-rejected", async () => {
      local().sandbox.failNext("impersonation", {
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

    test.each<Fault>([{ status: 503 }, "hang"])(
      "and meets %j is unavailable after exactly one retry",
      async (fault) => {
        local().sandbox.failNext("impersonation", fault, fault);
        const options = fault === "hang" ? { timing: HASTY } : {};
        expect(await asking(impersonating(), options)()).toMatchObject({ outcome: "unavailable" });
        expect(impersonations()).toBe(2);
      },
    );
  });

  test("is credential-rejected without AWS credentials, and asks no machine for any", async () => {
    const url = "http://169.254.169.254/latest/meta-data/iam/security-credentials";
    const source = local().sandbox.externalAccount(local().rootUrl)["credential_source"] as object;
    const ask = asking(workloadIdentity({ credential_source: { ...source, url } }));
    const before = process.env["AWS_ACCESS_KEY_ID"];
    delete process.env["AWS_ACCESS_KEY_ID"];
    const rejected = { outcome: "credential-rejected", status: null, reason: "credentialUnusable" };
    try {
      expect(await ask()).toStrictEqual(rejected);
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
    test.each<[string, Record<string, unknown>]>([
      [
        "a file as its source, to a stranger",
        { credential_source: { file: ENVIRONMENT_FILE }, token_url: STRANGER },
      ],
      ["a stranger's token exchange", { token_url: `${STRANGER}/token` }],
      ["a secret of its own", { client_id: "id", client_secret: "secret" }],
    ])("with %s is refused without any request", async (_, changes) => {
      const asked: string[] = [];
      const ask = asking(workloadIdentity(changes), {
        fetch: (input, init) => {
          asked.push(String(input instanceof Request ? input.url : input));
          return fetch(input, init);
        },
      });
      expect(await ask()).toStrictEqual(refused);
      expect(asked).toStrictEqual([]);
      expect(local().sandbox.calls).toStrictEqual([]);
    });

    test("is refused with the sandbox's token exchange beside Google's address", async () => {
      expect(await asking(workloadIdentity(), { rootUrl: undefined })()).toStrictEqual(refused);
      expect(local().sandbox.calls).toStrictEqual([]);
    });
  });

  test("in gcloud's form is exchanged at Google and nowhere else", async () => {
    const asked: string[] = [];
    const ask = asking(
      {
        workloadIdentity: {
          ...local().sandbox.externalAccount(local().rootUrl),
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
          const token = { access_token: "a", token_type: "Bearer", expires_in: 3600 };
          const impersonated = { accessToken: "b", expireTime: isoTime(Date.now() + DAY) };
          return Promise.resolve(Response.json({ ...token, ...impersonated }));
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

  test("is exchanged again within the request after a revocation", async () => {
    const ask = asking(workloadIdentity());
    await ask();
    local().sandbox.revokeAccessTokens();
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(exchanges()).toBe(2);
  });
});
