import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import {
  MessageError,
  signMessage,
  verifyMessage,
  type Message,
  type MessageHeaders,
} from "../../client/source/index.ts";
import { aChange } from "./stub-service.ts";

const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;
const SECRET = newSecret();
const NOW = Date.UTC(2026, 5, 15, 12, 0, 0, 250);

const MESSAGE: Message = {
  identifier: "msg_0198c0de",
  type: "account.entitlements_changed",
  timestamp: "2026-06-15T11:59:59.999Z",
  data: aChange({ applicationAccountIdentifier: "üser 😀", version: 7 }),
};
const { identifier, ...content } = MESSAGE;
const BODY = JSON.stringify(content);

/** Signed by the specification's own library. */
const signedByLibrary = (secret = SECRET, moment = NOW, body = BODY): Record<string, string> => ({
  "webhook-id": identifier,
  "webhook-timestamp": String(Math.floor(moment / 1000)),
  "webhook-signature": new Webhook(secret).sign(identifier, new Date(moment), body),
});

interface Given {
  readonly body?: string | Uint8Array;
  readonly secrets?: string | string[];
}
const verify = (headers: MessageHeaders, { body = BODY, secrets = SECRET }: Given = {}) =>
  verifyMessage(body, headers, secrets, { now: NOW });

const withHeader = (name: string, value: string | undefined) => ({ ...signedByLibrary(), [name]: value });
const withSignature = (value: string) => withHeader("webhook-signature", value);
const signatureOf = (signed: Record<string, string>): string => signed["webhook-signature"] ?? "";

const faultOf = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof MessageError ? error.fault : error;
  }
};

describe("what the specification's own library signs", () => {
  const upperCase = Object.entries(signedByLibrary()).map(([name, value]) => [name.toUpperCase(), value]);
  const signatures = [signatureOf(signedByLibrary(newSecret())), "v1a,abc", signatureOf(signedByLibrary())];
  test.each<[string, MessageHeaders, Given?]>([
    ["a text", signedByLibrary()],
    ["bytes", signedByLibrary(), { body: Buffer.from(BODY) }],
    ["headers of fetch", new Headers(signedByLibrary())],
    ["names of headers in any case", Object.fromEntries(upperCase)],
    ["a secret without its prefix", signedByLibrary(), { secrets: SECRET.slice("whsec_".length) }],
    ["the second of two secrets", signedByLibrary(), { secrets: [newSecret(), SECRET] }],
    ["the second of two signatures", withSignature(signatures.join(" "))],
    ["an age of five minutes", signedByLibrary(SECRET, NOW - 300_000)],
    ["a clock five minutes ahead", signedByLibrary(SECRET, NOW + 300_000)],
  ])("is verified with %s, and is the message", (_, headers, given = {}) => {
    expect(verify(headers, given)).toEqual(MESSAGE);
  });
});

test("what this client signs is verified by the specification's own library", () => {
  const now = Date.now();
  const { headers, body } = signMessage(MESSAGE, SECRET, { now });
  expect(new Webhook(SECRET).verify(body, { ...headers })).toEqual(content);
  expect(verifyMessage(body, headers, SECRET, { now })).toEqual(MESSAGE);
});

describe("a message is refused", () => {
  const nextSecond = String(Math.floor(NOW / 1000) + 1);
  const signature = new Webhook(SECRET).sign("msg_1.2", new Date(NOW), BODY);
  const dotted = { ...withSignature(signature), "webhook-id": "msg_1.2" };
  test.each<[string, fault: string, headers: MessageHeaders, body?: string]>([
    ["of another secret", "signature", signedByLibrary(newSecret())],
    ["whose body has changed", "signature", signedByLibrary(), BODY.replace("7", "8")],
    ["under another id", "signature", withHeader("webhook-id", "msg_2")],
    ["of another second", "signature", withHeader("webhook-timestamp", nextSecond)],
    ["older than five minutes", "timestamp", signedByLibrary(SECRET, NOW - 301_000)],
    ["more than five minutes ahead", "timestamp", signedByLibrary(SECRET, NOW + 301_000)],
    ["without an id", "headers", withHeader("webhook-id", undefined)],
    ["with a dot in its id, though it is signed", "headers", dotted],
    ["without a time", "headers", withHeader("webhook-timestamp", undefined)],
    ["with a time that is none", "headers", withHeader("webhook-timestamp", "1e9")],
    ["without a signature", "headers", withHeader("webhook-signature", undefined)],
    ["with an empty signature", "headers", withSignature("")],
    ["with a signature of no length", "signature", withSignature("v1,")],
    [
      "with a signature of another version alone",
      "signature",
      withSignature(signatureOf(signedByLibrary()).replace("v1,", "v2,")),
    ],
    ["that is signed and no JSON", "body", signedByLibrary(SECRET, NOW, "{"), "{"],
    ["that is signed and null", "body", signedByLibrary(SECRET, NOW, "null"), "null"],
    ["that is signed and no message", "body", signedByLibrary(SECRET, NOW, "{}"), "{}"],
  ])("%s", (_, fault, headers, body = BODY) => {
    expect(faultOf(() => verify(headers, { body }))).toBe(fault);
  });
});

describe("an invalid secret is refused, as everybody could sign with it", () => {
  const signed = `${identifier}.${Math.floor(NOW / 1000)}.${BODY}`;
  const emptyKey = withSignature(`v1,${createHmac("sha256", "").update(signed).digest("base64")}`);
  test.each([
    ["an empty text", ""],
    ["the prefix alone", "whsec_"],
    ["undefined as a text", "undefined"],
    ["a short one", `whsec_${randomBytes(23).toString("base64")}`],
    ["one with a stray character", `${SECRET}\n`],
    ["none at all", []],
  ])("%s", (_, secrets) => {
    expect(() => verify(emptyKey, { secrets })).toThrow(TypeError);
  });
});

test("a body that was parsed already is refused with a sentence", () => {
  expect(() => Reflect.apply(verifyMessage, null, [content, signedByLibrary(), SECRET])).toThrow(
    "as it was received",
  );
});

test.each([
  ["another secret", newSecret()],
  ["no secret", "whsec_c2hvcnQ="],
])("the error of %s shows neither the secret nor the signature", (_, secret) => {
  const headers = signedByLibrary();
  let shown = "";
  try {
    verify(headers, { secrets: secret });
  } catch (error) {
    shown = error instanceof Error ? `${error.stack}` : "";
  }
  expect(shown).toContain("Error");
  expect(shown).not.toContain(secret.slice("whsec_".length));
  expect(shown).not.toContain(headers["webhook-signature"]);
});
