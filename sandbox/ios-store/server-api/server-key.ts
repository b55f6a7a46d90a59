import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import * as z from "zod";

/**
 * An API key for the App Store Server API.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/creating-api-keys-to-authorize-api-requests
 */
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
