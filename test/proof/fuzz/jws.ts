import { createPublicKey, sign } from "node:crypto";
import { signJws } from "../../../sandbox/ios-store/signing.ts";
import type { Dice } from "../dice.ts";
import {
  hostileText,
  hostileValue,
  json,
  mutateMembers,
  mutateText,
  objectOf,
  type Members,
} from "./json.ts";
import { membersOf, stranger, strangersXcode, withJws, x5cOf } from "./payloads.ts";

/** A DER value: its tag, and its content as bytes or as values. */
export type DerValue =
  | { readonly tag: number; readonly content: Buffer }
  | { readonly tag: number; readonly values: readonly DerValue[] };

const length = (size: number): Buffer => {
  if (size < 0x80) return Buffer.of(size);
  const hex = size.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return Buffer.concat([Buffer.of(0x80 | bytes.length), bytes]);
};

const element = (tag: number, content: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(tag), length(content.length), content]);

const encode = (value: DerValue): Buffer =>
  element(value.tag, "content" in value ? value.content : Buffer.concat(value.values.map(encode)));

interface Read {
  readonly value: DerValue;
  readonly end: number;
}

const read = (bytes: Buffer, start: number): Read => {
  const tag = bytes[start] ?? 0;
  const first = bytes[start + 1] ?? 0;
  const more = first < 0x80 ? 0 : first & 0x7f;
  const size = more === 0 ? first : bytes.readUIntBE(start + 2, more);
  const from = start + 2 + more;
  const content = bytes.subarray(from, from + size);
  const value = (tag & 0x20) === 0 ? { tag, content } : { tag, values: readAll(content) };
  return { value, end: from + size };
};

const readAll = (bytes: Buffer): DerValue[] => {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length;) {
    const { value, end } = read(bytes, at);
    values.push(value);
    at = end;
  }
  return values;
};

const parse = (der: Buffer): DerValue => read(der, 0).value;

const children = (der: Buffer): readonly DerValue[] => {
  const value = parse(der);
  return "values" in value ? value.values : [];
};

const count = (value: DerValue): number =>
  1 + ("values" in value ? value.values.reduce((sum, child) => sum + count(child), 0) : 0);

/** The value with one descendant, by its number in reading order, replaced by other bytes. */
const withReplaced = (value: DerValue, number: number, replace: (found: DerValue) => Buffer): Buffer => {
  if (number === 0) return replace(value);
  if ("content" in value) return encode(value);
  let left = number - 1;
  const parts = value.values.map((child) => {
    const size = count(child);
    const here = left >= 0 && left < size ? withReplaced(child, left, replace) : encode(child);
    left -= size;
    return here;
  });
  return element(value.tag, Buffer.concat(parts));
};

const contentOf = (value: DerValue): Buffer =>
  "content" in value ? value.content : Buffer.concat(value.values.map(encode));

const nested = (depth: number): Buffer => {
  let bytes: Buffer = Buffer.of(5, 0);
  for (let level = 0; level < depth; level += 1) bytes = element(0x30, bytes);
  return bytes;
};

const TAGS = [
  0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x13, 0x17, 0x18, 0x1f, 0x24, 0x30, 0x31, 0x80, 0xa0, 0xa3,
  0xff,
];

