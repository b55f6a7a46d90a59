import { deflateSync, gzipSync } from "node:zlib";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { bearer, JSON_TYPE, post, type Attack, type Make, type Target } from "./attack.ts";
import type { Choices } from "./choices.ts";
import { hostileText, json, mutateMembers, mutateText, objectOf } from "./json.ts";
import * as jws from "./jws.ts";
import * as notifications from "./notifications.ts";
import { goodMembers, POSTING } from "./payloads.ts";
import { pushData, pushToken } from "./pushes.ts";

const bodyMembers: Make = (target, choices, identifier) => {
  const endpoint = choices.pick(POSTING);
  const once = mutateMembers(goodMembers(target, endpoint, identifier), choices);
  const members = choices.percent(50) && once.length > 0 ? mutateMembers(once, choices) : once;
  return post(target, endpoint, objectOf(members), { note: "members" });
};

const bodyText: Make = (target, choices, identifier) => {
  const endpoint = choices.pick(POSTING);
  const text = objectOf(goodMembers(target, endpoint, identifier));
  return post(target, endpoint, mutateText(text, choices), { note: "text" });
};

const MEGABYTE = 1024 * 1024;

const bodySize: Make = (target, choices, identifier) => {
  const endpoint = choices.pick(POSTING);
  const size = choices.pick([100_000, MEGABYTE, 5.8 * MEGABYTE, 7 * MEGABYTE, 10.5 * MEGABYTE]);
  const members = goodMembers(target, endpoint, identifier);
  const many = Array.from({ length: 1_000 }, () => "x".repeat(size / 1_000));
  const filled = choices.pick<readonly [string, string]>([
    ["padding", json("x".repeat(size))],
    ["applicationAccountIdentifier", json("x".repeat(size))],
    ["signedTransactions", json(many)],
    ["purchaseToken", json("é".repeat(size / 2))],
    ["padding", `[${"0,".repeat(size / 2)}0]`],
  ]);
  return post(target, endpoint, objectOf([...members, filled]), { note: `${size} bytes` });
};

const bodyCoding: Make = (target, choices, identifier) => {
  const endpoint = choices.pick(POSTING);
  const text = Buffer.from(objectOf(goodMembers(target, endpoint, identifier)));
  const zipped = gzipSync(text);
  const [note, coding, body] = choices.pick<readonly [string, string, Buffer]>([
    ["gzip", "gzip", zipped],
    ["deflate", "deflate", deflateSync(text)],
    ["gzip that is text", "gzip", text],
    ["gzip cut short", "gzip", zipped.subarray(0, choices.number(zipped.length))],
    ["gzip with bytes behind it", "gzip", Buffer.concat([zipped, choices.bytes(9)])],
    ["gzip within gzip", "gzip", gzipSync(zipped)],
    ["text that is gzip", "identity", zipped],
    ["a gzip bomb", "gzip", gzipSync(Buffer.alloc(choices.pick([9, 11, 60]) * MEGABYTE, 0x20))],
    ["brotli", "br", text],
    ["two codings", "gzip, gzip", gzipSync(zipped)],
    ["a coding of Object", choices.pick(["constructor", "__proto__", "toString"]), text],
  ]);
  const request = post(target, endpoint, body, { note });
  return { ...request, headers: [...request.headers, ["Content-Encoding", coding]] };
};

const SEGMENTS =
  "known %2e %2e%2e . .. %2F %5C %00 %0a %C2%85 % %2 %zz %c0%80 %ed%a0%80 %FF %252F %F0%9F%98%80 + ;a=b a:b {applicationAccountIdentifier} $context.path __proto__ ios-store entitlements APPLICATION%23x".split(
    " ",
  );

const segment = (choices: Choices): string => {
  const bytes = [...choices.bytes(1 + choices.number(300))];
  return choices.pick([
    choices.text("abcXYZ019-._~!$&'()*+,;=:@", 1 + choices.number(300)),
    bytes.map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
    encodeURIComponent(choices.pick(["é", "😀", "x"]).repeat(choices.pick([1, 255, 256, 257]))),
    Array.from({ length: 1 + choices.number(3) }, () => choices.pick(SEGMENTS)).join(""),
  ]);
};

