import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";

/**
 * An API key for the App Store Server API.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/creating-api-keys-to-authorize-api-requests
 */
export interface ServerKey {
  /** UUID. */
  readonly issuerIdentifier: string;
  /** Ten letters and digits. */
  readonly keyIdentifier: string;
  /** The .p8 file: PKCS #8 as PEM, of a P-256 key. */
  readonly privateKey: string;
}

export const createServerKey = (): ServerKey => ({
  issuerIdentifier: randomUUID(),
  keyIdentifier: randomBytes(5).toString("hex").toUpperCase(),
  privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ format: "pem", type: "pkcs8" })
    .toString(),
});
