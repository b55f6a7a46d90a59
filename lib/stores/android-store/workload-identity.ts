import * as z from "zod/mini";

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

const or =
  (message: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    input === undefined ? "is required" : message;

const exactly = <Text extends string>(text: Text) =>
  z.literal(text, { error: or(`must be ${JSON.stringify(text)}`) });

/** Matches the whole text, so that no later reader finds another host in it. */
const ofForm = (form: RegExp, message: string) =>
  z.string({ error: or(message) }).check(z.regex(form, message));

/** Also accepts an address with a trusted origin, and keeps it as parsed. */
const orTrusted = (form: RegExp, message: string, trustsOrigin: TrustsOrigin) =>
  z.pipe(
    z.string({ error: or(message) }),
    z.transform((text, context) => {
      if (form.test(text)) return text;
      const url = httpUrl(text);
      const isPlain = url?.username === "" && url.password === "" && !/[?#]/.test(text);
      if (isPlain && trustsOrigin(url.origin)) return url.href;
      context.issues.push({ code: "custom", message, input: text });
      return z.NEVER;
    }),
  );

const NOT_ACCEPTED = "is not accepted here: leave it out";

const mapping = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, { error: or("must be a mapping") });

/**
 * Addresses in gcloud's output from which an EC2 instance gets its credentials. A function has them in its environment.
 */
const metadataAddress = z.optional(
  ofForm(
    /^http:\/\/169\.254\.169\.254(?:\/[A-Za-z0-9._/-]*)?$/,
    "must be an address of http://169.254.169.254, or be left out: it is not used",
  ),
);

const credentialSource = z.pipe(
  mapping({
    environment_id: exactly("aws1"),
    // The function signs a request to this address, and Google sends it. The role must not sign any other request.
    regional_cred_verification_url: ofForm(
      /^https:\/\/sts\.(?:(?:\{region\}|[a-z]{2,4}(?:-[a-z]{2,16}){1,3}-[0-9]{1,2})\.)?amazonaws\.com\/?\?Action=GetCallerIdentity&Version=2011-06-15$/,
      "must be https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    ),
    url: metadataAddress,
    region_url: metadataAddress,
    imdsv2_session_token_url: metadataAddress,
  }),
  z.transform(({ environment_id, regional_cred_verification_url }) => ({
    environment_id,
    regional_cred_verification_url,
  })),
);

const identity = (trustsOrigin: TrustsOrigin) =>
  mapping({
    type: exactly("external_account"),
    audience: ofForm(
      /^\/\/iam\.googleapis\.com(?:\/[A-Za-z0-9._:-]{1,100}){2,10}$/,
      "must be the name of a provider: //iam.googleapis.com/projects/…/workloadIdentityPools/…/providers/…",
    ),
    subject_token_type: exactly("urn:ietf:params:aws:token-type:aws4_request"),
    token_url: orTrusted(
      /^https:\/\/sts\.(?:[a-z0-9-]{1,63}\.rep\.)?googleapis\.com\/v1\/token$/,
      "must be https://sts.googleapis.com/v1/token or https://sts.<region>.rep.googleapis.com/v1/token",
      trustsOrigin,
    ),
    service_account_impersonation_url: z.exactOptional(
      orTrusted(
        /^https:\/\/iamcredentials\.googleapis\.com\/v1\/projects\/-\/serviceAccounts\/[A-Za-z0-9._-]{1,64}@[A-Za-z0-9.-]{1,128}:generateAccessToken$/,
        "must be https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/<e-mail>:generateAccessToken",
        trustsOrigin,
      ),
    ),
    credential_source: credentialSource,
  });

/** An `external_account` JSON of an AWS provider, with only what Google's client needs in a function. */
export type WorkloadIdentity = Readonly<z.output<ReturnType<typeof identity>>>;

/**
 * Rebuilds a workload identity from the JSON that Google offers for download. That JSON tells Google's client which files
 * to read and which addresses to call, so only an AWS provider's fields are accepted. All problems are reported together.
 *
 * @param trustsOrigin origins besides Google's that `token_url` and `service_account_impersonation_url` may have
 * @see https://google.aip.dev/auth/4117
 * @see https://cloud.google.com/docs/authentication/external/externally-sourced-credentials
 */
export const readWorkloadIdentity = (value: unknown, trustsOrigin: TrustsOrigin) => {
  const { data, error } = identity(trustsOrigin).safeParse(value);
  if (error === undefined) return { outcome: "valid", identity: data } as const;
  /** One for each field. A message continues a sentence that starts with the path, and never quotes the value. */
  const problems = error.issues.flatMap((issue) => {
    const path = issue.path.map(String);
    return issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: [...path, key], message: NOT_ACCEPTED }))
      : [{ path, message: issue.message }];
  });
  return { outcome: "invalid", problems } as const;
};
