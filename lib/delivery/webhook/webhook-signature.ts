import { createHmac } from "node:crypto";
import { isoTime, type Instant } from "../../entitlements/time.ts";
import type { Message } from "../message.ts";
import type { Content } from "./post.ts";

/** Visible ASCII without the dot, which separates the signed parts. */
const IDENTIFIER = /^[!-\-/-~]+$/;

/**
 * A message as a webhook, signed at the moment of an attempt, once with each secret.
 *
 * @throws TypeError if the message's identifier is not visible ASCII without a dot, or there is no secret
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export const signedWebhook = (
  { identifier, type, timestamp, data }: Message,
  secrets: readonly Uint8Array[],
  moment: Instant,
): Content => {
  if (!IDENTIFIER.test(identifier))
    throw new TypeError("A message's identifier must be visible ASCII without a dot.");
  if (secrets.length === 0) throw new TypeError("A webhook needs a secret that signs it.");
  const text = JSON.stringify({ type, timestamp: isoTime(timestamp), data });
  const signedAt = String(Math.floor(moment / 1000));
  const signed = `${identifier}.${signedAt}.${text}`;
  const signatures = secrets.map((secret) => createHmac("sha256", secret).update(signed).digest("base64"));
  return {
    text,
    headers: {
      "content-type": "application/json",
      "webhook-id": identifier,
      "webhook-timestamp": signedAt,
      "webhook-signature": signatures.map((signature) => `v1,${signature}`).join(" "),
    },
  };
};
