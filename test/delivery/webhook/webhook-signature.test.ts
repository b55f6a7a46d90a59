import { Webhook } from "standardwebhooks";
import type { Message } from "../../../lib/delivery/message.ts";
import { secretText } from "../../../lib/delivery/webhook-secret.ts";
import { signedWebhook } from "../../../lib/delivery/webhook.ts";

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const MESSAGE: Message = {
  identifier: "msg_0198c0de",
  type: "account.entitlements_changed",
  timestamp: Date.UTC(2026, 0, 15, 12, 0, 0, 7),
  data: { applicationAccountIdentifier: "zoë · 1", version: 7, changed: ["premium"] },
};

/** The specification's library accepts signatures of the last five minutes. */
const now = Date.now();

test("the body is type, timestamp with milliseconds, and data", () => {
  expect(signedWebhook(MESSAGE, [NEW], now).text).toBe(
    '{"type":"account.entitlements_changed","timestamp":"2026-01-15T12:00:00.007Z",' +
      '"data":{"applicationAccountIdentifier":"zoë · 1","version":7,"changed":["premium"]}}',
  );
});

test("during a rotation the message verifies with each of two secrets", () => {
  const { text, headers } = signedWebhook(MESSAGE, [OLD, NEW], now);
  const verified = (secret: Uint8Array) => new Webhook(secretText(secret)).verify(text, { ...headers });
  expect(headers["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/=]+ v1,[A-Za-z0-9+/=]+$/);
  expect(verified(OLD)).toEqual(verified(NEW));
  expect(() => verified(Buffer.alloc(32, 3))).toThrow("No matching signature found");
});

test.each(["", "msg.1", "msg 1", "msg\r\nx: y", "zoë"])("the identifier %j is refused", (identifier) => {
  expect(() => signedWebhook({ ...MESSAGE, identifier }, [NEW], now)).toThrow(TypeError);
});

test("a message without a secret is refused", () => {
  expect(() => signedWebhook(MESSAGE, [], now)).toThrow("A webhook needs a secret that signs it.");
});
