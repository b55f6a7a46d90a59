import { problemText, readManifest } from "../../../lib/administration/manifest/manifest.ts";
import { originOf, type TrustsOrigin } from "../../../lib/stores/android-store/workload-identity.ts";
import { manifest, problems, withAndroidStore } from "./reading.ts";

const CALLER = "?Action=GetCallerIdentity&Version=2011-06-15";

/** As gcloud writes one for an AWS provider. */
const IDENTITY = {
  type: "external_account",
  audience:
    "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/aws/providers/production",
  subject_token_type: "urn:ietf:params:aws:token-type:aws4_request",
  token_url: "https://sts.googleapis.com/v1/token",
  service_account_impersonation_url:
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/play@trails.iam.gserviceaccount.com:generateAccessToken",
  credential_source: {
    environment_id: "aws1",
    regional_cred_verification_url: `https://sts.{region}.amazonaws.com${CALLER}`,
  },
};
const SOURCE = IDENTITY.credential_source;

const withIdentity = (workloadIdentity: unknown) =>
  withAndroidStore(`credential: ${JSON.stringify({ workloadIdentity })}`);
const applied = (changes: object, trustsOrigin?: TrustsOrigin): unknown =>
  manifest(withIdentity({ ...IDENTITY, ...changes }), trustsOrigin).androidStore[0]?.credential;

/** Paths of the problems, within the identity. No message repeats a value. */
const problemsOf = (workloadIdentity: unknown, trustsOrigin?: TrustsOrigin): string[] => {
  const reading = readManifest(withIdentity(workloadIdentity), trustsOrigin && { trustsOrigin });
  if (reading.outcome === "valid") return [];
  expect(reading.problems.map(problemText).join("\n")).not.toMatch(/stranger|SECRET/);
  return reading.problems.map(({ path }) =>
    path.replace("stores.android-store[0].credential.workloadIdentity", "").replace(/^\./, ""),
  );
};

describe("a workload identity", () => {
  test("keeps what AWS needs, without EC2's metadata addresses", () => {
    const metadata = {
      url: "http://169.254.169.254/latest/meta-data/iam/security-credentials",
      region_url: "http://169.254.169.254/latest/meta-data/placement/availability-zone",
      imdsv2_session_token_url: "http://169.254.169.254/latest/api/token",
    };
    const given = { credential_source: { ...SOURCE, ...metadata } };
    expect(applied(given)).toStrictEqual({ workloadIdentity: IDENTITY });
  });

  test("may have no impersonation", () => {
    const { service_account_impersonation_url: _, ...identity } = IDENTITY;
    expect(problemsOf(identity)).toEqual([]);
  });

  test.each([
    ["https://sts.europe-west1.rep.googleapis.com/v1/token", undefined],
    ["http://127.0.0.1:3000/sandbox/token", "http://127.0.0.1:3000/"],
    ["http://[::1]:3000/token", "http://[::1]:3000"],
  ])("may have the token exchange %s where the store's address is %s", (token_url, address) => {
    expect(applied({ token_url }, originOf(address))).toMatchObject({ workloadIdentity: { token_url } });
  });

  test.each([`https://sts.amazonaws.com${CALLER}`, `https://sts.us-gov-west-1.amazonaws.com/${CALLER}`])(
    "may have %s signed",
    (regional_cred_verification_url) => {
      const credential_source = { ...SOURCE, regional_cred_verification_url };
      expect(applied({ credential_source })).toMatchObject({ workloadIdentity: { credential_source } });
    },
  );
});

/** Ways to write another host, port, user or path into one of Google's addresses. */
const elsewhere = (address: string): string[] => {
  const { hostname: host, pathname: path } = new URL(address);
  return [
    `//${host}${path}`,
    `https://stranger.example${path}`,
    `https://${host}.stranger.example${path}`,
    `https://${host}@stranger.example${path}`,
    `https://stranger@${host}${path}`,
    `https://${host}:8443${path}`,
    `https://${host.replaceAll(".", "。")}${path}`,
    `https://${host.toUpperCase()}${path}`,
    `https://stranger.example\\@${host}${path}`,
    `https://stranger.example#https://${host}${path}`,
    `https://${host}${path}#stranger`,
    `https://${host}${path}\nhttps://stranger.example`,
    ` https://${host}${path}`,
    `https://${host}/stranger/..${path}`,
    "file:///proc/self/environ",
    "",
  ];
};