const path: Make = (target, choices) => {
  const within = segment(choices);
  const text = choices.pick([
    `/v1/customers/${within}/entitlements`,
    `/v1/customers/${within}/entitlements`,
    `/v1/customers/${within}/entitlements`,
    `/v1/customers/${within}`,
    `/v1/customers/${within}//entitlements/`,
    `/v1/customers/${within}/${segment(choices)}/entitlements`,
    `//v1/customers/${within}/entitlements`,
    `/${within}`,
  ]);
  const query = choices.pick(["", "", "?a=%zz", `?${segment(choices)}`, "?__proto__=1"]);
  return {
    note: "path",
    endpoint: "readAccountEntitlements",
    method: choices.percent(80) ? "GET" : choices.pick(["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]),
    path: text + query,
    headers: choices.percent(90) ? [bearer(target.key)] : [],
    body: null,
    forged: false,
    reads: null,
  };
};

const apiKey: Make = (target, choices) => {
  const { key } = target;
  const at = choices.number(key.length);
  const character = choices.pick([..."0189abcfgz_-. "].filter((one) => one !== key[at]));
  const mutated = key.slice(0, at) + character + key.slice(at + 1);
  const [note, authorization] = choices.pick<readonly [string, string]>([
    ["a character changed", `Bearer ${mutated}`],
    ["cut short", `Bearer ${key.slice(0, at)}`],
    ["longer", `Bearer ${key}${choices.text("0123456789abcdef", 1 + choices.number(8))}`],
    ["in capitals", `Bearer ${key.toUpperCase()}`],
    ["another scheme", `${choices.pick(["Basic", "Digest", "bearer:", "Token"])} ${key}`],
    ["random", `Bearer cek_${choices.text("0123456789abcdef", 16)}_${choices.text("0123456789abcdef", 72)}`],
    ["long", `Bearer ${"a".repeat(choices.pick([100, 1_000, 7_000]))}`],
    ["of Latin-1", `Bearer ${choices.text("éÿ\u00a0", 80)}`],
    ["a JWT", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."],
    ["of Object", `Bearer ${choices.pick(["__proto__", "constructor", "null", "undefined"])}`],
  ]);
  const endpoint = choices.pick([
    "linkAndroidStoreCustomer",
    "linkIosStoreCustomer",
    "readAccountEntitlements",
  ] as const);
  const { method, path: template } = endpoints[endpoint];
  return {
    note,
    endpoint,
    method,
    path: template.replace(/\{\w+\}/, "known"),
    headers: [JSON_TYPE, ["Authorization", authorization]],
    body: method === "POST" ? Buffer.from("{}") : null,
    forged: true,
    reads: null,
  };
};

const scope: Make = (target, choices, identifier) => {
  const endpoint = choices.pick(["linkAndroidStoreCustomer", "linkIosStoreCustomer"] as const);
  const body = objectOf(goodMembers(target, endpoint, identifier));
  return {
    ...post(target, endpoint, body, { note: "a key that only reads", forged: true }),
    headers: [JSON_TYPE, bearer(target.readOnlyKey)],
  };
};

const header: Make = (target, choices, identifier) => {
  const endpoint = choices.pick(POSTING);
  const body = objectOf(goodMembers(target, endpoint, identifier));
  const request = post(target, endpoint, body, { note: "header" });
  const long = "x".repeat(choices.pick([10, 1_000, 6_000]));
  const more = choices.pick<readonly [string, string]>([
    ["Content-Type", choices.pick(["", "text/plain", "application/json; charset=utf-16", "a/b; c", long])],
    ["Accept", choices.pick(["", "text/html", "*/*;q=0", long])],
    ["Accept-Encoding", choices.pick(["gzip", "deflate;q=1", "gzip;q=0", "*", ",,,;;=", long])],
    ["X-Forwarded-For", choices.pick(["127.0.0.1", "::1", "a, b", long])],
    ["X-HTTP-Method-Override", "DELETE"],
    ["Host", choices.pick(["", "a", "169.254.169.254", "a:b:c"])],
    ["__proto__", "1"],
    ["X-Amz-Security-Token", long],
    ["Authorization", "Bearer two"],
    ["Expect", "100-continue"],
    ["Transfer-Encoding", "chunked"],
  ]);
  return { ...request, headers: [...request.headers, more] };
};

/** Purchase tokens, packages and products become part of the address of a call to the store. */
const androidFields: Make = (target, choices, identifier) => {
  const members = goodMembers(target, "linkAndroidStoreCustomer", identifier);
  const name = choices.pick(["purchaseToken", "purchaseToken", "packageName", "productIdentifier"]);
  const value = choices.pick([
    hostileText(choices),
    json(
      choices.pick(["../../x", "a/b", "a?b=c", "a#b", "a:acknowledge", "%2e%2e", "%252e", "a b", "a%", ".."]),
    ),
    json(choices.text("ab./%?#&:=+\\é😀 ", 1 + choices.number(choices.pick([10, 100, 4_096])))),
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
const storeAnswer: Make = (target, choices, identifier) => {
  const purchaseToken = `token.${identifier}`;
  const hostile: unknown = JSON.parse(
    choices.pick([
      hostileText(choices),
      "null",
      "[]",
      "{}",
      "-1",
      '"9999-12-31T23:59:59Z"',
      '"2026-02-30T00:00:00Z"',
    ]),
  );
  let left = choices.number(16);
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
export const attackOf = (target: Target, choices: Choices, index: number): NamedAttack => {
  const identifier = `704${String(index).padStart(9, "0")}`;
  let at = choices.number(TOTAL);
  const [kind, make] = KINDS.find(([, , weight]) => (at -= weight) < 0) ?? ["a path", path];
  return { ...make(target, choices, identifier), kind };
};
