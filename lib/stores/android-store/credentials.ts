import { createPrivateKey } from "node:crypto";
import { auth } from "googleapis/build/src/apis/androidpublisher/index.js";
import * as z from "zod/mini";
import { parseJson } from "../../bounded-text.ts";
import type { Instant } from "../../entitlements/time.ts";
import { createLoadingCache } from "../../loading-cache.ts";
import { once } from "../../once.ts";
import {
  CredentialUnavailableError,
  loadFromSecret,
  SECRET_CACHE,
  UnusableCredentialError,
  type FromSecret,
  type ReadSecret,
} from "../credentials.ts";
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
    throw new UnusableCredentialError("secretIsNoServiceAccount");
  }
};

const property = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

/**
 * Google's client exchanges tokens over a separate transport, without a timeout and with three retries, and has no
 * option to change that.
 */
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
  if (reading.outcome === "invalid") throw new UnusableCredentialError("workloadIdentityIsNoExternalAccount");
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

/**
 * Caches Google's client per credential. Concurrent requests share one load; a failed load is forgotten. A secret is
 * read again after five minutes; if it is unchanged, its client and access token are kept.
 */
export const createAndroidStoreCredentials = (options: {
  readSecret: ReadSecret;
  now: () => Instant;
  limits: TransportLimits;
  /** Origins besides Google's that a workload identity may request tokens from. */
  trustsOrigin: TrustsOrigin;
}) => {
  const { readSecret, now, limits, trustsOrigin } = options;

  const load = async (
    credential: AndroidStoreCredential,
    before: FromSecret<AccessTokens> | null | undefined,
  ): Promise<FromSecret<AccessTokens>> =>
    "secret" in credential
      ? loadFromSecret(readSecret, credential.secret, before, (text) =>
          secretTokens(text, trustsOrigin, limits),
        )
      : (before ?? {
          text: "",
          made: externalAccountTokens(credential.workloadIdentity, trustsOrigin, limits),
        });

  const loaded = createLoadingCache<AndroidStoreCredential, FromSecret<AccessTokens>>({
    load: async (credential, before) => load(credential, await before),
    now,
    ...SECRET_CACHE,
    textOf: JSON.stringify,
  });

  return {
    /**
     * `fresh` is false where an earlier request loaded the credential. Rejects with {@link UnusableCredentialError} or
     * {@link CredentialUnavailableError}.
     */
    accessTokensOf: async (credential: AndroidStoreCredential) => {
      const fresh = !loaded.has(credential);
      const found = await loaded.get(credential);
      if (found === null) throw new CredentialUnavailableError();
      return { tokens: found.made, fresh };
    },
    /** Drops a credential whose tokens the store refused; the next request loads it again. */
    forget: (credential: AndroidStoreCredential, refused: AccessTokens): void =>
      loaded.forget(credential, ({ made }) => made === refused),
  };
};
