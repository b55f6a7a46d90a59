import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { bearer, JSON_TYPE, post, type Attack, type Make, type Target } from "./attack.ts";
import type { Dice } from "../dice.ts";
import { hostileText, hostileValue, json, mutateText } from "./json.ts";

/** Attacks on Google's pushes. Their tokens have the time of the run and a key of its own, so only these differ. */

const HOUR = 3_600;
const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

const encoded = (value: unknown): string => Buffer.from(json(value)).toString("base64url");
const seconds = (): number => Math.floor(Date.now() / 1000);

/** A genuine token, but for these members; */
const tokenOf = (
  { push }: Target,
  claims: object = {},
  header: object = {},
  key: KeyObject = push.key,
): string => {
  const protectedHeader = { alg: "RS256", typ: "JWT", kid: push.keyIdentifier, ...header };
  const payload = {
    iss: "https://accounts.google.com",
    aud: push.audience,
    sub: "113774264463038321964",
    email: push.serviceAccount,
    email_verified: true,
    iat: seconds(),
    exp: seconds() + HOUR,
    ...claims,
  };
  const text = `${encoded(protectedHeader)}.${encoded(payload)}`;
  return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
};

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const ABOUT = "subscriptionNotification";

const dataOf = ({ packageName, purchaseToken }: Target, changes: object = {}): string =>
  json({
    version: "1.0",
    packageName,
    eventTimeMillis: "1767225600000",
    [ABOUT]: { version: "1.0", notificationType: 2, purchaseToken },
    ...changes,
  });

const envelope = (data: string): string =>
  json({
    message: { attributes: {}, data, messageId: "1", publishTime: "2026-01-01T00:00:00Z" },
    subscription: "projects/trails/subscriptions/play-push",
  });

/** A push of a known purchase, as Google sends it. */
export const genuinePush = (target: Target): { readonly body: string; readonly authorization: string } => ({
  body: envelope(base64(dataOf(target))),
  authorization: bearer(tokenOf(target))[1],
});

export const pushed = (
  target: Target,
  body: Buffer | string,
  authorization: string | null,
  more: Pick<Attack, "note"> & Partial<Attack>,
): Attack => ({
  ...post(target, "receiveAndroidStoreNotification", body, more),
  headers: [JSON_TYPE, ...(authorization === null ? [] : ([["Authorization", authorization]] as const))],
});

/** A token of Google's in which one claim is wrong. */
const wrongClaim = (target: Target, dice: Dice): string => {
  const { audience, serviceAccount, other } = target.push;
  const text = dice.text("abc./@:é", 20);
  const wrong = dice.pick<object>([
    { [dice.pick(["iss", "aud", "email"])]: dice.pick([null, text, [text]]) },
    { email_verified: dice.pick([null, false, "true"]) },
    { email: dice.pick([other.serviceAccount, serviceAccount.toUpperCase(), [serviceAccount]]) },
    { aud: [audience, "https://another.example.com"] },
    { exp: dice.pick([null, seconds() - HOUR, String(seconds() + HOUR)]) },
    { nbf: seconds() + HOUR },
  ]);
  return tokenOf(target, wrong);
};

