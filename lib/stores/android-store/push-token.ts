import { JOSEError, JWTClaimValidationFailed } from "jose/errors";
import { createRemoteJWKSet, customFetch } from "jose/jwks/remote";
import { jwtVerify, type JWTVerifyGetKey } from "jose/jwt/verify";
import { HOUR, MINUTE, SECOND } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";

/** Reasons to refuse a push token, for metrics and logs, never for the caller. None quotes the token. */
export type PushTokenRejection =
  | "push_token_missing"
  | "push_token_malformed"
  | "push_token_algorithm"
  /** Google has no key of that name. */
  | "push_token_key"
  | "push_token_signature"
  | "push_token_issuer"
  | "push_token_expired"
  /** A claim is missing or of another type, or the token is not valid yet. */
  | "push_token_claims"
  /** Google has not verified the e-mail address. */
  | "push_token_email"
  /** The package's configuration names no push subscription. */
  | "push_token_not_expected"
  | "push_token_audience"
  | "push_token_service_account";

/** Sender of a push, as Google vouches for it. Any Google account can get a token for any audience. */
export interface PushTokenClaims {
  readonly serviceAccount: string;
  readonly audience: string;
}

/** Expected sender of a push; without a service account, any. */
export interface ExpectedSender {
  readonly serviceAccount?: string;
  readonly audience: string;
}

/** `unavailable`: Google's keys could not be loaded, so the push should be sent again. */
type PushTokenVerdict =
  | { readonly outcome: "verified"; readonly claims: PushTokenClaims }
  | { readonly outcome: "rejected"; readonly reason: PushTokenRejection }
  | { readonly outcome: "unavailable" };

/** Limits of the requests for Google's keys, in milliseconds. */
export const PUSH_TOKEN_TIMING = {
  /** One request, up to the end of its body. */
  request: 3 * SECOND,
  /** Between two requests, whatever the first one answered. */
  pause: 5 * SECOND,
  /** Between a load and the next one that an unknown key name causes. */
  unknownKey: MINUTE,
  /** Age at which keys are loaded again: a key withdrawn by Google counts at most this long. */
  age: HOUR,
};
export type PushTokenTiming = Readonly<typeof PUSH_TOKEN_TIMING>;

const GOOGLE_CERTIFICATES_URL = "https://www.googleapis.com/oauth2/v3/certs";
/** Google uses either. */
const ISSUERS = ["https://accounts.google.com", "accounts.google.com"];
const SKEW_SECONDS = 60;
const BEARER = /^bearer +(\S+)$/i;

class KeysUnavailableError extends Error {
  override readonly name = "KeysUnavailableError";
}

/** By `jose`'s codes. */
const REASONS: Readonly<Record<string, PushTokenRejection>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: "push_token_algorithm",
  ERR_JWKS_NO_MATCHING_KEY: "push_token_key",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "push_token_key",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "push_token_signature",
  ERR_JWT_EXPIRED: "push_token_expired",
  ERR_JWT_CLAIM_VALIDATION_FAILED: "push_token_claims",
};

const reasonOf = (error: JOSEError): PushTokenRejection =>
  error instanceof JWTClaimValidationFailed && error.claim === "iss"
    ? "push_token_issuer"
    : (REASONS[error.code] ?? "push_token_malformed");

const rejected = (reason: PushTokenRejection): PushTokenVerdict => ({ outcome: "rejected", reason });

/**
 * Verifies the OIDC tokens of authenticated Pub/Sub pushes, with `jose` and Google's keys. `jose` does not pause after a
 * failed load: the pause is added here, so that a flood of forged tokens causes no flood of requests.
 *
 * @see https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
 */
export const createPushTokenVerifier = (options: {
  /** Address of Google's keys, a JSON Web Key Set; unset: Google's own. */
  readonly certificatesUrl?: string | undefined;
  readonly now: () => Instant;
  readonly timing?: PushTokenTiming;
}) => {
  const { certificatesUrl = GOOGLE_CERTIFICATES_URL, now, timing = PUSH_TOKEN_TIMING } = options;
  let askedAt = -Infinity;
  const keys = createRemoteJWKSet(new URL(certificatesUrl), {
    timeoutDuration: timing.request,
    cooldownDuration: timing.unknownKey,
    cacheMaxAge: timing.age,
    [customFetch]: async (...request) => {
      if (now() < askedAt + timing.pause) throw new KeysUnavailableError("The keys were asked for just now.");
      askedAt = now();
      return fetch(...request);
    },
  });
  const keyOf: JWTVerifyGetKey = async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      // All other errors mean that no keys could be loaded.
      if (cause instanceof JOSEError && reasonOf(cause) === "push_token_key") throw cause;
      throw new KeysUnavailableError("Google's keys could not be had.", { cause });
    }
  };

  return {
    /** Verifies signature, issuer, expiry and that the e-mail address is verified, of an `Authorization` header. */
    verify: async (authorization: string | null): Promise<PushTokenVerdict> => {
      const [, token] = BEARER.exec(authorization ?? "") ?? [];
      if (token === undefined) return rejected("push_token_missing");
      try {
        const { payload } = await jwtVerify(token, keyOf, {
          algorithms: ["RS256"],
          issuer: ISSUERS,
          requiredClaims: ["exp"],
          clockTolerance: SKEW_SECONDS,
          currentDate: new Date(now()),
        });
        const { aud: audience, email: serviceAccount, email_verified: isVerified } = payload;
        if (typeof audience !== "string" || typeof serviceAccount !== "string")
          return rejected("push_token_claims");
        if (isVerified !== true) return rejected("push_token_email");
        return { outcome: "verified", claims: { serviceAccount, audience } };
      } catch (error) {
        if (error instanceof KeysUnavailableError) return { outcome: "unavailable" };
        if (error instanceof JOSEError) return rejected(reasonOf(error));
        throw error;
      }
    },
    /** Compares a verified token with the expected sender; null: they agree. No `expected`: every token is refused. */
    disagreement: (claims: PushTokenClaims, expected: ExpectedSender | null): PushTokenRejection | null => {
      if (expected === null) return "push_token_not_expected";
      if (claims.audience !== expected.audience) return "push_token_audience";
      return claims.serviceAccount === (expected.serviceAccount ?? claims.serviceAccount)
        ? null
        : "push_token_service_account";
    },
  };
};
export type PushTokenVerifier = ReturnType<typeof createPushTokenVerifier>;
