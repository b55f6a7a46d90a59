import { deflateSync, gzipSync } from "node:zlib";
import {
  appTransactionPayload,
  transactionPayload,
  type SandboxCustomer,
} from "../../../sandbox/ios-store/shop/app-store.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { bearer, JSON_TYPE, post, type Attack, type Make, type Posting, type Target } from "./attack.ts";
import type { Choices } from "./choices.ts";
import { operate } from "./der.ts";
import {
  hostileText,
  hostileValue,
  json,
  mutateMembers,
  mutateText,
  objectOf,
  type Members,
} from "./json.ts";
import { pushBody, pushData, pushToken } from "./pushes.ts";
import {
  chainNamed,
  contentOf,
  selfSignedNamed,
  signCertificate,
  signCompact,
  signingKey,
  x5cOf,
  type NamedChain,
  type NamedIdentity,
} from "./signing.ts";

export const APPLE_ID = 1_234_567_890;
/** Before any test run, so that the same bytes are valid in every run. */
const SIGNED = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;

const stranger = chainNamed("stranger");
const strangersXcode = selfSignedNamed("stranger");

const customerOf = (target: Target, identifier: string): SandboxCustomer => ({
  bundleIdentifier: target.bundleIdentifier,
  appAppleIdentifier: APPLE_ID,
  environment: "Production",
  appTransactionIdentifier: identifier,
  receiptCreationDate: SIGNED,
  transactions: [],
});

/** Fixed values in place of the random device values in the sandbox's payloads. */
const steady = {
  deviceVerification: "AAAA",
  deviceVerificationNonce: "00000000-0000-4000-8000-000000000000",
};

const appTransactionOf = (target: Target, identifier: string): Record<string, unknown> => ({
  ...appTransactionPayload(customerOf(target, identifier)),
  ...steady,
});

const transactionOf = (target: Target, identifier: string): Record<string, unknown> => ({
  ...transactionPayload(customerOf(target, identifier), {
    productIdentifier: "monthly",
    type: "Auto-Renewable Subscription",
    transactionIdentifier: `${identifier}1`,
    originalTransactionIdentifier: `${identifier}1`,
    purchaseDate: SIGNED - DAY,
    expiresDate: Date.UTC(2040, 0, 1),
    signedDate: SIGNED,
  }),
  ...steady,
  webOrderLineItemId: "2000000000001",
});

const headerOf = (...identities: readonly NamedIdentity[]): string =>
  json({ alg: "ES256", x5c: x5cOf(...identities) });

const signed = ({ root, intermediate, leaf }: NamedChain, payload: string | Uint8Array): string =>
  signCompact(headerOf(leaf, intermediate, root), payload, leaf.key);

const membersOf = (payload: Readonly<Record<string, unknown>>): Members =>
  Object.entries(payload).map(([name, value]) => [name, json(value)]);

const POSTING: readonly Posting[] = [
  "linkAndroidStoreCustomer",
  "linkIosStoreCustomer",
  "synchronizeIosStorePurchases",
];

const IOS: readonly Posting[] = ["linkIosStoreCustomer", "synchronizeIosStorePurchases"];

/** The members of a request that the endpoint answers with 200. */
const goodMembers = (target: Target, endpoint: Posting, identifier: string): Members =>
  endpoint === "linkAndroidStoreCustomer"
    ? membersOf({
        packageName: target.packageName,
        purchaseToken: target.purchaseToken,
        productKind: "subscription",
        productIdentifier: null,
        applicationAccountIdentifier: "known",
      })
    : membersOf({
        signedAppTransaction: signed(target.chain, json(appTransactionOf(target, identifier))),
        signedTransactions: [signed(target.chain, json(transactionOf(target, identifier)))],
        applicationAccountIdentifier: `account ${identifier}`,
      });

