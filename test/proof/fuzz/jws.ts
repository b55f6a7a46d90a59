import { createPublicKey, sign } from "node:crypto";
import { signJws } from "../../../sandbox/ios-store/signing.ts";
import type { Dice } from "../dice.ts";
import { children, element, encode, operate } from "./der.ts";
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
