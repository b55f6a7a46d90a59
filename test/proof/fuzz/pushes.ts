import { createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { bearer, JSON_TYPE, post, type Attack, type Make, type Target } from "./attack.ts";
import type { Choices } from "./choices.ts";
import { hostileText, hostileValue, json, mutateText } from "./json.ts";

/** Attacks on Google's pushes. Their tokens have the time of the run and a key of its own, so only these differ. */

const YEAR = 365 * 86_400;
const HOUR = 3_600;

const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

const encoded = (value: unknown): string => Buffer.from(json(value)).toString("base64url");

const seconds = (): number => Math.floor(Date.now() / 1000);

/** The claims of a genuine token; a claim of undefined is left out. */
const claimsOf = ({ push }: Target, changes: object = {}): object => ({
  iss: "https://accounts.google.com",
  aud: push.audience,
  azp: "113774264463038321964",
  sub: "113774264463038321964",
  email: push.serviceAccount,
  email_verified: true,
  iat: seconds(),
  exp: seconds() + HOUR,
  ...changes,
});

const headerOf = ({ push }: Target, changes: object = {}): object => ({
  alg: "RS256",
  typ: "JWT",
  kid: push.keyIdentifier,
  ...changes,
});

const signed = (header: object, claims: object, key: KeyObject): string => {
  const text = `${encoded(header)}.${encoded(claims)}`;
  return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
};

const genuine = (target: Target): string => signed(headerOf(target), claimsOf(target), target.push.key);

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const subscriptionOf = (target: Target, changes: object = {}): object => ({
  version: "1.0",
  packageName: target.packageName,
  eventTimeMillis: "1767225600000",
  subscriptionNotification: {
    version: "1.0",
    notificationType: 2,
    purchaseToken: target.purchaseToken,
  },
  ...changes,
});

const envelope = (data: unknown): object => ({
  message: { attributes: {}, data, messageId: "1", publishTime: "2026-01-01T00:00:00Z" },
  subscription: "projects/trails/subscriptions/play-push",
});

/** A push of a known purchase, as Google sends it. */
export const genuinePush = (target: Target): { readonly body: string; readonly authorization: string } => ({
  body: json(envelope(base64(json(subscriptionOf(target))))),
  authorization: bearer(genuine(target))[1],
});

const pushed = (
  target: Target,
  body: Buffer | string,
  authorization: string | null,
  more: Pick<Attack, "note"> & Partial<Attack>,
): Attack => ({
  ...post(target, "receiveAndroidStoreNotification", body, more),
  headers: [JSON_TYPE, ...(authorization === null ? [] : ([["Authorization", authorization]] as const))],
});

/** Another letter in place of one: a change of the last one of a signature might decode to the same bytes. */
const withAnotherLetter = (text: string, choices: Choices): string => {
  const at = choices.number(text.length - 1);
  const letters = [..."ABCDabcd0189"].filter((letter) => letter !== text[at]);
  return text.slice(0, at) + choices.pick(letters) + text.slice(at + 1);
};

const unsigned = (header: object, claims: object, signature: string): string =>
  `${encoded(header)}.${encoded(claims)}.${signature}`;

/** Claims of which each is wrong, and the token otherwise Google's. */
const WRONG_CLAIMS: readonly (readonly [note: string, changes: (target: Target) => object])[] = [
  ["a year old", () => ({ iat: seconds() - YEAR, exp: seconds() - YEAR + HOUR })],
  ["without an expiry", () => ({ exp: undefined })],
  ["an expiry that is text", () => ({ exp: String(seconds() + HOUR) })],
  ["not valid yet", () => ({ nbf: seconds() + HOUR })],
  ["another issuer", () => ({ iss: "https://accounts.google.com.example.com" })],
  ["without an issuer", () => ({ iss: undefined })],
  ["another audience", () => ({ aud: "https://another.example.com" })],
  ["several audiences", ({ push }) => ({ aud: [push.audience, "https://another.example.com"] })],
  ["without an audience", () => ({ aud: undefined })],
  ["another service account", () => ({ email: "stranger@stranger.iam.gserviceaccount.com" })],
  ["another tenant's service account", ({ push }) => ({ email: push.other.serviceAccount })],
  ["a service account in capitals", ({ push }) => ({ email: push.serviceAccount.toUpperCase() })],
  ["several service accounts", ({ push }) => ({ email: [push.serviceAccount] })],
  ["without a service account", () => ({ email: undefined })],
  ["an address that is not verified", () => ({ email_verified: false })],
  ["an address that is verified by text", () => ({ email_verified: "true" })],
  ["an address of which nothing is said", () => ({ email_verified: undefined })],
];

const wrongToken = (
  target: Target,
  choices: Choices,
): readonly [note: string, authorization: string | null] => {
  const { push } = target;
  const claims = claimsOf(target);
  const token = genuine(target);
  const [head = "", body = "", signature = ""] = token.split(".");
  const ofHeader = (changes: object, key = push.key): string =>
    `Bearer ${signed(headerOf(target, changes), claims, key)}`;
  return choices.pick<readonly [string, string | null]>([
    ["by a stranger", ofHeader({}, stranger)],
    ["by a stranger's key within", ofHeader({ jwk: stranger.export({ format: "jwk" }) }, stranger)],
    ["by a stranger's address", ofHeader({ jku: "https://stranger.example/keys" }, stranger)],
    ["of an unknown key", ofHeader({ kid: choices.text("0123456789abcdef", 40) })],
    ["of no algorithm", `Bearer ${unsigned(headerOf(target, { alg: "none" }), claims, "")}`],
    [
      "of another algorithm",
      ofHeader({ alg: choices.pick(["RS512", "PS256", "ES256", "HS256", "", "__proto__"]) }),
    ],
    [
      "signed with the key's name",
      `Bearer ${unsigned(
        headerOf(target, { alg: "HS256" }),
        claims,
        createHmac("sha256", push.keyIdentifier).update(`${head}.${body}`).digest("base64url"),
      )}`,
    ],
    ["a critical header", ofHeader({ crit: ["exp"] })],
    ["another letter of its header", `Bearer ${withAnotherLetter(head, choices)}.${body}.${signature}`],
    ["another letter of its claims", `Bearer ${head}.${withAnotherLetter(body, choices)}.${signature}`],
    ["another letter of its signature", `Bearer ${head}.${body}.${withAnotherLetter(signature, choices)}`],
    ["cut short", `Bearer ${token.slice(0, choices.number(token.length - 1))}`],
    ["two in one", `Bearer ${token}, Bearer ${token}`],
    ["another scheme", `${choices.pick(["Basic", "Digest", "Token"])} ${token}`],
    ["long", `Bearer ${"a".repeat(choices.pick([100, 1_000, 7_000]))}`],
    ["claims that are not JSON", `Bearer ${head}.${Buffer.from("{").toString("base64url")}.${signature}`],
    [
      "claims that nest",
      `Bearer ${head}.${Buffer.from(`{"aud":${"[".repeat(4_000)}`).toString("base64url")}.${signature}`,
    ],
    ["an API key", `Bearer ${target.key}`],
    ["none", null],
  ]);
};

/** A push of a known purchase whose token is wrong in one way. */
export const pushToken: Make = (target, choices) => {
  const { body } = genuinePush(target);
  if (choices.percent(50)) {
    const [note, changes] = choices.pick(WRONG_CLAIMS);
    const token = signed(headerOf(target), claimsOf(target, changes(target)), target.push.key);
    return pushed(target, body, `Bearer ${token}`, { note, forged: true });
  }
  const [note, authorization] = wrongToken(target, choices);
  return pushed(target, body, authorization, { note, forged: true });
};

/** Data as text of JSON in base64, and whether it must be refused. */
const hostileData = (
  target: Target,
  choices: Choices,
): readonly [note: string, data: string, forged?: boolean] => {
  const text = json(subscriptionOf(target));
  const members = Object.keys(subscriptionOf(target));
  const about = (subscriptionNotification: unknown): string =>
    json(subscriptionOf(target, { subscriptionNotification }));
  const marker = "hostile value";
  const replaced = (whole: string, value: string): string => whole.replace(json(marker), () => value);
  return choices.pick<readonly [string, string, boolean?]>([
    ["genuine", base64(text)],
    [
      "another tenant's package",
      base64(json(subscriptionOf(target, { packageName: target.push.other.packageName }))),
      true,
    ],
    ["an unknown package", base64(json(subscriptionOf(target, { packageName: "com.example.nobody" }))), true],
    [
      "a hostile member",
      base64(
        replaced(json(subscriptionOf(target, { [choices.pick(members)]: marker })), hostileValue(choices)),
      ),
    ],
    [
      "a hostile member of its purchase",
      base64(
        replaced(
          about({
            notificationType: 2,
            purchaseToken: target.purchaseToken,
            [choices.pick(["notificationType", "purchaseToken", "version", "__proto__"])]: marker,
          }),
          hostileValue(choices),
        ),
      ),
    ],
    [
      "a hostile purchase token",
      base64(replaced(about({ notificationType: 2, purchaseToken: marker }), hostileText(choices))),
    ],
    [
      "a purchase token that is a path",
      base64(
        about({
          notificationType: 2,
          purchaseToken: choices.pick([
            ".",
            "..",
            "../x",
            "a/b",
            "a?b=c",
            "a:acknowledge",
            "%2e%2e",
            "a\u0000b",
          ]),
        }),
      ),
    ],
    [
      "another kind of purchase",
      base64(
        json(
          subscriptionOf(target, {
            subscriptionNotification: null,
            oneTimeProductNotification: {
              notificationType: 1,
              purchaseToken: target.purchaseToken,
              sku: "maps",
            },
          }),
        ),
      ),
    ],
    [
      "a void of a kind that is new",
      base64(
        json(
          subscriptionOf(target, {
            subscriptionNotification: null,
            voidedPurchaseNotification: {
              productType: choices.number(9),
              purchaseToken: target.purchaseToken,
            },
          }),
        ),
      ),
    ],
    ["nesting", base64(`{"packageName":${json(target.packageName)},"x":${"[".repeat(40_000)}`)],
    [
      "nesting that ends",
      base64(`{"packageName":${json(target.packageName)},"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`),
    ],
    [
      "nesting in place of a purchase",
      base64(
        `{"packageName":${json(target.packageName)},"subscriptionNotification":${'{"a":'.repeat(6_000)}0${"}".repeat(6_000)}}`,
      ),
    ],
    ["no base64", choices.text("!§$%&/()=?é😀 \u0000", 1 + choices.number(400))],
    ["base64 of a URL", Buffer.from(text).toString("base64url")],
    ["base64 cut short", base64(text).slice(0, choices.number(200))],
    ["base64 of base64", base64(base64(text))],
    ["bytes that are no UTF-8", choices.bytes(1 + choices.number(400)).toString("base64")],
    ["its text", mutateText(text, choices).toString("base64")],
    ["nothing", ""],
  ]);
};

/** A push of Google's with hostile data. */
export const pushData: Make = (target, choices) => {
  const [note, data, forged = false] = hostileData(target, choices);
  const attack = pushed(target, json(envelope(data)), genuinePush(target).authorization, { note, forged });
  return note === "genuine" ? { ...attack, reads: "known" } : attack;
};

/** A push of Google's with a hostile body. */
export const pushBody: Make = (target, choices) => {
  const { body: text, authorization } = genuinePush(target);
  const [note, body] = choices.pick<readonly [string, Buffer | string]>([
    ["64 KiB of nesting", `{"message":${"[".repeat(65_000)}`],
    ["64 KiB of data", json(envelope("A".repeat(65_000)))],
    ["64 KiB of commas", `[${",".repeat(65_000)}`],
    ["a byte too many", text.replace(/\}$/, `,"x":"${"x".repeat(65_536)}"}`)],
    ["data of another type", text.replace(/"data":"[^"]*"/, () => `"data":${hostileValue(choices)}`)],
    ["a hostile message", json({ message: "hostile" }).replace('"hostile"', () => hostileValue(choices))],
    ["its text", mutateText(text, choices)],
  ]);
  return pushed(target, body, authorization, { note });
};