/** A request of either iOS endpoint with two JWS, for an account of its own. */
const withJws = (
  target: Target,
  choices: Choices,
  identifier: string,
  jws: { readonly signedAppTransaction?: string; readonly signedTransaction?: string },
  more: Pick<Attack, "note" | "forged">,
): Attack => {
  const account = `account ${identifier}`;
  const {
    signedAppTransaction = signed(target.chain, json(appTransactionOf(target, identifier))),
    signedTransaction = signed(target.chain, json(transactionOf(target, identifier))),
  } = jws;
  const body = json({
    signedAppTransaction,
    signedTransactions: [signedTransaction],
    applicationAccountIdentifier: account,
  });
  return post(target, choices.pick(IOS), body, { ...more, reads: account });
};

const bodyMembers: Make = (target, choices, identifier) => {
  const endpoint = choices.pick(POSTING);
  let members = goodMembers(target, endpoint, identifier);
  for (let times = 1 + choices.number(2); times > 0 && members.length > 0; times -= 1)
    members = mutateMembers(members, choices);
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
  const size = choices.pick([100_000, MEGABYTE, 2 * MEGABYTE, 5.8 * MEGABYTE, 7 * MEGABYTE, 10.5 * MEGABYTE]);
  const members = goodMembers(target, endpoint, identifier);
  const filled = choices.pick<readonly [string, string]>([
    ["padding", json("x".repeat(size))],
    ["applicationAccountIdentifier", json("x".repeat(size))],
    [
      "signedTransactions",
      `[${Array.from({ length: 1_000 }, () => json("x".repeat(size / 1_000))).join(",")}]`,
    ],
    ["purchaseToken", json("é".repeat(size / 2))],
    ["padding", `[${"0,".repeat(size / 2)}0]`],
    [
      "padding",
      `{${Array.from({ length: size / 16 }, (_, index) => `"${String(index).padStart(10, "0")}":0`).join(",")}}`,
    ],
  ]);
  return post(target, endpoint, objectOf([...members, filled]), { note: `${size} bytes` });
};

const bodyCoding: Make = (target, choices, identifier) => {
  const endpoint = choices.pick(POSTING);
  const text = Buffer.from(objectOf(goodMembers(target, endpoint, identifier)));
  const zipped = gzipSync(text);
  const [note, coding, body] = choices.pick<readonly [string, string, Buffer]>([
    ["gzip", "gzip", zipped],
    ["gzip in capitals", "GZIP", zipped],
    ["deflate", "deflate", deflateSync(text)],
    ["gzip that is text", "gzip", text],
    ["gzip cut short", "gzip", zipped.subarray(0, choices.number(zipped.length))],
    ["gzip with bytes behind it", "gzip", Buffer.concat([zipped, choices.bytes(9)])],
    ["gzip twice in a row", "gzip", Buffer.concat([zipped, zipped])],
    ["gzip within gzip", "gzip", gzipSync(zipped)],
    ["gzip with a wrong checksum", "gzip", Buffer.concat([zipped.subarray(0, -8), choices.bytes(8)])],
    ["text that is gzip", "identity", zipped],
    ["deflate that is gzip", "deflate", zipped],
    ["a gzip bomb", "gzip", gzipSync(Buffer.alloc(choices.pick([4, 9, 11, 60]) * MEGABYTE, 0x20))],
    ["a deflate bomb", "deflate", deflateSync(Buffer.alloc(11 * MEGABYTE, 0x5b))],
    ["brotli", "br", text],
    ["two codings", "gzip, gzip", gzipSync(zipped)],
    ["no coding", "", text],
    ["a coding of Object", choices.pick(["constructor", "__proto__", "toString"]), text],
  ]);
  const request = post(target, endpoint, body, { note });
  return { ...request, headers: [...request.headers, ["Content-Encoding", coding]] };
};

const CHARACTERS = "AQgw05_-.=+/ \n\u0000é😀";

