import { createHmac, hkdfSync } from "node:crypto";
import type { WebhookDestination } from "../applications/application.ts";
import { DAY } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";

/** Not under the prefix of the stores' secrets, which more functions may read. A service's name is its table's. */
export const masterSecretName = (serviceName: string): string => `${serviceName}-master`;

/** Time for which the previous secret signs beside the new one after a rotation. */
export const OVERLAP_MILLISECONDS = DAY;

/** Epoch of the secret of a destination that was never rotated: never shown. */
const NEVER_ROTATED: Instant = 0;

const KEY_BYTES = 32;

/** A key by HKDF-SHA256 (RFC 5869). No two lists give the same JSON. */
const derivedKey = (master: Uint8Array, name: readonly (string | number)[]): Uint8Array => {
  if (master.byteLength < KEY_BYTES)
    throw new TypeError(`The master secret has fewer than ${KEY_BYTES} bytes.`);
  return new Uint8Array(hkdfSync("sha256", master, "", JSON.stringify(name), KEY_BYTES));
};

/** The 32 bytes that sign a destination's webhooks. `epoch`: time of the rotation that made the secret. */
export const secretOf = (
  master: Uint8Array,
  application: ApplicationId,
  { name }: Pick<WebhookDestination, "name">,
  epoch: Instant,
): Uint8Array => derivedKey(master, ["webhook-secret", application, name, epoch]);

/** Time until which the previous secret signs too; null: it does not. */
export const overlapEnd = (
  { secretEpochs: [newest, before] }: Pick<WebhookDestination, "secretEpochs">,
  moment: Instant,
): Instant | null => {
  if (newest === undefined || before === undefined) return null;
  const end = newest + OVERLAP_MILLISECONDS;
  return moment < end ? end : null;
};

/** Secrets that sign a destination's messages at the moment: the newest, and the previous one for a day. */
export const signingSecrets = (
  master: Uint8Array,
  application: ApplicationId,
  destination: WebhookDestination,
  moment: Instant,
): readonly Uint8Array[] => {
  const { secretEpochs } = destination;
  const epochs = secretEpochs.slice(0, overlapEnd(destination, moment) === null ? 1 : 2);
  return (epochs.length === 0 ? [NEVER_ROTATED] : epochs).map((epoch) =>
    secretOf(master, application, destination, epoch),
  );
};

/** A secret as Standard Webhooks' receivers configure it. */
export const secretText = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString("base64")}`;

/** HMAC-SHA256 (hex) under a key of the application. Stands for a name that must not be stored: an erased account's. */
export const keyedHash = (master: Uint8Array, application: ApplicationId, text: string): string =>
  createHmac("sha256", derivedKey(master, ["keyed-hash", application]))
    .update(text)
    .digest("hex");
