import { deflateSync, gzipSync } from "node:zlib";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { bearer, JSON_TYPE, post, requestTo, type Attack, type Make, type Target } from "./attack.ts";
import type { Dice } from "../dice.ts";
import { hostileText, json, mutateMembers, mutateText, objectOf, type Members } from "./json.ts";
import * as jws from "./jws.ts";
import * as notifications from "./notifications.ts";
import { goodMembers, POSTING } from "./payloads.ts";
import { pushData, pushToken } from "./pushes.ts";

interface Changed {
  readonly note: string;
  readonly body: Buffer | string;
  /** Headers that come to the request's own. */
  readonly more?: Attack["headers"];
}

/** A request that the endpoint answers with 200, but for its body or further headers. */
const changing =
  (change: (members: Members, dice: Dice) => Changed): Make =>
  (target, dice, identifier) => {
    const endpoint = dice.pick(POSTING);
    const { note, body, more = [] } = change(goodMembers(target, endpoint, identifier), dice);
    const request = post(target, endpoint, body, { note });
    return { ...request, headers: [...request.headers, ...more] };
  };

const bodyMembers = changing((good, dice) => {
  const once = mutateMembers(good, dice);
  const members = dice.chance(0.5) && once.length > 0 ? mutateMembers(once, dice) : once;
  return { note: "members", body: objectOf(members) };
});

const bodyText = changing((good, dice) => ({ note: "text", body: mutateText(objectOf(good), dice) }));

const MEGABYTE = 1024 * 1024;

const bodySize = changing((good, dice) => {
  const size = dice.pick([100_000, MEGABYTE, 5.8 * MEGABYTE, 7 * MEGABYTE, 10.5 * MEGABYTE]);
  const many = Array.from({ length: 1_000 }, () => "x".repeat(size / 1_000));
  const filled = dice.pick<readonly [string, string]>([
    ["padding", json("x".repeat(size))],
    ["applicationAccountIdentifier", json("x".repeat(size))],
    ["signedTransactions", json(many)],
    ["purchaseToken", json("é".repeat(size / 2))],
    ["padding", `[${"0,".repeat(size / 2)}0]`],
  ]);
  return { note: `${size} bytes`, body: objectOf([...good, filled]) };
});

const bodyCoding = changing((good, dice) => {
  const text = Buffer.from(objectOf(good));
  const zipped = gzipSync(text);
  const [note, coding, body] = dice.pick<readonly [string, string, Buffer]>([
    ["gzip", "gzip", zipped],
    ["deflate", "deflate", deflateSync(text)],
    ["gzip that is text", "gzip", text],
    ["gzip cut short", "gzip", zipped.subarray(0, dice.number(zipped.length))],
    ["gzip with bytes behind it", "gzip", Buffer.concat([zipped, dice.bytes(9)])],
    ["gzip within gzip", "gzip", gzipSync(zipped)],
    ["text that is gzip", "identity", zipped],
    ["a gzip bomb", "gzip", gzipSync(Buffer.alloc(dice.pick([9, 11, 60]) * MEGABYTE, 0x20))],
    ["brotli", "br", text],
    ["two codings", "gzip, gzip", gzipSync(zipped)],
    ["a coding of Object", dice.pick(["constructor", "__proto__", "toString"]), text],
  ]);
  return { note, body, more: [["Content-Encoding", coding]] };
});

const SEGMENTS =
  "known %2e %2e%2e . .. %2F %5C %00 %0a %C2%85 % %2 %zz %c0%80 %ed%a0%80 %FF %252F %F0%9F%98%80 + ;a=b a:b {applicationAccountIdentifier} $context.path __proto__ ios-store entitlements APPLICATION%23x".split(
    " ",
  );

const segment = (dice: Dice): string => {
  const bytes = [...dice.bytes(1 + dice.number(300))];
  return dice.pick([
    dice.text("abcXYZ019-._~!$&'()*+,;=:@", 1 + dice.number(300)),
    bytes.map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
    encodeURIComponent(dice.pick(["é", "😀", "x"]).repeat(dice.pick([1, 255, 256, 257]))),
    Array.from({ length: 1 + dice.number(3) }, () => dice.pick(SEGMENTS)).join(""),
  ]);
};

