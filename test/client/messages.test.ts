import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import {
  MessageError,
  signMessage,
  verifyMessage,
  type Message,
  type MessageHeaders,
} from "../../client/source/index.ts";

const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;
const SECRET = newSecret();
const NOW = Date.UTC(2026, 5, 15, 12, 0, 0, 250);

const MESSAGE: Message = {
  identifier: "msg_0198c0de",
  type: "account.entitlements_changed",
  timestamp: "2026-06-15T11:59:59.999Z",
  data: {
    applicationIdentifier: "0198c0de-0000-7000-8000-000000000001",
    applicationAccountIdentifier: "üser 😀",
    version: 7,
    changed: ["premium"],
    customerIdentifiers: [],
    entitlements: [],
  },
};
const { identifier, ...content } = MESSAGE;
const BODY = JSON.stringify(content);

/** Signed by the specification's own library. */
const signedByLibrary = (secret = SECRET, moment = NOW, body = BODY): Record<string, string> => ({
  "webhook-id": identifier,
  "webhook-timestamp": String(Math.floor(moment / 1000)),
  "webhook-signature": new Webhook(secret).sign(identifier, new Date(moment), body),
});

const verify = (
  headers: MessageHeaders,
  body: string | Uint8Array = BODY,
  secrets: string | string[] = SECRET,
) => verifyMessage(body, headers, secrets, { now: NOW });

const faultOf = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof MessageError ? error.fault : error;
  }
};

describe("what the specification's own library signs", () => {
  test("is verified, and is the message", () => {
    expect(verify(signedByLibrary())).toEqual(MESSAGE);
  });
  test.each([
    ["bytes", signedByLibrary(), Buffer.from(BODY), SECRET],
    ["headers of fetch", new Headers(signedByLibrary()), BODY, SECRET],
    [
      "names of headers in any case",
      Object.fromEntries(
        Object.entries(signedByLibrary()).map(([name, value]) => [name.toUpperCase(), value]),
      ),
      BODY,
      SECRET,
    ],
    ["a secret without its prefix", signedByLibrary(), BODY, SECRET.slice("whsec_".length)],
    ["the second of two secrets", signedByLibrary(), BODY, [newSecret(), SECRET]],
    [
      "the second of two signatures",
      {
        ...signedByLibrary(),
        "webhook-signature": `${signedByLibrary(newSecret())["webhook-signature"]} v1a,abc ${signedByLibrary()["webhook-signature"]}`,
      },
      BODY,
      SECRET,
    ],
    ["an age of five minutes", signedByLibrary(SECRET, NOW - 300_000), BODY, SECRET],
    ["a clock five minutes ahead", signedByLibrary(SECRET, NOW + 300_000), BODY, SECRET],
  ])("is verified with %s", (_, headers, body, secrets) => {
    expect(verify(headers, body, secrets)).toEqual(MESSAGE);
  });
});

test("what this client signs is verified by the specification's own library", () => {
  const now = Date.now();
  const { headers, body } = signMessage(MESSAGE, SECRET, { now });
  expect(new Webhook(SECRET).verify(body, { ...headers })).toEqual(content);
  expect(verifyMessage(body, headers, SECRET, { now })).toEqual(MESSAGE);
});

describe("a message is refused", () => {
  const without = (name: string) => ({ ...signedByLibrary(), [name]: undefined });
  const withHeader = (name: string, value: string) => ({ ...signedByLibrary(), [name]: value });
  test.each<[string, MessageHeaders, string, string]>([
    ["of another secret", signedByLibrary(newSecret()), BODY, "signature"],
    ["whose body has changed", signedByLibrary(), BODY.replace("7", "8"), "signature"],
    ["under another id", withHeader("webhook-id", "msg_2"), BODY, "signature"],
    [
      "of another second",
      withHeader("webhook-timestamp", String(Math.floor(NOW / 1000) + 1)),
      BODY,
      "signature",
    ],
    ["older than five minutes", signedByLibrary(SECRET, NOW - 301_000), BODY, "timestamp"],
    ["more than five minutes ahead", signedByLibrary(SECRET, NOW + 301_000), BODY, "timestamp"],
    ["without an id", without("webhook-id"), BODY, "headers"],
    [
      "with a dot in its id, though it is signed",
      {
        ...signedByLibrary(),
        "webhook-id": "msg_1.2",
        "webhook-signature": new Webhook(SECRET).sign("msg_1.2", new Date(NOW), BODY),
      },
      BODY,
      "headers",
    ],
    ["without a time", without("webhook-timestamp"), BODY, "headers"],
    ["with a time that is none", withHeader("webhook-timestamp", "1e9"), BODY, "headers"],
    ["without a signature", without("webhook-signature"), BODY, "headers"],
    ["with an empty signature", withHeader("webhook-signature", ""), BODY, "headers"],
    ["with a signature of no length", withHeader("webhook-signature", "v1,"), BODY, "signature"],
    [
      "with a signature of another version alone",
      withHeader("webhook-signature", signedByLibrary()["webhook-signature"]?.replace("v1,", "v2,") ?? ""),
      BODY,
      "signature",
    ],
    ...["{", "null", "{}"].map((body): [string, MessageHeaders, string, string] => [
      `that is signed and no message: ${body}`,
      signedByLibrary(SECRET, NOW, body),
      body,
      "body",
    ]),
  ])("%s", (_, headers, body, fault) => {
    expect(faultOf(() => verify(headers, body))).toBe(fault);
  });
});

describe("an invalid secret is refused, as everybody could sign with it", () => {
  const emptyKey = (): Record<string, string> => ({
    ...signedByLibrary(),
    "webhook-signature": `v1,${createHmac("sha256", "")
      .update(`${identifier}.${Math.floor(NOW / 1000)}.${BODY}`)
      .digest("base64")}`,
  });
  test.each([
    ["an empty text", ""],
    ["the prefix alone", "whsec_"],
    ["undefined as a text", "undefined"],
    ["a short one", `whsec_${randomBytes(23).toString("base64")}`],
    ["one with a stray character", `${SECRET}\n`],
    ["none at all", []],
  ])("%s", (_, secrets) => {
    expect(() => verify(emptyKey(), BODY, secrets)).toThrow(TypeError);
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
    verify(headers, BODY, secret);
  } catch (error) {
    shown = error instanceof Error ? `${error.stack}` : "";
  }
  expect(shown).toContain("Error");
  expect(shown).not.toContain(secret.slice("whsec_".length));
  expect(shown).not.toContain(headers["webhook-signature"]);
});