/** Mutations of a value, by name. Each returns the bytes that replace the value. */
const OPERATIONS: Readonly<Record<string, (value: DerValue, dice: Dice) => Buffer>> = {
  "deletes a value": () => Buffer.alloc(0),
  "doubles a value": (value) => Buffer.concat([encode(value), encode(value)]),
  "empties a value": (value) => element(value.tag, Buffer.alloc(0)),
  "changes a tag": (value, dice) => element(dice.pick(TAGS), contentOf(value)),
  "changes a content's byte": (value, dice) => {
    const content = Buffer.from(contentOf(value));
    const at = dice.number(Math.max(1, content.length));
    if (content.length > 0) content[at] = (content[at] ?? 0) ^ (1 << dice.number(8));
    return element(value.tag, content);
  },
  "replaces a content": (value, dice) =>
    element(value.tag, dice.bytes(dice.pick([1, 2, 3, 4, 9, 33, 127, 128, 300]))),
  "writes a length longer than needed": (value) => {
    const content = contentOf(value);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(content.length);
    return Buffer.concat([Buffer.of(value.tag, 0x84), size, content]);
  },
  "writes a wrong length": (value, dice) =>
    Buffer.concat([
      Buffer.of(value.tag),
      length(Math.max(0, contentOf(value).length + dice.pick([-1, 1, 2, 100, 60_000]))),
      contentOf(value),
    ]),
  "writes a length of four gigabytes": (value) =>
    Buffer.concat([Buffer.of(value.tag, 0x84, 0xff, 0xff, 0xff, 0xff), contentOf(value)]),
  "nests deeply": (_, dice) => nested(dice.pick([8, 64, 400, 1_500])),
};

/** Mutates one random value; the lengths of the values around it are adjusted or left as they were. */
const operate = (der: Buffer, dice: Dice): { readonly bytes: Buffer; readonly name: string } => {
  const value = parse(der);
  const name = dice.pick(Object.keys(OPERATIONS));
  const operation = OPERATIONS[name];
  if (operation === undefined) throw new Error(`There is no operation ${name}.`);
  const bytes = withReplaced(value, dice.number(count(value)), (found) => operation(found, dice));
  return { bytes, name };
};

/** The JWS after a change of one of its parts, which its signature notices. */
export const mutateJws = (jws: string, dice: Dice): { readonly jws: string; readonly note: string } => {
  const parts = jws.split(".");
  const index = dice.number(3);
  const part = parts[index] ?? "";
  const at = dice.number(part.length);
  const character = dice.pick([..."AQgw05_-.=+/ \n\u0000é😀"].filter((one) => one !== part[at]));
  const flipped = Buffer.from(part, "base64url");
  const byte = dice.number(flipped.length);
  flipped[byte] = (flipped[byte] ?? 0) ^ (1 << dice.number(8));
  const random = dice.bytes(dice.pick([1, 63, 64, 65, 3_000]));
  const [note, text] = dice.pick<readonly [string, string]>([
    ["a character less", part.slice(0, at) + part.slice(at + 1)],
    ["a character more", part.slice(0, at) + character + part.slice(at)],
    ["another character", part.slice(0, at) + character + part.slice(at + 1)],
    ["cut short", part.slice(0, at)],
    ["a bit", flipped.toString("base64url")],
    ["another part", parts[(index + 1) % 3] ?? ""],
    ["random", random.toString("base64url")],
  ]);
  return { jws: parts.with(index, text).join("."), note: `part ${index + 1}: ${note}` };
};

export const characters = withJws((payload, { chain }, dice) => ({
  ...mutateJws(signJws(payload, chain), dice),
  forged: true,
}));

/** Headers with other keys, algorithms or certificates, signed by a stranger or by the store's leaf. */
export const header = withJws((payload, { chain }, dice) => {
  const { root, intermediate, leaf } = chain;
  const byStore = dice.chance(0.3);
  const signer = byStore ? chain : dice.pick([stranger, strangersXcode]);
  const identities = [leaf, intermediate, root, stranger.leaf, stranger.intermediate, stranger.root];
  const x5c = dice.pick<unknown>([
    chain.x5c,
    stranger.x5c,
    strangersXcode.x5c,
    x5cOf(stranger.leaf, stranger.intermediate, root),
    x5cOf(...Array.from({ length: dice.number(6) }, () => dice.pick(identities))),
    chain.x5c.map((text) => text.toLowerCase()),
    [chain.x5c],
    chain.x5c.join(),
  ]);
  const jwk = createPublicKey(stranger.privateKey).export({ format: "jwk" });
  const algorithm = dice.pick(["none", "HS256", "ES384", "RS256", null, []]);
  const members: Members = [
    ["alg", dice.chance(0.6) ? '"ES256"' : json(algorithm)],
    ["x5c", json(x5c)],
    ...dice.pick<Members>([
      [],
      [["jwk", json(jwk)]],
      [["jku", '"https://stranger.example/keys"']],
      [["x5u", '"https://stranger.example/chain"']],
      [["crit", '["exp"]']],
      [["b64", "false"]],
      [["typ", hostileValue(dice)]],
      [["x5c", json(chain.x5c)]],
      [["alg", '"ES256"']],
    ]),
  ];
  const mutated = dice.chance(0.3) ? mutateMembers(members, dice) : members;
  return {
    jws: signJws(payload, signer, objectOf(mutated)),
    note: byStore ? "signed by the store's leaf" : "signed by a stranger",
    forged: !byStore,
  };
});