const path: Make = (target, dice) => {
  const within = segment(dice);
  const text = dice.pick([
    `/v1/customers/${within}/entitlements`,
    `/v1/customers/${within}/entitlements`,
    `/v1/customers/${within}/entitlements`,
    `/v1/customers/${within}`,
    `/v1/customers/${within}//entitlements/`,
    `/v1/customers/${within}/${segment(dice)}/entitlements`,
    `//v1/customers/${within}/entitlements`,
    `/${within}`,
  ]);
  const query = dice.pick(["", "", "?a=%zz", `?${segment(dice)}`, "?__proto__=1"]);
  return requestTo("readAccountEntitlements", {
    note: "path",
    method: dice.chance(0.8) ? "GET" : dice.pick(["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]),
    path: text + query,
    headers: dice.chance(0.9) ? [bearer(target.key)] : [],
  });
};

const apiKey: Make = (target, dice) => {
  const { key } = target;
  const at = dice.number(key.length);
  const character = dice.pick([..."0189abcfgz_-. "].filter((one) => one !== key[at]));
  const mutated = key.slice(0, at) + character + key.slice(at + 1);
  const [note, authorization] = dice.pick<readonly [string, string]>([
    ["a character changed", `Bearer ${mutated}`],
    ["cut short", `Bearer ${key.slice(0, at)}`],
    ["longer", `Bearer ${key}${dice.text("0123456789abcdef", 1 + dice.number(8))}`],
    ["in capitals", `Bearer ${key.toUpperCase()}`],
    ["another scheme", `${dice.pick(["Basic", "Digest", "bearer:", "Token"])} ${key}`],
    ["random", `Bearer cek_${dice.text("0123456789abcdef", 16)}_${dice.text("0123456789abcdef", 72)}`],
    ["long", `Bearer ${"a".repeat(dice.pick([100, 1_000, 7_000]))}`],
    ["of Latin-1", `Bearer ${dice.text("éÿ\u00a0", 80)}`],
    ["a JWT", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."],
    ["of Object", `Bearer ${dice.pick(["__proto__", "constructor", "null", "undefined"])}`],
  ]);
  const endpoint = dice.pick([
    "linkAndroidStoreCustomer",
    "linkIosStoreCustomer",
    "readAccountEntitlements",
  ] as const);
  const { method, path: template } = endpoints[endpoint];
  return requestTo(endpoint, {
    note,
    path: template.replace(/\{\w+\}/, "known"),
    headers: [JSON_TYPE, ["Authorization", authorization]],
    body: method === "POST" ? Buffer.from("{}") : null,
    forged: true,
  });
};

const scope: Make = (target, dice, identifier) => {
  const endpoint = dice.pick(["linkAndroidStoreCustomer", "linkIosStoreCustomer"] as const);
  const body = objectOf(goodMembers(target, endpoint, identifier));
  return {
    ...post(target, endpoint, body, { note: "a key that only reads", forged: true }),
    headers: [JSON_TYPE, bearer(target.readOnlyKey)],
  };
};

const header = changing((good, dice) => {
  const long = "x".repeat(dice.pick([10, 1_000, 6_000]));
  const more = dice.pick<readonly [string, string]>([
    ["Content-Type", dice.pick(["", "text/plain", "application/json; charset=utf-16", "a/b; c", long])],
    ["Accept", dice.pick(["", "text/html", "*/*;q=0", long])],
    ["Accept-Encoding", dice.pick(["gzip", "deflate;q=1", "gzip;q=0", "*", ",,,;;=", long])],
    ["X-Forwarded-For", dice.pick(["127.0.0.1", "::1", "a, b", long])],
    ["X-HTTP-Method-Override", "DELETE"],
    ["Host", dice.pick(["", "a", "169.254.169.254", "a:b:c"])],
    ["__proto__", "1"],
    ["X-Amz-Security-Token", long],
    ["Authorization", "Bearer two"],
    ["Expect", "100-continue"],
    ["Transfer-Encoding", "chunked"],
  ]);
  return { note: "header", body: objectOf(good), more: [more] };
});

/** Purchase tokens, packages and products become part of the address of a call to the store. */
const androidFields: Make = (target, dice, identifier) => {
  const members = goodMembers(target, "linkAndroidStoreCustomer", identifier);
  const name = dice.pick(["purchaseToken", "purchaseToken", "packageName", "productIdentifier"]);
  const value = dice.pick([
    hostileText(dice),
    json(
      dice.pick(["../../x", "a/b", "a?b=c", "a#b", "a:acknowledge", "%2e%2e", "%252e", "a b", "a%", ".."]),
    ),
    json(dice.text("ab./%?#&:=+\\é😀 ", 1 + dice.number(dice.pick([10, 100, 4_096])))),
  ]);
  const changed = members.map(([known, before]) => [known, known === name ? value : before] as const);
  return post(target, "linkAndroidStoreCustomer", objectOf(changed), { note: name });
};

const ANSWER = {
  kind: "androidpublisher#subscriptionPurchaseV2",
  startTime: "2026-01-01T00:00:00.000Z",
  subscriptionState: "SUBSCRIPTION_STATE_ACTIVE",
  acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
  linkedPurchaseToken: "",
  externalAccountIdentifiers: { obfuscatedExternalAccountId: "obfuscated" },
  lineItems: [
    {
      productId: "premium",
      expiryTime: "2040-01-01T00:00:00.000Z",
      latestSuccessfulOrderId: "GPA.1",
      autoRenewingPlan: { autoRenewEnabled: true },
      offerDetails: { basePlanId: "monthly" },
    },
  ],
};

/** Answers that the store never gives, about a token of its own. */
const storeAnswer: Make = (target, dice, identifier) => {
  const purchaseToken = `token.${identifier}`;
  const hostile: unknown = JSON.parse(
    dice.pick([
      hostileText(dice),
      "null",
      "[]",
      "{}",
      "-1",
      '"9999-12-31T23:59:59Z"',
      '"2026-02-30T00:00:00Z"',
    ]),
  );
  let left = dice.number(16);
  const changed = JSON.stringify(ANSWER, (name, value: unknown) =>
    name !== "" && left-- === 0 ? hostile : value,
  );
  target.putAnswer(purchaseToken, JSON.parse(changed));
  const account = `account ${identifier}`;
  const body = json({
    packageName: target.packageName,
    purchaseToken,
    productKind: "subscription",
    applicationAccountIdentifier: account,
  });
  return post(target, "linkAndroidStoreCustomer", body, { note: "an answer of the store", reads: account });
};

/** Kinds of attack, each with its weight. */
const KINDS: readonly (readonly [kind: string, make: Make, weight: number])[] = [
  ["a body's members", bodyMembers, 140],
  ["a body's text", bodyText, 90],
  ["a body's size", bodySize, 8],
  ["a body's coding", bodyCoding, 42],
  ["a JWS's characters", jws.characters, 150],
  ["a JWS's header", jws.header, 100],
  ["a JWS's certificates", jws.certificate, 130],
  ["a JWS's payload", jws.payload, 110],
  ["a self-signed JWS", jws.selfSigned, 40],
  ["a path", path, 70],
  ["an API key", apiKey, 50],
  ["a scope", scope, 10],
  ["a header", header, 30],
  ["an Android request's fields", androidFields, 20],
  ["an answer of the Android store", storeAnswer, 10],
  ["a notification's envelope", notifications.envelope, 30],
  ["a forged notification", notifications.forgery, 30],
  ["a notification's body", notifications.body, 40],
  ["a push's token", pushToken, 40],
  ["a push's data", pushData, 40],
];

const TOTAL = KINDS.reduce((sum, [, , weight]) => sum + weight, 0);

export interface NamedAttack extends Attack {
  readonly kind: string;
}

/** The attack with this number. The store's identifiers are digits; each attack has its own. */
export const attackOf = (target: Target, dice: Dice, index: number): NamedAttack => {
  const identifier = `704${String(index).padStart(9, "0")}`;
  let at = dice.number(TOTAL);
  const [kind, make] = KINDS.find(([, , weight]) => (at -= weight) < 0) ?? ["a path", path];
  return { ...make(target, dice, identifier), kind };
};
