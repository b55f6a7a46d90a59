import { createPublicKey, generateKeyPairSync, randomBytes, type KeyObject } from "node:crypto";
import { decodeJwt, errors, jwtVerify } from "jose";
import * as z from "zod";
import { parseJson } from "../../lib/bounded-text.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { decode, found, type Answer, type Routes } from "../routes.ts";
import { googleRefusal } from "./publisher-api.ts";

const AUDIENCE =
  "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/sandbox/providers/sandbox";
const AWS_TOKEN_TYPE = "urn:ietf:params:aws:token-type:aws4_request";
const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE = {
  subject_token_type: AWS_TOKEN_TYPE,
  requested_token_type: ACCESS_TOKEN_TYPE,
  audience: AUDIENCE,
};
const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token";
const SCOPE = "https://www.googleapis.com/auth/androidpublisher";
const IMPERSONATION_SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_SECONDS = 3600;

const subjectToken = z.object({
  url: z.string().startsWith("https://sts."),
  method: z.literal("POST"),
  headers: z.array(z.object({ key: z.string(), value: z.string() })),
});

const impersonationRequest = z.object({ scope: z.array(z.string()).min(1), lifetime: z.string() });

/** Error response of token endpoints (RFC 6749, 5.2). */
const tokenError = (error: string, description: string): Answer => ({
  status: 400,
  body: { error, error_description: description },
});

/** Whether a token is an AWS workload's: a signed `GetCallerIdentity`, which Google would send to AWS. */
const isSubject = (token: string): boolean => {
  const parsed = subjectToken.safeParse(parseJson(decode(token)));
  if (!parsed.success) return false;
  const headers = new Map(parsed.data.headers.map(({ key, value }) => [key.toLowerCase(), value]));
  return headers.has("authorization") && headers.get("x-goog-cloud-target-resource") === AUDIENCE;
};

/** Credential with which Google's client signs as an AWS workload, and impersonates a service account if one is named. */
const externalAccount = (
  rootUrl: string,
  { impersonate }: { readonly impersonate?: string } = {},
): Record<string, unknown> => {
  const root = rootUrl.replace(/\/$/, "");
  return {
    type: "external_account",
    audience: AUDIENCE,
    subject_token_type: AWS_TOKEN_TYPE,
    token_url: `${root}/token`,
    ...(impersonate !== undefined && {
      service_account_impersonation_url: `${root}/serviceAccounts/${impersonate}:generateAccessToken`,
    }),
    credential_source: {
      environment_id: "aws1",
      regional_cred_verification_url:
        "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    },
  };
};

/** Google's token endpoints: workload identity federation, service accounts and their impersonation. */
export const createTokenEndpoints = (now: () => Instant) => {
  const accessTokens = new Map<string, readonly string[]>();
  const serviceAccounts = new Map<string, KeyObject>();

  const issueToken = (scopes: readonly string[]): string => {
    const accessToken = `sandbox.${randomBytes(24).toString("base64url")}`;
    accessTokens.set(accessToken, scopes);
    return accessToken;
  };

  const tokenAnswer = (scopes: readonly string[], more: Record<string, string> = {}): Answer =>
    found({ access_token: issueToken(scopes), token_type: "Bearer", expires_in: TOKEN_SECONDS, ...more });

  const requireScope = (authorization: string | undefined, scope: string): void => {
    const [, accessToken = ""] = /^Bearer (.+)$/.exec(authorization ?? "") ?? [];
    const scopes = accessTokens.get(accessToken);
    if (scopes === undefined) throw googleRefusal(401, "authError", "Invalid Credentials");
    if (!scopes.includes(scope))
      throw googleRefusal(403, "insufficientPermissions", "Request had insufficient authentication scopes.");
  };

  /** Whether a service account has signed for the API, at whatever time. */
  const isAssertion = async (assertion: string): Promise<boolean> => {
    try {
      const { iss = "", iat = 0, scope } = decodeJwt(assertion);
      const key = serviceAccounts.get(iss);
      const currentDate = new Date(iat * 1000);
      if (key === undefined) return false;
      await jwtVerify(assertion, key, { algorithms: ["RS256"], audience: GOOGLE_TOKEN_URL, currentDate });
      return String(scope).split(" ").includes(SCOPE);
    } catch (error) {
      if (error instanceof errors.JOSEError) return false;
      throw error;
    }
  };

  /** OAuth token exchange (RFC 8693). */
  const exchanged = (form: URLSearchParams): Answer => {
    for (const [name, value] of Object.entries(EXCHANGE))
      if (form.get(name) !== value) return tokenError("invalid_request", `The ${name} is not known here.`);
    const scopes = form.get("scope")?.split(" ") ?? [];
    if (!scopes.every((scope) => scope === SCOPE || scope === IMPERSONATION_SCOPE))
      return tokenError("invalid_scope", "The scope is not known here.");
    if (!isSubject(form.get("subject_token") ?? ""))
      return tokenError("invalid_grant", "The subject_token is not valid.");
    return tokenAnswer(scopes, { issued_token_type: ACCESS_TOKEN_TYPE });
  };

  const answerToken = async (body: string | null): Promise<Answer> => {
    const form = new URLSearchParams(body ?? "");
    switch (form.get("grant_type")) {
      case TOKEN_EXCHANGE:
        return exchanged(form);
      case JWT_GRANT:
        return (await isAssertion(form.get("assertion") ?? ""))
          ? tokenAnswer([SCOPE])
          : tokenError("invalid_grant", "The assertion is not valid.");
      default:
        return tokenError("unsupported_grant_type", "The grant_type is not supported.");
    }
  };

  /** Impersonation, as in IAM Credentials. */
  const answerImpersonation = (body: string | null, authorization: string | undefined): Answer => {
    requireScope(authorization, IMPERSONATION_SCOPE);
    const { data: wanted } = impersonationRequest.safeParse(parseJson(body));
    if (wanted === undefined) throw googleRefusal(400, "badRequest", "Request contains an invalid argument.");
    const expireTime = isoTime(now() + TOKEN_SECONDS * 1000);
    return found({ accessToken: issueToken(wanted.scope), expireTime });
  };

  return {
    tokenRoutes: { "POST /token": async ({ body }) => answerToken(body) } satisfies Routes,
    impersonationRoutes: {
      "POST /serviceAccounts/{email}:generateAccessToken": ({ body, authorization }) =>
        answerImpersonation(body, authorization),
    } satisfies Routes,
    /** @throws Refused unless the access token of a request has the API's scope */
    requireToken: (authorization: string | undefined) => requireScope(authorization, SCOPE),
    externalAccount,
    /** Service-account JSON that the JWT grant accepts. Google's client always asks Google, whatever its `token_uri` says. */
    createServiceAccount: (): Record<string, unknown> => {
      const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
      const email = `sandbox-${randomBytes(4).toString("hex")}@sandbox.iam.gserviceaccount.com`;
      serviceAccounts.set(email, createPublicKey(privateKey));
      return {
        type: "service_account",
        project_id: "sandbox",
        private_key_id: randomBytes(20).toString("hex"),
        private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
        client_email: email,
        token_uri: GOOGLE_TOKEN_URL,
      };
    },
    revokeAccessTokens: (): void => accessTokens.clear(),
  };
};