const PARTS = ["leaf", "intermediate", "root"] as const;

/** Mutated certificates. Some are signed again by their issuer, so that the signature holds and the content is read. */
export const certificate = withJws((payload, { chain }, dice) => {
  const part = dice.pick(PARTS);
  const isSignedAgain = part !== "root" && dice.chance(0.6);
  const original = chain[part].certificate;
  const [content, algorithm] = children(original).map(encode);
  if (content === undefined || algorithm === undefined) throw new Error("This is no certificate.");
  const { bytes, name } = operate(isSignedAgain ? content : original, dice);
  const issuer = part === "leaf" ? chain.intermediate : chain.root;
  const signature = Buffer.concat([Buffer.of(0), sign("sha256", bytes, issuer.privateKey)]);
  const certificate = isSignedAgain
    ? element(0x30, Buffer.concat([bytes, algorithm, element(0x03, signature)]))
    : bytes;
  const x5c = PARTS.map((one) => (one === part ? certificate : chain[one].certificate).toString("base64"));
  return {
    jws: signJws(payload, { x5c, privateKey: chain.privateKey }),
    note: `${name}${isSignedAgain ? ", signed again" : ""}`,
    forged: !isSignedAgain && !original.equals(certificate),
  };
});

const TIMES = ["purchaseDate", "expiresDate", "signedDate", "revocationDate", "receiptCreationDate"];
const INSTANTS = ["0", "1", "253402300799999", "253402300800000", "8640000000000000", "1767225600000.5"];

/** Payloads that the store never writes, with its signature. */
export const payload = withJws((payload, { chain }, dice) => {
  const members = membersOf(payload);
  const has = (name: string, value: string): Members => [
    ...members.filter(([one]) => one !== name),
    [name, value],
  ];
  const type = dice.pick(["Non-Renewing Subscription", "Non-Consumable", "Consumable", "Gift"]);
  const at = dice.number(members.length);
  const [name, changed] = dice.pick<readonly [string, Members]>([
    ["a time", has(dice.pick(TIMES), dice.pick(INSTANTS))],
    ["another type", mutateMembers(has("type", json(type)), dice)],
    ["a hostile text", members.with(at, [members[at]?.[0] ?? "", hostileText(dice)])],
    ["its members", mutateMembers(members, dice)],
  ]);
  const text = dice.chance(0.15) ? mutateText(json(payload), dice) : Buffer.from(objectOf(changed));
  return { jws: signJws(text, chain), note: name, forged: false };
});

/** JWS in the form of StoreKit testing, which anybody can sign. */
export const selfSigned = withJws((payload, _, dice) => {
  const environment = dice.pick(["Xcode", "Production", "Sandbox", "LocalTesting"]);
  const member = "receiptType" in payload ? "receiptType" : "environment";
  const members = mutateMembers(membersOf({ ...payload, [member]: environment }), dice);
  const x5c = dice.pick([strangersXcode.x5c, [dice.bytes(200).toString("base64")], [""]]);
  return {
    jws: signJws(objectOf(members), { ...strangersXcode, x5c }),
    note: "self-signed",
    forged: true,
  };
});
