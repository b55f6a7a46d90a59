import { createPrivateKey, type KeyObject } from "node:crypto";
import { SignJWT } from "jose/jwt/sign";
import { MINUTE } from "../../../duration.ts";
import type { Instant } from "../../../entitlements/time.ts";
import { createLoadingCache } from "../../../loading-cache.ts";
import {
  CredentialUnavailableError,
  loadFromSecret,
  SECRET_CACHE,
  UnusableCredentialError,
  type FromSecret,
} from "../../credentials.ts";
import type { StoreClientOptions } from "../../store-client.ts";

/**
 * An in-app purchase key of App Store Connect. Nothing here is secret: the key itself is in Secrets Manager.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/creating-api-keys-to-authorize-api-requests
 */
export interface AppStoreServerKey {
  /** The issuer ID of the team, a UUID. */
  readonly issuerIdentifier: string;
  /** The key ID, such as `ABC123DEFG`. */
  readonly keyIdentifier: string;
  /** Name or ARN of the secret whose text is the private key, as Apple's `.p8` file has it. */
  readonly secret: string;
}

/** An app, and the key that may ask about it. One token serves both environments. */
export interface TokenSubject {
  readonly bundleIdentifier: string;
  readonly key: AppStoreServerKey;
}

type LoadedKey = FromSecret<KeyObject>;

export interface ServerToken {
  readonly authorization: string;
  readonly signedWith: LoadedKey;
}

/** Apple accepts tokens of up to an hour. */
const TOKEN_LIFETIME_MILLISECONDS = 20 * MINUTE;
/** Tokens are backdated, because a server whose clock is behind refuses one from the future. */
const SKEW_MILLISECONDS = MINUTE;
/** Age up to which a token is used, four minutes before it expires. */
const TOKEN_USE_MILLISECONDS = 15 * MINUTE;
const TOKENS_KEPT = 200;

const parseKey = (text: string): KeyObject => {
  try {
    const key = createPrivateKey(text);
    if (key.asymmetricKeyDetails?.namedCurve === "prime256v1") return key;
  } catch {
    // The error could quote the key.
  }
  throw new UnusableCredentialError("secretIsNoPrivateKey");
};

const inSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

const signToken = async (
  { bundleIdentifier, key }: TokenSubject,
  signedWith: LoadedKey,
  now: Instant,
): Promise<ServerToken> => {
  const issuedAt = now - SKEW_MILLISECONDS;
  const token = await new SignJWT({ bid: bundleIdentifier })
    .setProtectedHeader({ alg: "ES256", kid: key.keyIdentifier, typ: "JWT" })
    .setIssuer(key.issuerIdentifier)
    .setIssuedAt(inSeconds(issuedAt))
    .setExpirationTime(inSeconds(issuedAt + TOKEN_LIFETIME_MILLISECONDS))
    .setAudience("appstoreconnect-v1")
    .sign(signedWith.made);
  return { authorization: `Bearer ${token}`, signedWith };
};

/**
 * Signs the tokens of the App Store Server API and caches them, and the keys. Concurrent requests share one read of a
 * secret and one token; a read that failed is forgotten.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
 */
export const createServerTokens = ({ readSecret, now }: Pick<StoreClientOptions, "readSecret" | "now">) => {
  const keys = createLoadingCache<string, LoadedKey>({
    load: async (secret, before) => loadFromSecret(readSecret, secret, await before, parseKey),
    now,
    ...SECRET_CACHE,
    textOf: (secret) => secret,
  });

  const tokens = createLoadingCache<TokenSubject, ServerToken>({
    load: async (subject) => {
      const key = await keys.get(subject.key.secret);
      return key && signToken(subject, key, now());
    },
    now,
    maximumAgeMilliseconds: TOKEN_USE_MILLISECONDS,
    maximumEntries: TOKENS_KEPT,
    textOf: ({ bundleIdentifier, key }) =>
      JSON.stringify([bundleIdentifier, key.issuerIdentifier, key.keyIdentifier, key.secret]),
  });

  return {
    /**
     * `fresh` is false where an earlier request read the key or made the token. Rejects with {@link UnusableCredentialError}
     * or {@link CredentialUnavailableError}.
     */
    tokenOf: async (subject: TokenSubject) => {
      const fresh = !tokens.has(subject) && !keys.has(subject.key.secret);
      const token = await tokens.get(subject);
      if (token === null) throw new CredentialUnavailableError();
      return { token, fresh };
    },
    /** Drops a token that the store refused, and its key; the next request reads the key again. */
    forget: (subject: TokenSubject, refused: ServerToken): void => {
      tokens.forget(subject, (token) => token === refused);
      keys.forget(subject.key.secret, (key) => key === refused.signedWith);
    },
  };
};