const mutateJws = (jws: string, choices: Choices): { readonly text: string; readonly note: string } => {
  const parts = jws.split(".");
  const part = choices.number(3);
  const begin = parts.slice(0, part).reduce((sum, text) => sum + text.length + 1, 0);
  const at = begin + choices.number(parts[part]?.length ?? 1);
  const where = ["header", "payload", "signature"][part] ?? "";
  const [before, after] = [jws.slice(0, at), jws.slice(at + 1)];
  const cut = (with_: string): string =>
    parts.map((text, index) => (index === part ? with_ : text)).join(".");
  switch (choices.number(8)) {
    case 0:
      return { text: before + after, note: `${where}: a character less` };
    case 1:
      return { text: before + choices.pick([...CHARACTERS]) + jws.slice(at), note: `${where}: one more` };
    case 2:
      return { text: jws.slice(0, at), note: `${where}: cut short` };
    case 3:
      return { text: cut(""), note: `${where}: empty` };
    case 4:
      return { text: cut(parts[(part + 1) % 3] ?? ""), note: `${where}: another part` };
    case 5: {
      const bytes = Buffer.from(parts[part] ?? "", "base64url");
      const index = choices.number(bytes.length);
      bytes[index] = (bytes[index] ?? 0) ^ (1 << choices.number(8));
      return { text: cut(bytes.toString("base64url")), note: `${where}: a bit` };
    }
    case 6:
      return {
        text: cut(choices.bytes(choices.pick([0, 1, 63, 64, 65, 3_000])).toString("base64url")),
        note: `${where}: random`,
      };
    default: {
      const character = choices.pick([...CHARACTERS].filter((one) => one !== jws[at]));
      return { text: before + character + after, note: `${where}: another character` };
    }
  }
};

const jwsText: Make = (target, choices, identifier) => {
  const ofApp = choices.percent(40);
  const payload = ofApp ? appTransactionOf(target, identifier) : transactionOf(target, identifier);
  const { text, note } = mutateJws(signed(target.chain, json(payload)), choices);
  const jws = ofApp ? { signedAppTransaction: text } : { signedTransaction: text };
  return withJws(target, choices, identifier, jws, { note, forged: true });
};

/** Headers with other keys, algorithms or certificates, signed by a stranger or by the store's leaf. */
const jwsHeader: Make = (target, choices, identifier) => {
  const { root, intermediate, leaf } = target.chain;
  const byStore = choices.percent(30);
  const key = byStore ? leaf.key : choices.pick([stranger.leaf.key, strangersXcode.key]);
  const identities = [
    leaf,
    intermediate,
    root,
    stranger.leaf,
    stranger.intermediate,
    stranger.root,
    strangersXcode,
  ];
  const genuine = x5cOf(leaf, intermediate, root);
  const x5c = choices.pick<unknown>([
    genuine,
    x5cOf(stranger.leaf, stranger.intermediate, stranger.root),
    x5cOf(stranger.leaf, stranger.intermediate, root),
    x5cOf(stranger.leaf, intermediate, root),
    x5cOf(leaf, stranger.intermediate, stranger.root),
    x5cOf(strangersXcode),
    x5cOf(leaf),
    x5cOf(...Array.from({ length: choices.number(6) }, () => choices.pick(identities))),
    genuine.map((text) => text.toLowerCase()),
    [genuine],
    genuine.join(),
    [...genuine, ...genuine],
  ]);
  const members: Members = [
    [
      "alg",
      choices.percent(60)
        ? '"ES256"'
        : choices.pick(['"none"', '"HS256"', '"ES384"', '"RS256"', "null", "[]"]),
    ],
    ["x5c", json(x5c)],
    ...choices.pick<Members>([
      [],
      [["jwk", json(stranger.leaf.key.object.export({ format: "jwk" }))]],
      [["jku", '"https://stranger.example/keys"']],
      [["x5u", '"https://stranger.example/chain"']],
      [["kid", '"stranger"']],
      [["crit", '["exp"]']],
      [["b64", "false"]],
      [["typ", hostileValue(choices)]],
      [["x5c", json(genuine)]],
      [["alg", '"ES256"']],
    ]),
  ];
  const mutated = choices.percent(30) ? mutateMembers(members, choices) : members;
  const ofApp = choices.percent(50);
  const payload = ofApp ? appTransactionOf(target, identifier) : transactionOf(target, identifier);
  const jws = signCompact(objectOf(mutated), json(payload), key);
  return withJws(
    target,
    choices,
    identifier,
    ofApp ? { signedAppTransaction: jws } : { signedTransaction: jws },
    { note: byStore ? "signed by the store's leaf" : "signed by a stranger", forged: !byStore },
  );
};

