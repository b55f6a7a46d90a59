/**
 * An `external_account` JSON of an AWS provider, with only what Google's client needs in a function. The keys are
 * Google's.
 */
export type WorkloadIdentity = {
  readonly type: "external_account";
  /** Provider of the workload identity pool. */
  readonly audience: string;
  readonly subject_token_type: "urn:ietf:params:aws:token-type:aws4_request";
  readonly token_url: string;
  readonly service_account_impersonation_url?: string;
  readonly credential_source: {
    readonly environment_id: "aws1";
    readonly regional_cred_verification_url: string;
  };
};

/** A problem in one field. The message continues a sentence that starts with the path, and never quotes the value. */
export interface WorkloadIdentityProblem {
  readonly path: readonly string[];
  readonly message: string;
}

export type WorkloadIdentityReading =
  | { readonly outcome: "valid"; readonly identity: WorkloadIdentity }
  | { readonly outcome: "invalid"; readonly problems: readonly WorkloadIdentityProblem[] };

/** Whether tokens may be requested from an origin that is not Google's. */
export type TrustsOrigin = (origin: string) => boolean;

const httpUrl = (text: string): URL | null => {
  const url = URL.parse(text);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : null;
};

/** Trusts the origin of the address that replaces Google's, as in a local run; without an address, none. */
export const originOf = (address: string | undefined): TrustsOrigin => {
  const trusted = address === undefined ? null : httpUrl(address);
  return (origin) => origin === trusted?.origin;
};

/** Rule of one field. `read` returns the text to keep, or null to refuse it. */
interface Rule {
  readonly read: (text: string) => string | null;
  readonly message: string;
  /** `dropped`: accepted, but not kept. */
  readonly presence: "required" | "optional" | "dropped";
}

const exactly = (text: string): Rule => ({
  read: (given) => (given === text ? text : null),
  message: `must be ${JSON.stringify(text)}`,
  presence: "required",
});

/** Matches the whole text, so that no later reader finds another host in it. */
const ofForm = (form: RegExp, message: string, presence: Rule["presence"] = "required"): Rule => ({
  read: (text) => (form.test(text) ? text : null),
  message,
  presence,
});

/** Also accepts an address with a trusted origin, and keeps it as parsed. */
const orTrusted = (rule: Rule, trustsOrigin: TrustsOrigin): Rule => ({
  ...rule,
  read: (text) => {
    const url = httpUrl(text);
    const isPlain = url?.username === "" && url.password === "" && !/[?#]/.test(text);
    return rule.read(text) ?? (isPlain && trustsOrigin(url.origin) ? url.href : null);
  },
});

const identityRules = (trustsOrigin: TrustsOrigin): Readonly<Record<string, Rule>> => ({
  type: exactly("external_account"),
  audience: ofForm(
    /^\/\/iam\.googleapis\.com(?:\/[A-Za-z0-9._:-]{1,100}){2,10}$/,
    "must be the name of a provider: //iam.googleapis.com/projects/…/workloadIdentityPools/…/providers/…",
  ),
  subject_token_type: exactly("urn:ietf:params:aws:token-type:aws4_request"),
  token_url: orTrusted(
    ofForm(
      /^https:\/\/sts\.(?:[a-z0-9-]{1,63}\.rep\.)?googleapis\.com\/v1\/token$/,
      "must be https://sts.googleapis.com/v1/token or https://sts.<region>.rep.googleapis.com/v1/token",
    ),
    trustsOrigin,
  ),
  service_account_impersonation_url: orTrusted(
    ofForm(
      /^https:\/\/iamcredentials\.googleapis\.com\/v1\/projects\/-\/serviceAccounts\/[A-Za-z0-9._-]{1,64}@[A-Za-z0-9.-]{1,128}:generateAccessToken$/,
      "must be https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/<e-mail>:generateAccessToken",
      "optional",
    ),
    trustsOrigin,
  ),
});

/**
 * Addresses in gcloud's output from which an EC2 instance gets its credentials. A function has them in its environment.
 */
const metadataAddress = ofForm(
  /^http:\/\/169\.254\.169\.254(?:\/[A-Za-z0-9._/-]*)?$/,
  "must be an address of http://169.254.169.254, or be left out: it is not used",
  "dropped",
);

/** The function signs a request to this address, and Google sends it. The role must not sign any other request. */
const SOURCE_RULES: Readonly<Record<string, Rule>> = {
  environment_id: exactly("aws1"),
  regional_cred_verification_url: ofForm(
    /^https:\/\/sts\.(?:(?:\{region\}|[a-z]{2,4}(?:-[a-z]{2,16}){1,3}-[0-9]{1,2})\.)?amazonaws\.com\/?\?Action=GetCallerIdentity&Version=2011-06-15$/,
    "must be https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
  ),
  url: metadataAddress,
  region_url: metadataAddress,
  imdsv2_session_token_url: metadataAddress,
};

const SOURCE = "credential_source";

/** Own fields of a mapping: a name such as `constructor` counts only where it is written. */
const fieldsOf = (value: unknown): ReadonlyMap<string, unknown> | null =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value).filter(([, field]) => field !== undefined))
    : null;

