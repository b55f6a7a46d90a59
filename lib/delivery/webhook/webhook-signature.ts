import { createHmac } from "node:crypto";
import type { Instant } from "../../entitlements/time.ts";

/** Signed parts: the message's identifier and the exact text of the body. */
export interface SignedContent {
  readonly identifier: string;
  readonly text: string;
}

export interface WebhookHeaders {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/** Visible ASCII without the dot, which separates the signed parts. */
const IDENTIFIER = /^[!-\-/-~]+$/;

/**
 * Headers that sign a webhook at the moment of an attempt, one signature for each secret.
 *
 * @throws TypeError if the identifier is not visible ASCII without a dot, or there is no secret
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export const signedHeaders = (
  { identifier, text }: SignedContent,
  secrets: readonly Uint8Array[],
  moment: Instant,
): WebhookHeaders => {
  if (!IDENTIFIER.test(identifier))
    throw new TypeError("A message's identifier must be visible ASCII without a dot.");
  if (secrets.length === 0) throw new TypeError("A webhook needs a secret that signs it.");
  const timestamp = String(Math.floor(moment / 1000));
  const content = `${identifier}.${timestamp}.${text}`;
  return {
    "webhook-id": identifier,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets
      .map((secret) => `v1,${createHmac("sha256", secret).update(content).digest("base64")}`)
      .join(" "),
  };
};