/** Mutated certificates. Some are signed again by their issuer, so that the signature holds and the content is read. */
const jwsCertificate: Make = (target, choices, identifier) => {
  const { root, intermediate, leaf } = target.chain;
  const part = choices.pick(["leaf", "intermediate", "root"] as const);
  const signedAgain = part !== "root" && choices.percent(60);
  const issuer = part === "leaf" ? intermediate : root;
  const original = target.chain[part].certificate;
  const { toBeSigned, algorithm } = contentOf(original);
  let cut = operate(signedAgain ? toBeSigned : original, choices);
  if (choices.percent(20)) cut = operateAgain(cut, choices);
  const certificate = signedAgain ? signCertificate(cut.bytes, algorithm, issuer.key) : cut.bytes;
  const x5c = x5cOf(
    part === "leaf" ? { certificate } : leaf,
    part === "intermediate" ? { certificate } : intermediate,
    part === "root" ? { certificate } : root,
  );
  const ofApp = choices.percent(50);
  const payload = ofApp ? appTransactionOf(target, identifier) : transactionOf(target, identifier);
  const jws = signCompact(json({ alg: "ES256", x5c }), json(payload), leaf.key);
  return withJws(
    target,
    choices,
    identifier,
    ofApp ? { signedAppTransaction: jws } : { signedTransaction: jws },
    {
      note: `${cut.name}${signedAgain ? ", signed again" : ""}`,
      forged: !signedAgain && !Buffer.from(original).equals(certificate),
    },
  );
};

/** Mutates the bytes again, unless they are no longer DER. */
const operateAgain = (
  cut: { readonly bytes: Buffer; readonly name: string },
  choices: Choices,
): { readonly bytes: Buffer; readonly name: string } => {
  try {
    return operate(cut.bytes, choices);
  } catch {
    return cut;
  }
};

const TIMES = [
  "purchaseDate",
  "expiresDate",
  "signedDate",
  "revocationDate",
  "receiptCreationDate",
  "originalPurchaseDate",
];
const INSTANTS = [
  "0",
  "1",
  "253402300799999",
  "253402300800000",
  "8639999999999999",
  "8640000000000000",
  "1767225600000.5",
];

const mutatePayload = (payload: Readonly<Record<string, unknown>>, choices: Choices): Members => {
  const members = membersOf(payload);
  if (choices.percent(25)) {
    const time = choices.pick(TIMES);
    return [...members.filter(([name]) => name !== time), [time, choices.pick(INSTANTS)]];
  }
  if (choices.percent(25)) {
    const type = choices.pick(["Non-Renewing Subscription", "Non-Consumable", "Consumable", "Gift"]);
    const product = choices.pick(["day_pass", "forever", "basic", "unknown"]);
    const changed = members.map(([name, value]) =>
      name === "type"
        ? ([name, json(type)] as const)
        : name === "productId"
          ? ([name, json(product)] as const)
          : ([name, value] as const),
    );
    return mutateMembers(changed, choices);
  }
  if (choices.percent(30)) {
    const at = choices.number(members.length);
    return members.map(
      ([name, value], index) => [name, index === at ? hostileText(choices) : value] as const,
    );
  }
  return mutateMembers(members, choices);
};

/** Payloads that the store never writes, with a valid signature. */
const jwsPayload: Make = (target, choices, identifier) => {
  const ofApp = choices.percent(35);
  const payload = ofApp ? appTransactionOf(target, identifier) : transactionOf(target, identifier);
  const text = choices.percent(15)
    ? mutateText(json(payload), choices)
    : Buffer.from(objectOf(mutatePayload(payload, choices)));
  const jws = signed(target.chain, text);
  return withJws(
    target,
    choices,
    identifier,
    ofApp ? { signedAppTransaction: jws } : { signedTransaction: jws },
    { note: ofApp ? "an app transaction" : "a transaction", forged: false },
  );
};

