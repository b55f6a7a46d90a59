import { createHmac, createPublicKey, sign } from "node:crypto";
import { signJws } from "../../../../sandbox/ios-store/signing.ts";
import { aTransaction } from "../../../../testing/support/stores/ios-store.ts";
import { chain, genuine, of, refused, stranger, stricter, type Group } from "./row.ts";

/** Attacks on the form of a JWS, its signature, its algorithm and its header. */

const good = of();
const [header = "", payload = "", signature = ""] = good.split(".");
const json = JSON.stringify(aTransaction());

/** The same bytes in another spelling: the last character's bits that encode nothing are set. */
const withStrayBits = (part: string): string => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1) ?? "") + 1];
};
const unaligned = (text: string): string => (Buffer.byteLength(text) % 3 === 0 ? `${text} ` : text);
const spaced = signJws(unaligned(json), chain, unaligned(JSON.stringify({ alg: "ES256", x5c: chain.x5c })));
const strayIn = (index: number): string => {
  const parts = spaced.split(".");
  return parts.with(index, withStrayBits(parts[index] ?? "")).join(".");
};
const nesting = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const other = signJws(aTransaction({ productId: "other" }), chain, { typ: "JWT" }).split(".");

const FORM: Group = {
  title: "The form of a JWS",
  rows: [
    ...refused({
      Nothing: "",
      "Two parts": `${header}.${payload}`,
      "Four parts": `${good}.`,
      "An empty header": `.${payload}.${signature}`,
      "An empty signature": `${header}.${payload}.`,
      "A padded signature": `${good}==`,
      "A line end within the signature": `${good.slice(0, -10)}\n${good.slice(-10)}`,
      "Stray bits in the header": strayIn(0),
      "Stray bits in the payload": strayIn(1),
      "32 KiB of dots": ".".repeat(32 * 1024),
      "A payload of nothing but nesting": signJws(`{"a":${nesting(11_000)}}`, chain),
      "The payload of another JWS": `${header}.${other[1]}.${signature}`,
      "The header of another JWS": `${other[0]}.${payload}.${signature}`,
    }),
    ...stricter("One signature has one spelling, so that no copy of a JWS passes for another.")({
      "Stray bits in the signature": strayIn(2),
    }),
    ...genuine({
      "An unknown field that is nested deeply": signJws(
        json.replace(/\}$/, `,"new":${nesting(9_000)}}`),
        chain,
      ),
    }),
  ],
};

const bytes = Buffer.from(signature, "base64url");
const withSignature = (...parts: readonly Uint8Array[]): string =>
  `${header}.${payload}.${Buffer.concat(parts).toString("base64url")}`;
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const negated = (order - BigInt(`0x${bytes.subarray(32).toString("hex")}`)).toString(16).padStart(64, "0");

const SIGNATURES: Group = {
  title: "The signature",
  rows: [
    ...refused({
      "A byte less": withSignature(bytes.subarray(0, 63)),
      "A byte more": withSignature(bytes, Buffer.alloc(1)),
      "In DER": withSignature(sign("sha256", Buffer.from(`${header}.${payload}`), chain.privateKey)),
      Zeros: withSignature(Buffer.alloc(64)),
      "Out of range": withSignature(Buffer.alloc(64, 0xff)),
      "By another key": signJws(aTransaction(), { ...chain, privateKey: stranger.privateKey }),
      "By the intermediate's key": signJws(aTransaction(), {
        ...chain,
        privateKey: chain.intermediate.privateKey,
      }),
    }),
    ...genuine({
      "Its other form (S negated)": withSignature(bytes.subarray(0, 32), Buffer.from(negated, "hex")),
    }),
  ],
};

const withHeader = (members: Readonly<Record<string, unknown>> | string): string =>
  signJws(aTransaction(), chain, members);
const inputWith = (alg: string): string => withHeader({ alg }).split(".").slice(0, 2).join(".");
const hmac = (key: string | Buffer): string =>
  `${inputWith("HS256")}.${createHmac("sha256", key).update(inputWith("HS256")).digest("base64url")}`;
const publicPem = createPublicKey(chain.privateKey).export({ format: "pem", type: "spki" }).toString();

const ALGORITHMS: Group = {
  title: "The algorithm",
  rows: refused({
    "none, without a signature": `${inputWith("none")}.`,
    "none, with a signature": withHeader({ alg: "none" }),
    "HS256, keyed with the public key": hmac(publicPem),
    "HS256, keyed with the certificate": hmac(chain.leaf.certificate),
    ...Object.fromEntries(
      ["ES384", "ES256K", "RS256", "EdDSA", "es256"].map((alg) => [alg, withHeader({ alg })]),
    ),
    Absent: withHeader({ alg: undefined }),
    "A list": withHeader({ alg: ["ES256"] }),
  }),
};

const x5c = JSON.stringify(chain.x5c);
const strangersKey = {
  jwk: createPublicKey(stranger.privateKey).export({ format: "jwk" }),
  jku: "https://stranger.example/keys",
  x5u: "https://stranger.example/certificate",
  kid: "stranger",
};
const byStranger = (certificates: readonly string[]): string =>
  signJws(aTransaction(), { x5c: certificates, privateKey: stranger.privateKey }, strangersKey);

const HEADERS: Group = {
  title: "The header",
  rows: [
    ...stricter("What a header calls critical has to be understood or the JWS refused (RFC 7515, 4.1.11).")({
      "An unknown critical extension": withHeader({ crit: ["exp"], exp: 1 }),
      "An empty list of critical extensions": withHeader({ crit: [] }),
      "An unencoded payload": withHeader({ b64: false, crit: ["b64"] }),
    }),
    ...stricter("The payload would have to be read as it stands (RFC 7797), and then says nothing.")({
      "An unencoded payload that is not marked critical": withHeader({ b64: false }),
    }),
    ...stricter(
      "Parsers disagree on which of two members counts, so the text is not of one meaning (RFC 7515, 10.12).",
    )({
      "An algorithm twice": withHeader(`{"alg":"none","alg":"ES256","x5c":${x5c}}`),
      "Certificates twice": withHeader(`{"alg":"ES256","x5c":[],"x5c":${x5c}}`),
      "A duplicate deep within": withHeader(`{"alg":"ES256","x5c":${x5c},"a":[{"b":1,"b":1}]}`),
    }),
    ...stricter("The third certificate is the root, and it is asked for as the others are.")({
      "Certificates of which one is null": withHeader({ x5c: [...chain.x5c.slice(0, 2), null] }),
    }),
    ...genuine({
      "A header with typ and kid": withHeader({ typ: "JWT", kid: "1" }),
      "A stranger's key beside the certificates": withHeader(strangersKey),
    }),
    ...refused({
      "Signed by a stranger's key that it names": byStranger(chain.x5c),
      "A stranger's key in place of certificates": byStranger([]),
      "No JSON": withHeader("alg=ES256"),
      "JSON and more": withHeader(`{"alg":"ES256","x5c":${x5c}}{}`),
      "A byte order mark": withHeader(`\uFEFF{"alg":"ES256","x5c":${x5c}}`),
      "No certificates": withHeader({ x5c: undefined }),
      "Certificates as one text": withHeader({ x5c: chain.x5c[0] }),
      "Certificates as an object": withHeader({ x5c: { ...chain.x5c, length: 3 } }),
    }),
  ],
};

export const FORMS: readonly Group[] = [FORM, SIGNATURES, ALGORITHMS, HEADERS];
