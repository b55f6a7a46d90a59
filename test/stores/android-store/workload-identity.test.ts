import { isoTime } from "../../../lib/entitlements/time.ts";
import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import { DAY, HASTY } from "../../../testing/support/stores/android-store.ts";
import { credentialStore } from "./store-for-file.ts";

const { local, asking, exchanges } = credentialStore();

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

  describe("that impersonates a service account", () => {
    const impersonating = () => ({
      workloadIdentity: local.sandbox.externalAccount(local.rootUrl, {
        impersonate: "play@trails.iam.gserviceaccount.com",
      }),
    });
    test("reads with that account's access token", async () => {
      expect(await asking(impersonating())()).toMatchObject({ outcome: "verified" });
    });

    const denied = { status: 403, body: { error: { status: "PERMISSION_DENIED" } } };
    test.each<[string, Fault, answer: object, requests: number]>([
      [
        "no permission",
        denied,
        { outcome: "credential-rejected", status: 403, reason: "PERMISSION_DENIED" },
        1,
      ],
      ["an error, twice", { status: 503 }, { outcome: "unavailable" }, 2],
      ["no answer, twice", "hang", { outcome: "unavailable" }, 2],
    ])("and meets %s", async (_, fault, answer, requests) => {
      local.sandbox.failNext("impersonation", ...Array<Fault>(requests).fill(fault));
      const options = fault === "hang" ? { timing: HASTY } : {};
      expect(await asking(impersonating(), options)()).toMatchObject(answer);
      const calls = local.sandbox.calls.filter(({ endpoint }) => endpoint === "impersonation");
      expect(calls).toHaveLength(requests);
    });
  });

  test("is credential-rejected without AWS credentials, and asks no machine for any", async () => {
    const url = "http://169.254.169.254/latest/meta-data/iam/security-credentials";
    const source = local.sandbox.externalAccount(local.rootUrl)["credential_source"] as object;
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

  test("is refused with the sandbox's token exchange beside Google's address", async () => {
    const reason = "workloadIdentityIsNoExternalAccount";
    const refused = { outcome: "credential-rejected", status: null, reason };
    expect(await asking(workloadIdentity(), { rootUrl: undefined })()).toStrictEqual(refused);
    expect(local.sandbox.calls).toStrictEqual([]);
  });

  test("in gcloud's form is exchanged at Google and nowhere else", async () => {
    const STS = "https://sts.googleapis.com/v1/token";
    const IMPERSONATION =
      "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/play@trails.iam.gserviceaccount.com:generateAccessToken";
    const METADATA = "http://169.254.169.254/latest";
    const credential = workloadIdentity({
      token_url: STS,
      service_account_impersonation_url: IMPERSONATION,
      credential_source: {
        environment_id: "aws1",
        region_url: `${METADATA}/meta-data/placement/availability-zone`,
        url: `${METADATA}/meta-data/iam/security-credentials`,
        regional_cred_verification_url:
          "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
        imdsv2_session_token_url: `${METADATA}/api/token`,
      },
    });
    const asked: string[] = [];
    const answering: typeof fetch = async (input) => {
      const { origin, pathname } = new URL(input instanceof Request ? input.url : input);
      asked.push(`${origin}${pathname}`);
      const token = { access_token: "a", token_type: "Bearer", expires_in: 3600 };
      return Response.json({ ...token, accessToken: "b", expireTime: isoTime(Date.now() + DAY) });
    };
    await asking(credential, { fetch: answering, rootUrl: undefined })();
    const PUBLISHER = /^https:\/\/androidpublisher\.googleapis\.com\/androidpublisher\/v3\/applications\//;
    expect(asked).toStrictEqual([STS, IMPERSONATION, expect.stringMatching(PUBLISHER)]);
  });

  test("is exchanged again within the request after a revocation", async () => {
    const ask = asking(workloadIdentity());
    await ask();
    local.sandbox.revokeAccessTokens();
    expect(await ask()).toMatchObject({ outcome: "verified" });
    expect(exchanges()).toBe(2);
  });
});
