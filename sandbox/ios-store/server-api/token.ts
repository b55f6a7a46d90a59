import { createPublicKey } from "node:crypto";
import { errors, jwtVerify } from "jose";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { ServerKey } from "./server-key.ts";

const AUDIENCE = "appstoreconnect-v1";
/** Longest time between `iat` and `exp`, in seconds. */
const LONGEST = 60 * 60;
/** Seconds by which the issuer's clock may be ahead. */
const SKEW = 60;

const BEARER = /^Bearer ([\w.-]+)$/;

/**
 * Verifies the token of a request.
 *
 * @returns the bundle that the token is for; null: the token is missing or not valid
 * @see https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
 */
export const createTokenVerifier = ({ issuerIdentifier, keyIdentifier, privateKey }: ServerKey) => {
  const publicKey = createPublicKey(privateKey);
  return async (authorization: string | undefined, at: Instant): Promise<string | null> => {
    const token = BEARER.exec(authorization ?? "")?.[1];
    if (token === undefined) return null;
    try {
      const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
        algorithms: ["ES256"],
        typ: "JWT",
        issuer: issuerIdentifier,
        audience: AUDIENCE,
        requiredClaims: ["iat", "exp", "bid"],
        currentDate: new Date(at),
      });
      const { iat = 0, exp = 0, bid } = payload;
      const isLasting = exp > iat && exp - iat <= LONGEST && iat <= at / 1000 + SKEW;
      return protectedHeader.kid === keyIdentifier && isLasting && typeof bid === "string" && bid !== ""
        ? bid
        : null;
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  };
};