/** Google's client would read files, run programs, or send the AWS identity elsewhere by these. */
describe("a workload identity is refused, without repeating any of its values,", () => {
  test.each<[string, unknown]>([
    ["universe_domain", "stranger.example"],
    ["clientSecret", "SECRET"],
    ["aws_security_credentials_supplier", {}],
    ["transporterOptions", { baseURL: "https://stranger.example" }],
    ["tokenUrl", "https://stranger.example/"],
    ["credentialSource", { file: "/proc/self/environ" }],
    ["token_url ", "https://sts.googleapis.com/v1/token"],
    ["constructor", "SECRET"],
    ["x", null],
    ["type", "authorized_user"],
    ["audience", "//stranger.example/projects/1/locations/global/workloadIdentityPools/a/providers/b"],
    ["audience", "//iam.googleapis.com"],
    ["audience", "//iam.googleapis.com/projects/1\r\nx-stranger: 1"],
    ["token_url", "https://sts.mtls.googleapis.com/v1/token"],
    ["token_url", "https://sts.europe-west1.rep.googleapis.com.stranger.example/v1/token"],
    ["token_url", "https://storage.googleapis.com/stranger/v1/token"],
    ...elsewhere(IDENTITY.token_url).map((url): [string, string] => ["token_url", url]),
    ...[
      ...["a@b.c:signBlob", "a:generateAccessToken", "../a@b.c:generateAccessToken"].map(
        (path) => `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${path}`,
      ),
      ...elsewhere(IDENTITY.service_account_impersonation_url),
    ].map((url): [string, string] => ["service_account_impersonation_url", url]),
  ])("for its %s: %j", (key, value) => {
    const path = /^\w+$/.test(key) ? key : `[${JSON.stringify(key)}]`;
    expect(problemsOf({ ...IDENTITY, [key]: value })).toEqual([path]);
  });

  test.each<[string, unknown]>([
    ["file", "/proc/self/environ"],
    ["executable", { command: "/bin/stranger" }],
    ["headers", { Authorization: "SECRET" }],
    ["regionUrl", "https://stranger.example/"],
    ["url", "https://169.254.169.254/latest"],
    ["url", "http://169.254.169.254@stranger.example/"],
    ["url", "http://169.254.169.254.stranger.example/"],
    ["region_url", "http://stranger.example/169.254.169.254"],
    ["region_url", "file:///proc/self/environ"],
    ["imdsv2_session_token_url", "http://169.254.169.254:8080/latest"],
    ["imdsv2_session_token_url", 7],
    ...[
      `https://stranger.example${CALLER}`,
      "https://sts.{region}.amazonaws.com",
      "https://sts.{region}.amazonaws.com?Action=AssumeRole&Version=2011-06-15",
      `https://sts.{region}.amazonaws.com${CALLER}&Action=AssumeRole`,
      `https://sts.{region}.amazonaws.com/stranger${CALLER}`,
      `https://sts.{region}.amazonaws.com.stranger.example${CALLER}`,
      `https://stranger@sts.{region}.amazonaws.com${CALLER}`,
      `https://sts.s3-us-west-2.amazonaws.com${CALLER}`,
      `http://sts.{region}.amazonaws.com${CALLER}`,
    ].map((url): [string, string] => ["regional_cred_verification_url", url]),
  ])("for the %s of its source: %j", (key, value) => {
    const credential_source = { ...SOURCE, [key]: value };
    expect(problemsOf({ ...IDENTITY, credential_source })).toEqual([`credential_source.${key}`]);
  });

  test.each(["type", "audience", "subject_token_type", "token_url", "credential_source"])(
    "without %s",
    (key) => {
      for (const value of [undefined, null, []])
        expect(problemsOf({ ...IDENTITY, [key]: value })).toEqual([key]);
    },
  );

  test.each([
    ["http://127.0.0.1:3001/token", "http://127.0.0.1:3000"],
    ["http://localhost:3000/token", "http://127.0.0.1:3000"],
    ["http://127.0.0.1:3000@stranger.example/token", "http://127.0.0.1:3000"],
    ["http://stranger@127.0.0.1:3000/token", "http://127.0.0.1:3000"],
    ["blob:http://127.0.0.1:3000/token", "http://127.0.0.1:3000"],
    ["data:application/json,{}", "data:,"],
    ["http://127.0.0.1:3000/token", "no address"],
  ])("with the token exchange %s when the store's address is %s", (token_url, address) => {
    expect(problemsOf({ ...IDENTITY, token_url }, originOf(address))).toEqual(["token_url"]);
  });

  test("with all of its problems at once", () => {
    const credential_source = { file: "/proc/self/environ" };
    expect(problemsOf({ type: "external_account", credential_source })).toEqual([
      "audience",
      "subject_token_type",
      "token_url",
      "credential_source.environment_id",
      "credential_source.regional_cred_verification_url",
      "credential_source.file",
    ]);
  });

  test.each([
    ["as text", `credential: { workloadIdentity: ${JSON.stringify(JSON.stringify(IDENTITY))} }`],
    ["beside a secret", `credential: { secret: s, workloadIdentity: ${JSON.stringify(IDENTITY)} }`],
    ["with a key twice", "credential: { workloadIdentity: { type: a, type: b } }"],
    ["with a prototype", "credential: { workloadIdentity: { __proto__: { token_url: x } } }"],
  ])("%s", (_, credential) => {
    expect(problems(withAndroidStore(credential))).toHaveLength(1);
  });
});