/** JWS in the form of StoreKit testing, which anybody can sign, with unverified claims. */
const jwsSelfSigned: Make = (target, choices, identifier) => {
  const payload = {
    ...appTransactionOf(target, identifier),
    receiptType: choices.pick(["Xcode", "Production", "Sandbox", "LocalTesting"]),
  };
  const members = choices.percent(70)
    ? membersOf(payload).map(
        ([name, value]) => [name, name === "bundleId" ? hostileText(choices) : value] as const,
      )
    : mutateMembers(membersOf(payload), choices);
  const key = choices.pick([strangersXcode.key, signingKey("nobody")]);
  const x5c = choices.pick([x5cOf(strangersXcode), [choices.bytes(200).toString("base64")], [""]]);
  const jws = signCompact(json({ alg: "ES256", x5c }), objectOf(members), key);
  return withJws(
    target,
    choices,
    identifier,
    { signedAppTransaction: jws },
    { note: "self-signed", forged: true },
  );
};

const SEGMENTS = [
  "known",
  "%6b%6e%6f%77%6e",
  "%2e",
  "%2e%2e",
  ".",
  "..",
  "%2F",
  "%5C",
  "%00",
  "%0a",
  "%7f",
  "%C2%85",
  "%",
  "%2",
  "%zz",
  "%u0041",
  "%c0%80",
  "%C0%AF",
  "%ed%a0%80",
  "%f4%90%80%80",
  "%FF",
  "%25",
  "%2525",
  "%252F",
  "%F0%9F%98%80",
  "+",
  ";a=b",
  "a:b",
  "a@b",
  "{applicationAccountIdentifier}",
  "$context.path",
  "__proto__",
  "constructor",
  "ios-store",
  "android-store",
  "entitlements",
  "%23",
  "APPLICATION%23x",
];

const segment = (choices: Choices): string => {
  switch (choices.number(5)) {
    case 0:
      return choices.text("abcXYZ019-._~!$&'()*+,;=:@", 1 + choices.number(300));
    case 1:
      return Array.from(
        { length: 1 + choices.number(300) },
        () => `%${choices.number(256).toString(16).padStart(2, "0")}`,
      ).join("");
    case 2:
      return encodeURIComponent(
        choices.pick(["é", "😀", "x", "\u0301"]).repeat(choices.pick([1, 255, 256, 257])),
      );
    default:
      return Array.from({ length: 1 + choices.number(3) }, () => choices.pick(SEGMENTS)).join("");
  }
};

