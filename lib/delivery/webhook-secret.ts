import { createHmac, hkdfSync } from "node:crypto";
import type { ApplicationId } from "../identifiers.ts";

/** Identifies one secret of one destination. */
export interface SecretName {
  readonly application: ApplicationId;
  /** Name of the destination. */
  readonly destination: string;
  /** Time of the rotation that made the secret, in milliseconds since 1970; 0: before the first. */
  readonly epoch: number;
}

const KEY_BYTES = 32;

/**
 * Derives a key by HKDF-SHA256 (RFC 5869). The JSON array makes the name unambiguous: no two lists give the same text.
 *
 * @throws TypeError if the master secret is shorter than the keys made from it
 */
const derivedKey = (master: Uint8Array, name: readonly (string | number)[]): Uint8Array => {
  if (master.byteLength < KEY_BYTES)
    throw new TypeError(`The master secret has fewer than ${KEY_BYTES} bytes.`);
  return new Uint8Array(hkdfSync("sha256", master, "", JSON.stringify(name), KEY_BYTES));
};

/** The 32 bytes that sign a destination's webhooks. They are derived, so no table holds them. */
export const webhookSecret = (
  master: Uint8Array,
  { application, destination, epoch }: SecretName,
): Uint8Array => derivedKey(master, ["webhook-secret", application, destination, epoch]);

/**
 * A secret as receivers configure it.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export const secretText = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString("base64")}`;

/**
 * HMAC-SHA256 (hex) of a text, under a key of the application. Stands for a name that must not be stored, such as an
 * erased account's: only the holder of the master secret can match the two.
 */
export const keyedHash = (master: Uint8Array, application: ApplicationId, text: string): string =>
  createHmac("sha256", derivedKey(master, ["keyed-hash", application]))
    .update(text)
    .digest("hex");
