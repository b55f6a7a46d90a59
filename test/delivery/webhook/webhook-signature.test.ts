import { Webhook } from "standardwebhooks";
import { messageText, type Message } from "../../../lib/delivery/message.ts";
import { secretText } from "../../../lib/delivery/webhook-secret.ts";
import { signedHeaders } from "../../../lib/delivery/webhook/webhook-signature.ts";

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const MESSAGE: Message = {
  identifier: "msg_0198c0de",
  type: "account.entitlements_changed",
  timestamp: Date.UTC(2026, 0, 15, 12, 0, 0, 7),
  data: { applicationAccountIdentifier: "zoë · 1", version: 7, changed: ["premium"] },
};
const SIGNED = { identifier: MESSAGE.identifier, text: messageText(MESSAGE) };

/** The specification's library accepts signatures of the last five minutes. */
const now = Date.now();

const verified = (secret: Uint8Array, headers: object): unknown =>
  new Webhook(secretText(secret)).verify(SIGNED.text, { ...headers });

test("the body is type, timestamp with milliseconds, and data", () => {
  expect(messageText(MESSAGE)).toBe(
    '{"type":"account.entitlements_changed","timestamp":"2026-01-15T12:00:00.007Z",' +
      '"data":{"applicationAccountIdentifier":"zoë · 1","version":7,"changed":["premium"]}}',
  );
});

test("during a rotation the message verifies with each of two secrets", () => {
  const headers = signedHeaders(SIGNED, [OLD, NEW], now);
  expect(headers["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/=]+ v1,[A-Za-z0-9+/=]+$/);
  expect(verified(OLD, headers)).toEqual(verified(NEW, headers));
  expect(() => verified(Buffer.alloc(32, 3), headers)).toThrow("No matching signature found");
});

test.each(["", "msg.1", "msg 1", "msg\r\nx: y", "zoë"])("the identifier %j is refused", (identifier) => {
  expect(() => signedHeaders({ identifier, text: "{}" }, [NEW], now)).toThrow(TypeError);
});

test("a message without a secret is refused", () => {
  expect(() => signedHeaders(SIGNED, [], now)).toThrow("A webhook needs a secret that signs it.");
});