const path: Make = (target, choices) => {
  const within = segment(choices);
  const text = choices.percent(70)
    ? `/v1/customers/${within}/entitlements`
    : choices.pick([
        `/v1/customers/${within}`,
        `/v1/customers//entitlements`,
        `/v1/customers/${within}/entitlements/`,
        `/v1/customers/${within}//entitlements`,
        `/V1/customers/${within}/entitlements`,
        `//v1/customers/${within}/entitlements`,
        `/v1/customers/${within}/${segment(choices)}/entitlements`,
        `/${within}`,
        `/v1/customers/ios-store/${within}`,
      ]);
  const query = choices.pick([
    "",
    "",
    "?",
    "?a=b",
    "?a=%zz",
    `?${segment(choices)}`,
    "?__proto__=1",
    "?a&a&a",
  ]);
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

const flip = (text: string, choices: Choices): string => {
  const at = choices.number(text.length);
  return text.slice(0, at) + choices.pick([..."0189abcfgz_-. "]) + text.slice(at + 1);
};

const token: Make = (target, choices) => {
  const { key } = target;
  const mutated = flip(key, choices);
  const [note, authorization] = choices.pick<readonly [string, string]>([
    ["a character changed", `Bearer ${mutated}`],
    ["cut short", `Bearer ${key.slice(0, choices.number(key.length))}`],
    ["longer", `Bearer ${key}${choices.text("0123456789abcdef", 1 + choices.number(8))}`],
    ["in capitals", `Bearer ${key.toUpperCase()}`],
    ["another scheme", `${choices.pick(["Basic", "Digest", "bearer:", "Token", ""])} ${key}`],
    ["without a scheme", key],
    ["twice", `Bearer ${key}, Bearer ${key}`],
    ["many spaces", `Bearer${" ".repeat(choices.number(50))}${mutated}`],
    ["a tab", `Bearer\t${key}`],
    ["random", `Bearer cek_${choices.text("0123456789abcdef", 16)}_${choices.text("0123456789abcdef", 72)}`],
    ["long", `Bearer ${"a".repeat(choices.pick([100, 1_000, 7_000]))}`],
    ["of Latin-1", `Bearer ${choices.text("éÿ\u00a0", 80)}`],
    ["a JWT", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."],
    ["of Object", `Bearer ${choices.pick(["__proto__", "constructor", "null", "undefined"])}`],
  ]);
  const valid =
    authorization === `Bearer ${key}` ||
    (/^Bearer +cek_/.test(authorization) && authorization.endsWith(` ${key}`));
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
    forged: !valid,
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
  const more = choices.pick<readonly (readonly [string, string])[]>([
    [
      [
        "Content-Type",
        choices.pick([
          "",
          "text/plain",
          "multipart/form-data",
          "application/json; charset=utf-16",
          "a/b; c",
          long,
        ]),
      ],
    ],
    [["Accept", choices.pick(["", "text/html", "*/*;q=0", long])]],
    [
      [
        "Accept-Encoding",
        choices.pick(["gzip", "deflate;q=1", "br", "gzip;q=0", "*", "identity;q=0", ",,,;;=", long]),
      ],
    ],
    [["X-Forwarded-For", choices.pick(["127.0.0.1", "::1", "a, b", long])]],
    [["X-HTTP-Method-Override", "DELETE"]],
    [["Host", choices.pick(["", "a", "169.254.169.254", "[::1]", "a:b:c"])]],
    [["Cookie", "__proto__=1; a"]],
    [["__proto__", "1"]],
    [
      ["constructor", "1"],
      ["toString", "2"],
    ],
    [
      ["X-Amz-Date", "x"],
      ["X-Amz-Security-Token", long],
    ],
    [["X-Amzn-Trace-Id", choices.pick(["Root=1", "é", long])]],
    Array.from({ length: 50 }, (_, index) => [`X-${index}`, "1"] as const),
    [
      ["Authorization", "Bearer one"],
      ["Authorization", "Bearer two"],
    ],
    [
      ["If-None-Match", "*"],
      ["Range", "bytes=0-1"],
    ],
    [["Expect", "100-continue"]],
    [["Transfer-Encoding", "chunked"]],
  ]);
  return { ...request, headers: [...request.headers, ...more] };
};

const PACKAGE_TEXTS = [
  "",
  ".",
  "..",
  "com.example.unknown",
  "com.example.trails/../x",
  "#",
  "%00",
  "a\u0000b",
  "é",
  "😀",
];

/** Hostile purchase tokens, packages and products, which become part of the address of a call to the store. */
const androidFields: Make = (target, choices) => {
  const members = membersOf({
    packageName: target.packageName,
    purchaseToken: target.purchaseToken,
    productKind: choices.pick(["subscription", "one_time_product"]),
    productIdentifier: choices.pick([null, "premium", "maps", "unknown", ""]),
    applicationAccountIdentifier: "known",
  });
  const name = choices.pick([
    "purchaseToken",
    "purchaseToken",
    "packageName",
    "productIdentifier",
    "applicationAccountIdentifier",
  ]);
  const value = choices.percent(40)
    ? hostileText(choices)
    : json(
        choices.percent(50)
          ? choices.pick([
              ...PACKAGE_TEXTS,
              "../../x",
              "a/b",
              "a?b=c",
              "a#b",
              "a:acknowledge",
              "%2e%2e",
              "%252e",
              "a b",
              "a%",
            ])
          : choices.text("ab./%?#:&=+\\é😀 ", 1 + choices.number(choices.pick([10, 100, 4_096]))),
      );
  const changed = members.map(([known, before]) => [known, known === name ? value : before] as const);
  return post(target, "linkAndroidStoreCustomer", objectOf(changed), { note: name });
};

/** The value; null when it nests too deeply for the sandbox to write it as JSON. */
const writable = (value: unknown): unknown => {
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return null;
  }
};

/** Answers that the store never gives, about a known token. */
const storeAnswer: Make = (target, choices, identifier) => {
  const purchaseToken = `token.${identifier}`;
  const answer = {
    kind: "androidpublisher#subscriptionPurchaseV2",
    startTime: "2026-01-01T00:00:00.000Z",
    subscriptionState: choices.pick([
      "SUBSCRIPTION_STATE_ACTIVE",
      "SUBSCRIPTION_STATE_CANCELED",
      "SUBSCRIPTION_STATE_PENDING",
    ]),
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
    linkedPurchaseToken: "",
    externalAccountIdentifiers: { obfuscatedExternalAccountId: `obfuscated ${identifier}` },
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
  const text = json(answer);
  const names = [...text.matchAll(/"[a-zA-Z]+":/g)].map(({ index, 0: name }) => index + name.length);
  const at = choices.pick(names);
  const rest = text.slice(at);
  const value = /^(?:"[^"]*"|true|false)/.exec(rest)?.[0];
  const changed =
    value === undefined || choices.percent(20)
      ? json({
          ...answer,
          lineItems: Array.from({ length: choices.pick([0, 2, 500]) }, () => answer.lineItems[0]),
        })
      : text.slice(0, at) +
        choices.pick([
          hostileValue(choices),
          hostileText(choices),
          '"9999-12-31T23:59:59Z"',
          '"0001-01-01T00:00:00Z"',
          '"2026-02-30T00:00:00Z"',
        ]) +
        rest.slice(value.length);
  target.putAnswer(purchaseToken, writable(JSON.parse(changed)) ?? answer);
  const account = `account ${identifier}`;
  const body = json({
    packageName: target.packageName,
    purchaseToken,
    productKind: "subscription",
    applicationAccountIdentifier: account,
  });
  return post(target, "linkAndroidStoreCustomer", body, { note: "an answer of the store", reads: account });
};

const ENVELOPE_MEMBERS = [
  "notificationType",
  "subtype",
  "signedDate",
  "data",
  "summary",
  "appData",
  "externalPurchaseToken",
] as const;
const DATA_MEMBERS = [
  "bundleId",
  "appAppleId",
  "environment",
  "signedTransactionInfo",
  "signedRenewalInfo",
] as const;

/** A notification that the service answers with 200, with other members of its envelope or its data. */
const notificationOf = (
  target: Target,
  identifier: string,
  envelope: Readonly<Record<string, unknown>> = {},
  data: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> => ({
  notificationType: "DID_RENEW",
  notificationUUID: "00000000-0000-4000-8000-000000000000",
  version: "2.0",
  signedDate: SIGNED,
  data: {
    appAppleId: APPLE_ID,
    bundleId: target.bundleIdentifier,
    environment: "Production",
    signedTransactionInfo: signed(target.chain, json(transactionOf(target, identifier))),
    ...data,
  },
  ...envelope,
});

const notify = (target: Target, signedPayload: string, note: string, forged: boolean): Attack =>
  post(target, "receiveIosStoreNotification", json({ signedPayload }), { note, forged });

const notificationEnvelope: Make = (target, choices, identifier) => {
  const member = choices.pick<string>([...ENVELOPE_MEMBERS, ...DATA_MEMBERS]);
  const isData = DATA_MEMBERS.some((one) => one === member);
  const text = hostileValue(choices);
  const marker = "hostile value";
  const fields = { [member]: marker };
  const payload = json(notificationOf(target, identifier, isData ? {} : fields, isData ? fields : {}));
  return notify(target, signed(target.chain, payload.replace(json(marker), text)), `its ${member}`, false);
};

const notificationForgery: Make = (target, choices, identifier) => {
  const payload = notificationOf(target, identifier);
  const genuine = signed(target.chain, json(payload));
  const other = transactionOf(target, `${identifier}9`);
  const [note, compact] = choices.pick<readonly [string, string]>([
    ["by a stranger", signed(stranger, json(payload))],
    ["another kind in its place", signed(target.chain, json(other))],
    [
      "parts of a stranger",
      signed(
        target.chain,
        json(
          notificationOf(target, identifier, {}, { signedTransactionInfo: signed(stranger, json(other)) }),
        ),
      ),
    ],
    [
      "another app's transaction",
      signed(
        target.chain,
        json(
          notificationOf(
            target,
            identifier,
            {},
            {
              signedTransactionInfo: signed(target.chain, json({ ...other, bundleId: "com.example.other" })),
            },
          ),
        ),
      ),
    ],
    [
      "another tenant's bundle",
      signed(target.chain, json(notificationOf(target, identifier, {}, { bundleId: "com.example.nobody" }))),
    ],
    ["its characters", mutateJws(genuine, choices).text],
    ["from the future", signed(target.chain, json({ ...payload, signedDate: Date.UTC(2040, 0, 1) }))],
    [
      "64 KiB of nesting within",
      signed(target.chain, `{"notificationType":${"[".repeat(30_000)}${"]".repeat(30_000)}}`),
    ],
  ]);
  return notify(target, compact, note, true);
};

const notificationBody: Make = (target, choices, identifier) => {
  const text = json({ signedPayload: signed(target.chain, json(notificationOf(target, identifier))) });
  const [note, body] = choices.pick<readonly [string, Buffer | string]>([
    ["64 KiB of nesting", `{"signedPayload":${"[".repeat(65_000)}`],
    ["64 KiB of dots", json({ signedPayload: ".".repeat(65_000) })],
    ["64 KiB of one letter", json({ signedPayload: "A".repeat(65_000) })],
    ["64 KiB of commas", `[${",".repeat(65_000)}`],
    ["a byte too many", text.replace(/\}$/, `,"x":"${"x".repeat(65_536)}"}`)],
    ["its text", mutateText(text, choices)],
  ]);
  return post(target, "receiveIosStoreNotification", body, { note });
};

/** Kinds of attack, each with its weight. */
const KINDS: Readonly<Record<string, { readonly make: Make; readonly weight: number }>> = {
  "a body's members": { make: bodyMembers, weight: 140 },
  "a body's text": { make: bodyText, weight: 90 },
  "a body's size": { make: bodySize, weight: 8 },
  "a body's coding": { make: bodyCoding, weight: 42 },
  "a JWS's characters": { make: jwsText, weight: 150 },
  "a JWS's header": { make: jwsHeader, weight: 100 },
  "a JWS's certificates": { make: jwsCertificate, weight: 130 },
  "a JWS's payload": { make: jwsPayload, weight: 110 },
  "a self-signed JWS": { make: jwsSelfSigned, weight: 40 },
  "a path": { make: path, weight: 70 },
  "an API key": { make: token, weight: 50 },
  "a scope": { make: scope, weight: 10 },
  "a header": { make: header, weight: 30 },
  "an Android request's fields": { make: androidFields, weight: 20 },
  "an answer of the Android store": { make: storeAnswer, weight: 10 },
  "a notification's envelope": { make: notificationEnvelope, weight: 30 },
  "a forged notification": { make: notificationForgery, weight: 30 },
  "a notification's body": { make: notificationBody, weight: 20 },
  "a push's token": { make: pushToken, weight: 40 },
  "a push's data": { make: pushData, weight: 40 },
  "a push's body": { make: pushBody, weight: 20 },
};

const TOTAL = Object.values(KINDS).reduce((sum, { weight }) => sum + weight, 0);

export interface NamedAttack extends Attack {
  readonly kind: string;
}

/** The attack with this number; the same for the same choices. */
export const attackOf = (target: Target, choices: Choices, index: number): NamedAttack => {
  let at = choices.number(TOTAL);
  // The store's identifiers are digits. Each case has its own.
  const identifier = `704${String(index).padStart(9, "0")}`;
  for (const [kind, { make, weight }] of Object.entries(KINDS)) {
    if (at < weight) return { ...make(target, choices, identifier), kind };
    at -= weight;
  }
  throw new Error("The weights do not add up.");
};
