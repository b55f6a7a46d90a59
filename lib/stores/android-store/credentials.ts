import { createPrivateKey } from "node:crypto";
import { auth } from "googleapis/build/src/apis/androidpublisher/index.js";
import * as z from "zod/mini";
import { parseJson } from "../../bounded-text.ts";
import { once } from "../../once.ts";
import { CredentialError, credentialRejected, readCredential, type ReadSecret } from "../store-client.ts";
import { readWorkloadIdentity, type TrustsOrigin } from "./workload-identity.ts";

/**
 * Credential that reads a package's purchases: the name of a secret that holds service-account JSON, or an
 * `external_account` JSON, which is not secret.
 */
export type AndroidStoreCredential =
  { readonly secret: string } | { readonly workloadIdentity: Readonly<Record<string, unknown>> };

/** Google's client that exchanges the operator's credential for access tokens and keeps them until they expire. */
export type AccessTokens = InstanceType<typeof auth.JWT> | InstanceType<typeof auth.AwsClient>;

/** Limits of every request that Google's client makes on its own, by the client's option names. */
export interface TransportLimits {
  readonly timeout: number;
  readonly retryConfig: { readonly retry: 0 };
  readonly fetchImplementation: typeof fetch;
}

const SCOPES = ["https://www.googleapis.com/auth/androidpublisher"];

/** Fields read from service-account JSON; the others name addresses and projects. */
const serviceAccount = once(() =>
  z.object({
    type: z.literal("service_account"),
    client_email: z.string().check(z.minLength(1)),
    private_key: z.string().check(z.minLength(1)),
  }),
);

const serviceAccountTokens = (json: unknown, limits: TransportLimits): AccessTokens => {
  try {
    const { client_email: email, private_key: key } = serviceAccount().parse(json);
    createPrivateKey(key);
    return new auth.JWT({ email, key, scopes: SCOPES, transporterOptions: limits });
  } catch {
    throw new CredentialError(credentialRejected("secretIsNoServiceAccount"));
  }
};

const property = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

/** Google's client exchanges tokens over a separate transport, without a timeout, with three retries and no option. */
const limitTokenExchange = (tokens: AccessTokens, limits: TransportLimits): void => {
  const transport = property(property(tokens, "stsCredential"), "transporter");
  if (!(transport instanceof Object && "defaults" in transport))
    throw new Error("google-auth-library no longer exchanges tokens over stsCredential.transporter");
  transport.defaults = limits;
};

/** Rebuilds the identity, as `apply` did: the table might hold other fields, and is not trusted. */
const externalAccountTokens = (
  json: unknown,
  trustsOrigin: TrustsOrigin,
  limits: TransportLimits,
): AccessTokens => {
  const reading = readWorkloadIdentity(json, trustsOrigin);
  if (reading.outcome === "invalid")
    throw new CredentialError(credentialRejected("workloadIdentityIsNoExternalAccount"));
  const tokens = new auth.AwsClient({ ...reading.identity, scopes: SCOPES, transporterOptions: limits });
  limitTokenExchange(tokens, limits);
  return tokens;
};

/** A secret holds a service account's key or, to keep it out of the manifest, a workload identity. */
const secretTokens = (text: string, trustsOrigin: TrustsOrigin, limits: TransportLimits): AccessTokens => {
  const json = parseJson(text);
  return property(json, "type") === "external_account"
    ? externalAccountTokens(json, trustsOrigin, limits)
    : serviceAccountTokens(json, limits);
};

export interface AccessTokensOptions {
  readonly readSecret: ReadSecret;
  readonly limits: TransportLimits;
  /** Origins besides Google's that a workload identity may request tokens from. */
  readonly trustsOrigin: TrustsOrigin;
}

/** A credential's client, and the text of the secret that it was made of; empty: of none. */
export interface LoadedCredential {
  readonly text: string;
  readonly tokens: AccessTokens;
}

/** Loads a credential. What was loaded before is kept, with its access token, where the secret's text is the same. */
export const loadCredential = async (
  credential: AndroidStoreCredential,
  before: LoadedCredential | null | undefined,
  { readSecret, limits, trustsOrigin }: AccessTokensOptions,
): Promise<LoadedCredential> => {
  const text = "secret" in credential ? await readCredential(readSecret, credential.secret) : "";
  if (before?.text === text) return before;
  const tokens =
    "secret" in credential
      ? secretTokens(text, trustsOrigin, limits)
      : externalAccountTokens(credential.workloadIdentity, trustsOrigin, limits);
  return { text, tokens };
};
