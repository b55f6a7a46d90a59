import { createPrivateKey, type KeyObject } from "node:crypto";
import { SignJWT } from "jose/jwt/sign";
import { MINUTE, SECOND } from "../../../duration.ts";
import type { Instant } from "../../../entitlements/time.ts";
import { CredentialError, credentialRejected, readCredential, type ReadSecret } from "../../store-client.ts";

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

/** Apple accepts tokens of up to an hour. */
const TOKEN_LIFETIME_MILLISECONDS = 20 * MINUTE;
/** Tokens are backdated, because a server whose clock is behind refuses one from the future. */
const SKEW_MILLISECONDS = MINUTE;
/** Age up to which a token is used, four minutes before it expires. */
export const TOKEN_USE_MILLISECONDS = 15 * MINUTE;

const parseKey = (text: string): KeyObject => {
  try {
    const key = createPrivateKey(text);
    if (key.asymmetricKeyDetails?.namedCurve === "prime256v1") return key;
  } catch {
    // The error could quote the key.
  }
  throw new CredentialError(credentialRejected("secretIsNoPrivateKey"));
};

const inSeconds = (milliseconds: number): number => Math.floor(milliseconds / SECOND);

/**
 * Reads the key and signs a token of the App Store Server API.
 *
 * @throws CredentialError
 * @see https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
 */
export const signToken = async (
  { bundleIdentifier, key }: TokenSubject,
  readSecret: ReadSecret,
  now: () => Instant,
): Promise<string> => {
  const privateKey = parseKey(await readCredential(readSecret, key.secret));
  const issuedAt = now() - SKEW_MILLISECONDS;
  return new SignJWT({ bid: bundleIdentifier })
    .setProtectedHeader({ alg: "ES256", kid: key.keyIdentifier, typ: "JWT" })
    .setIssuer(key.issuerIdentifier)
    .setIssuedAt(inSeconds(issuedAt))
    .setExpirationTime(inSeconds(issuedAt + TOKEN_LIFETIME_MILLISECONDS))
    .setAudience("appstoreconnect-v1")
    .sign(privateKey);
};
