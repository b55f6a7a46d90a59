import { createPrivateKey } from "node:crypto";
import { auth } from "googleapis/build/src/apis/androidpublisher/index.js";
import * as z from "zod/mini";
import { MINUTE } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { createLoadingCache } from "../../loading-cache.ts";
import { once } from "../../once.ts";
import { readWorkloadIdentity, type TrustsOrigin } from "./workload-identity.ts";

/**
 * Credential that reads a package's purchases: the name of a secret that holds service-account JSON, or an
 * `external_account` JSON, which is not secret.
 */
export type AndroidStoreCredential =
  { readonly secret: string } | { readonly workloadIdentity: Readonly<Record<string, unknown>> };

/** Google's client that exchanges the operator's credential for access tokens and keeps them until they expire. */
export type AccessTokens = InstanceType<typeof auth.JWT> | InstanceType<typeof auth.AwsClient>;

/** The credential cannot be used, for a one-word reason. No `cause`: it would quote the credential. */
export class UnusableCredentialError extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`The credential of the package cannot be used: ${reason}.`);
    this.name = "UnusableCredentialError";
    this.reason = reason;
  }
}

/** The credential could not be read; a retry may succeed. No `cause`: it could quote the secret's name. */
export class CredentialUnavailableError extends Error {
  constructor() {
    super("The credential of the package could not be read.");
    this.name = "CredentialUnavailableError";
  }
}

/** Limits of every request that Google's client makes on its own, by the client's option names. */
export interface TransportLimits {
  readonly timeout: number;
  readonly retryConfig: { readonly retry: 0 };
  readonly fetchImplementation: typeof fetch;
}

export interface AndroidStoreCredentials {
  /**
   * `fresh` is false where an earlier request loaded the credential. Rejects with {@link UnusableCredentialError} or
   * {@link CredentialUnavailableError}.
   */
  accessTokensOf(
    credential: AndroidStoreCredential,
  ): Promise<{ readonly tokens: AccessTokens; readonly fresh: boolean }>;
  /** Drops a credential whose tokens the store refused; the next request loads it again. */
  forget(credential: AndroidStoreCredential, refused: AccessTokens): void;
}

/** Age at which a secret is read again, so that a rotated key is picked up within this time. */
const SECRET_LIFETIME_MILLISECONDS = 5 * MINUTE;
const CREDENTIALS_KEPT = 100;
const SCOPES = ["https://www.googleapis.com/auth/androidpublisher"];

/** Fields read from service-account JSON; the others name addresses and projects. */
const serviceAccount = once(() =>
  z.object({
    type: z.literal("service_account"),
    client_email: z.string().check(z.minLength(1)),
    private_key: z.string().check(z.minLength(1)),
  }),
);

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

const parseServiceAccount = (json: unknown): z.infer<ReturnType<typeof serviceAccount>> => {
  try {
    const account = serviceAccount().parse(json);
    createPrivateKey(account.private_key);
    return account;
  } catch {
    throw new UnusableCredentialError("secretIsNoServiceAccount");
  }
};

const serviceAccountTokens = (json: unknown, limits: TransportLimits): AccessTokens => {
  const { client_email: email, private_key: key } = parseServiceAccount(json);
  return new auth.JWT({ email, key, scopes: SCOPES, transporterOptions: limits });
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
  const json = parsedJson(text);
  return property(json, "type") === "external_account"
    ? externalAccountTokens(json, trustsOrigin, limits)
    : serviceAccountTokens(json, limits);
};

interface Loaded {
  /** Text of the secret; null for a workload identity. */
  readonly text: string | null;
  readonly tokens: AccessTokens;
}

/**
 * Caches Google's client per credential. Concurrent requests share one load; a failed load is forgotten. A secret is
 * read again after five minutes; if it is unchanged, its client and access token are kept.
 */
export const createAndroidStoreCredentials = (options: {
  readSecret: (name: string) => Promise<string | null>;
  now: () => Instant;
  limits: TransportLimits;
  /** Origins besides Google's that a workload identity may request tokens from. */
  trustsOrigin: TrustsOrigin;
}): AndroidStoreCredentials => {
  const { readSecret, now, limits, trustsOrigin } = options;

  const load = async (
    credential: AndroidStoreCredential,
    before: Promise<Loaded | null> | undefined,
  ): Promise<Loaded> => {
    if ("workloadIdentity" in credential)
      return (
        (await before) ?? {
          text: null,
          tokens: externalAccountTokens(credential.workloadIdentity, trustsOrigin, limits),
        }
      );
    const text = await readSecret(credential.secret).catch(() => {
      throw new CredentialUnavailableError();
    });
    if (text === null) throw new UnusableCredentialError("secretIsUnreadable");
    const known = await before;
    return known?.text === text ? known : { text, tokens: secretTokens(text, trustsOrigin, limits) };
  };

  const loaded = createLoadingCache<AndroidStoreCredential, Loaded>({
    load,
    now,
    maximumAgeMilliseconds: SECRET_LIFETIME_MILLISECONDS,
    maximumEntries: CREDENTIALS_KEPT,
    textOf: JSON.stringify,
  });

  return {
    accessTokensOf: async (credential) => {
      const fresh = !loaded.has(credential);
      const found = await loaded.get(credential);
      if (found === null) throw new CredentialUnavailableError();
      return { tokens: found.tokens, fresh };
    },
    forget: (credential, refused) => loaded.forget(credential, ({ tokens }) => tokens === refused),
  };
};
