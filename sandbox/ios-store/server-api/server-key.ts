import { createPublicKey, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { errors, jwtVerify } from "jose";
import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";

/** @see https://developer.apple.com/documentation/appstoreserverapi/creating-api-keys-to-authorize-api-requests */
export const serverKeySchema = z.object({
  /** UUID. */
  issuerIdentifier: z.string(),
  /** Ten letters and digits. */
  keyIdentifier: z.string(),
  /** The .p8 file: PKCS #8 as PEM, of a P-256 key. */
  privateKey: z.string(),
});
export type ServerKey = Readonly<z.output<typeof serverKeySchema>>;

export const createServerKey = (): ServerKey => ({
  issuerIdentifier: randomUUID(),
  keyIdentifier: randomBytes(5).toString("hex").toUpperCase(),
  privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ format: "pem", type: "pkcs8" })
    .toString(),
});

/** Longest time between `iat` and `exp`, in seconds. */
const LONGEST = 60 * 60;
/** Seconds by which the issuer's clock may be ahead. */
const SKEW = 60;

/**
 * @returns the bundle that the token is for; null: the token is missing or not valid
 * @see https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
 */
export const createTokenVerifier = ({ issuerIdentifier, keyIdentifier, privateKey }: ServerKey) => {
  const publicKey = createPublicKey(privateKey);
  return async (authorization: string | undefined, at: Instant): Promise<string | null> => {
    const token = /^Bearer ([\w.-]+)$/.exec(authorization ?? "")?.[1];
    if (token === undefined) return null;
    try {
      const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
        algorithms: ["ES256"],
        typ: "JWT",
        issuer: issuerIdentifier,
        audience: "appstoreconnect-v1",
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