interface Texts {
  readonly texts: ReadonlyMap<string, string>;
  readonly problems: readonly WorkloadIdentityProblem[];
}

const readTexts = (
  value: unknown,
  path: readonly string[],
  rules: Readonly<Record<string, Rule>>,
  besides: readonly string[] = [],
): Texts => {
  const fields = fieldsOf(value);
  if (fields === null)
    return {
      texts: new Map(),
      problems: [{ path, message: value === undefined ? "is required" : "must be a mapping" }],
    };
  const texts = new Map<string, string>();
  const problems = [...fields.keys()]
    .filter((name) => !Object.hasOwn(rules, name) && !besides.includes(name))
    .map((name) => ({ path: [...path, name], message: "is not accepted here: leave it out" }));
  for (const [name, { read, message, presence }] of Object.entries(rules)) {
    const field = fields.get(name);
    const text = typeof field === "string" ? read(field) : null;
    if (field === undefined && presence === "required")
      problems.push({ path: [...path, name], message: "is required" });
    else if (field !== undefined && text === null) problems.push({ path: [...path, name], message });
    else if (text !== null && presence !== "dropped") texts.set(name, text);
  }
  return { texts, problems };
};

/**
 * Rebuilds a workload identity from the JSON that Google offers for download.
 *
 * To Google's client this JSON is a program: it names files to read, addresses to call, and where to send what was
 * read. So only the fields of an AWS provider are accepted, and any other is refused. All problems are reported
 * together.
 *
 * @param trustsOrigin origins besides Google's that `token_url` and `service_account_impersonation_url` may have
 * @see https://google.aip.dev/auth/4117
 * @see https://cloud.google.com/docs/authentication/external/externally-sourced-credentials
 */
export const readWorkloadIdentity = (value: unknown, trustsOrigin: TrustsOrigin): WorkloadIdentityReading => {
  const identity = readTexts(value, [], identityRules(trustsOrigin), [SOURCE]);
  const fields = fieldsOf(value);
  const source = fields === null ? null : readTexts(fields.get(SOURCE), [SOURCE], SOURCE_RULES);
  const problems = [...identity.problems, ...(source?.problems ?? [])];
  const audience = identity.texts.get("audience");
  const tokenUrl = identity.texts.get("token_url");
  const impersonationUrl = identity.texts.get("service_account_impersonation_url");
  const verificationUrl = source?.texts.get("regional_cred_verification_url");
  if (
    problems.length > 0 ||
    audience === undefined ||
    tokenUrl === undefined ||
    verificationUrl === undefined
  )
    return { outcome: "invalid", problems };
  return {
    outcome: "valid",
    identity: {
      type: "external_account",
      audience,
      subject_token_type: "urn:ietf:params:aws:token-type:aws4_request",
      token_url: tokenUrl,
      ...(impersonationUrl !== undefined && { service_account_impersonation_url: impersonationUrl }),
      credential_source: {
        environment_id: "aws1",
        regional_cred_verification_url: verificationUrl,
      },
    },
  };
};
