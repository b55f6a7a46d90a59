import { createPublicKey, sign } from "node:crypto";
import { signJws } from "../../../sandbox/ios-store/signing.ts";
import type { Choices } from "./choices.ts";
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
export const mutateJws = (jws: string, choices: Choices): { readonly jws: string; readonly note: string } => {
  const parts = jws.split(".");
  const index = choices.number(3);
  const part = parts[index] ?? "";
  const at = choices.number(part.length);
  const character = choices.pick([..."AQgw05_-.=+/ \n\u0000é😀"].filter((one) => one !== part[at]));
  const flipped = Buffer.from(part, "base64url");
  const byte = choices.number(flipped.length);
  flipped[byte] = (flipped[byte] ?? 0) ^ (1 << choices.number(8));
  const random = choices.bytes(choices.pick([1, 63, 64, 65, 3_000]));
  const [note, text] = choices.pick<readonly [string, string]>([
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

export const characters = withJws((payload, { chain }, choices) => ({
  ...mutateJws(signJws(payload, chain), choices),
  forged: true,
}));

/** Headers with other keys, algorithms or certificates, signed by a stranger or by the store's leaf. */
export const header = withJws((payload, { chain }, choices) => {
  const { root, intermediate, leaf } = chain;
  const byStore = choices.percent(30);
  const signer = byStore ? chain : choices.pick([stranger, strangersXcode]);
  const identities = [leaf, intermediate, root, stranger.leaf, stranger.intermediate, stranger.root];
  const x5c = choices.pick<unknown>([
    chain.x5c,
    stranger.x5c,
    strangersXcode.x5c,
    x5cOf(stranger.leaf, stranger.intermediate, root),
    x5cOf(...Array.from({ length: choices.number(6) }, () => choices.pick(identities))),
    chain.x5c.map((text) => text.toLowerCase()),
    [chain.x5c],
    chain.x5c.join(),
  ]);
  const jwk = createPublicKey(stranger.privateKey).export({ format: "jwk" });
  const algorithm = choices.pick(["none", "HS256", "ES384", "RS256", null, []]);
  const members: Members = [
    ["alg", choices.percent(60) ? '"ES256"' : json(algorithm)],
    ["x5c", json(x5c)],
    ...choices.pick<Members>([
      [],
      [["jwk", json(jwk)]],
      [["jku", '"https://stranger.example/keys"']],
      [["x5u", '"https://stranger.example/chain"']],
      [["crit", '["exp"]']],
      [["b64", "false"]],
      [["typ", hostileValue(choices)]],
      [["x5c", json(chain.x5c)]],
      [["alg", '"ES256"']],
    ]),
  ];
  const mutated = choices.percent(30) ? mutateMembers(members, choices) : members;
  return {
    jws: signJws(payload, signer, objectOf(mutated)),
    note: byStore ? "signed by the store's leaf" : "signed by a stranger",
    forged: !byStore,
  };
});

const PARTS = ["leaf", "intermediate", "root"] as const;

/** Mutated certificates. Some are signed again by their issuer, so that the signature holds and the content is read. */
export const certificate = withJws((payload, { chain }, choices) => {
  const part = choices.pick(PARTS);
  const isSignedAgain = part !== "root" && choices.percent(60);
  const original = chain[part].certificate;
  const [content, algorithm] = children(original).map(encode);
  if (content === undefined || algorithm === undefined) throw new Error("This is no certificate.");
  const { bytes, name } = operate(isSignedAgain ? content : original, choices);
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
export const payload = withJws((payload, { chain }, choices) => {
  const members = membersOf(payload);
  const has = (name: string, value: string): Members => [
    ...members.filter(([one]) => one !== name),
    [name, value],
  ];
  const type = choices.pick(["Non-Renewing Subscription", "Non-Consumable", "Consumable", "Gift"]);
  const at = choices.number(members.length);
  const [name, changed] = choices.pick<readonly [string, Members]>([
    ["a time", has(choices.pick(TIMES), choices.pick(INSTANTS))],
    ["another type", mutateMembers(has("type", json(type)), choices)],
    ["a hostile text", members.with(at, [members[at]?.[0] ?? "", hostileText(choices)])],
    ["its members", mutateMembers(members, choices)],
  ]);
  const text = choices.percent(15) ? mutateText(json(payload), choices) : Buffer.from(objectOf(changed));
  return { jws: signJws(text, chain), note: name, forged: false };
});

/** JWS in the form of StoreKit testing, which anybody can sign. */
export const selfSigned = withJws((payload, _, choices) => {
  const environment = choices.pick(["Xcode", "Production", "Sandbox", "LocalTesting"]);
  const member = "receiptType" in payload ? "receiptType" : "environment";
  const members = mutateMembers(membersOf({ ...payload, [member]: environment }), choices);
  const x5c = choices.pick([strangersXcode.x5c, [choices.bytes(200).toString("base64")], [""]]);
  return {
    jws: signJws(objectOf(members), { ...strangersXcode, x5c }),
    note: "self-signed",
    forged: true,
  };
});