/** A push of a known purchase whose token is wrong in one way. */
export const pushToken: Make = (target, dice) => {
  const token = tokenOf(target);
  const parts = token.split(".");
  const index = dice.number(3);
  const part = parts[index] ?? "";
  // A change of the last letter of a signature might decode to the same bytes.
  const at = dice.number(part.length - 1);
  const letter = dice.pick([..."ABCDabcd0189"].filter((one) => one !== part[at]));
  const ofHeader = (header: object, key?: KeyObject): string => tokenOf(target, {}, header, key);
  const [note, wrong] = dice.pick<readonly [string, string]>([
    ["a wrong claim", wrongClaim(target, dice)],
    ["a wrong claim", wrongClaim(target, dice)],
    ["by a stranger", ofHeader({}, stranger)],
    ["by a stranger's key within", ofHeader({ jwk: stranger.export({ format: "jwk" }) }, stranger)],
    ["by a stranger's address", ofHeader({ jku: "https://stranger.example/keys" }, stranger)],
    ["of an unknown key", ofHeader({ kid: dice.text("0123456789abcdef", 40) })],
    [
      "of another algorithm",
      ofHeader({ alg: dice.pick(["none", "RS512", "ES256", "HS256", "", "__proto__"]) }),
    ],
    ["a critical header", ofHeader({ crit: ["exp"] })],
    ["another letter", parts.with(index, part.slice(0, at) + letter + part.slice(at + 1)).join(".")],
    ["cut short", token.slice(0, dice.number(token.length - 1))],
    [
      "claims that nest",
      parts.with(1, Buffer.from(`{"aud":${"[".repeat(4_000)}`).toString("base64url")).join("."),
    ],
    ["an API key", target.key],
  ]);
  const authorization = dice.chance(0.05) ? null : `Bearer ${wrong}`;
  return pushed(target, genuinePush(target).body, authorization, { note, forged: true });
};

/** Data as text of JSON in base64, and whether it must be refused. */
const hostileData = (target: Target, dice: Dice): readonly [note: string, data: string, forged?: boolean] => {
  const text = dataOf(target);
  const marker = "hostile value";
  const about = (member: string): object => ({
    [ABOUT]: { notificationType: 2, purchaseToken: target.purchaseToken, [member]: marker },
  });
  const hostile = (changes: object, value: string): string =>
    base64(dataOf(target, changes).replace(json(marker), () => value));
  const { purchaseToken } = target;
  const oneTime = { notificationType: 1, purchaseToken, sku: "maps" };
  const voided = { productType: dice.number(9), purchaseToken };
  return dice.pick<readonly [string, string, boolean?]>([
    ["genuine", base64(text)],
    [
      "another tenant's package",
      base64(dataOf(target, { packageName: target.push.other.packageName })),
      true,
    ],
    ["an unknown package", base64(dataOf(target, { packageName: "com.example.nobody" })), true],
    [
      "a hostile member",
      hostile(
        { [dice.pick(["version", "packageName", "eventTimeMillis", ABOUT])]: marker },
        hostileValue(dice),
      ),
    ],
    [
      "a hostile member of its purchase",
      hostile(about(dice.pick(["notificationType", "version"])), hostileValue(dice)),
    ],
    ["a hostile purchase token", hostile(about("purchaseToken"), hostileText(dice))],
    [
      "a purchase token that is a path",
      hostile(
        about("purchaseToken"),
        json(dice.pick(["..", "../x", "a/b", "a?b=c", "a:acknowledge", "%2e%2e"])),
      ),
    ],
    [
      "another kind of purchase",
      base64(dataOf(target, { [ABOUT]: null, oneTimeProductNotification: oneTime })),
    ],
    [
      "a void of a kind that is new",
      base64(dataOf(target, { [ABOUT]: null, voidedPurchaseNotification: voided })),
    ],
    ["nesting", base64(`{"packageName":${json(target.packageName)},"x":${"[".repeat(40_000)}`)],
    ["no base64", dice.text("!§$%&/()=?é😀 \u0000", 1 + dice.number(400))],
    ["base64 cut short", base64(text).slice(0, dice.number(200))],
    ["bytes that are no UTF-8", dice.bytes(1 + dice.number(400)).toString("base64")],
    ["its text", mutateText(text, dice).toString("base64")],
    ["nothing", ""],
  ]);
};

/** A push of Google's with hostile data. */
export const pushData: Make = (target, dice) => {
  const [note, data, forged = false] = hostileData(target, dice);
  const attack = pushed(target, envelope(data), genuinePush(target).authorization, { note, forged });
  return note === "genuine" ? { ...attack, reads: "known" } : attack;
};
