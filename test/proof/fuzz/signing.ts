import { createECDH, createHash, createHmac, createPrivateKey, type KeyObject } from "node:crypto";
import {
  issueCertificate,
  TEMPLATES,
  type CertificateTemplate,
  type Identity,
} from "../../../sandbox/ios-store/certificates.ts";
import { children, element, encode } from "./der.ts";

/**
 * Keys, certificates and signatures that are the same bytes in every run of one seed, without OpenSSL's random nonces.
 * For tests only: nothing here resists timing attacks.
 */
interface Curve {
  readonly name: "prime256v1" | "secp384r1";
  readonly jwk: "P-256" | "P-384";
  readonly order: bigint;
  readonly bytes: number;
}

const P256: Curve = {
  name: "prime256v1",
  jwk: "P-256",
  order: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  bytes: 32,
};
const P384: Curve = {
  name: "secp384r1",
  jwk: "P-384",
  order: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  bytes: 48,
};

const toBytes = (value: bigint, length: number): Buffer =>
  Buffer.from(value.toString(16).padStart(length * 2, "0"), "hex");
const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString("hex") || "0"}`);

const inverse = (value: bigint, modulus: bigint): bigint => {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (a > 1n) {
    const quotient = a / b;
    [a, b] = [b, a % b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
};

/** A private key derived from a name. */
export interface NamedKey {
  readonly curve: Curve;
  readonly secret: bigint;
  readonly object: KeyObject;
}

const publicPoint = (curve: Curve, secret: bigint): { x: Buffer; y: Buffer } => {
  const pair = createECDH(curve.name);
  pair.setPrivateKey(toBytes(secret, curve.bytes));
  const point = pair.getPublicKey();
  return { x: point.subarray(1, 1 + curve.bytes), y: point.subarray(1 + curve.bytes) };
};

const namedKey = (name: string, curve: Curve): NamedKey => {
  const digest = createHash("sha512").update(`${curve.jwk} ${name}`).digest();
  const secret = (toNumber(digest) % (curve.order - 1n)) + 1n;
  const { x, y } = publicPoint(curve, secret);
  const object = createPrivateKey({
    format: "jwk",
    key: {
      kty: "EC",
      crv: curve.jwk,
      d: toBytes(secret, curve.bytes).toString("base64url"),
      x: x.toString("base64url"),
      y: y.toString("base64url"),
    },
  });
  return { curve, secret, object };
};

export const signingKey = (name: string): NamedKey => namedKey(name, P256);
const issuingKey = (name: string): NamedKey => namedKey(name, P384);

/** ECDSA with SHA-256 and a nonce derived from the key and the message. */
const signatureOf = ({ curve, secret }: NamedKey, message: Uint8Array): { r: bigint; s: bigint } => {
  const digest = createHash("sha256").update(message).digest();
  const seed = createHmac("sha512", toBytes(secret, curve.bytes)).update(digest).digest();
  const nonce = (toNumber(seed) % (curve.order - 1n)) + 1n;
  const r = toNumber(publicPoint(curve, nonce).x) % curve.order;
  const s = (inverse(nonce, curve.order) * (toNumber(digest) + r * secret)) % curve.order;
  return { r, s };
};

const integer = (value: bigint): Buffer => {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return element(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
};

/** A certificate with this content, signed by the key. */
export const signCertificate = (toBeSigned: Uint8Array, algorithm: Uint8Array, key: NamedKey): Buffer => {
  const { r, s } = signatureOf(key, toBeSigned);
  const signature = element(0x30, Buffer.concat([integer(r), integer(s)]));
  return element(
    0x30,
    Buffer.concat([toBeSigned, algorithm, element(0x03, Buffer.concat([Buffer.of(0), signature]))]),
  );
};

/** The two parts of a certificate that are not its signature. */
export const contentOf = (certificate: Uint8Array): { toBeSigned: Buffer; algorithm: Buffer } => {
  const [toBeSigned, algorithm] = children(Buffer.from(certificate));
  if (toBeSigned === undefined || algorithm === undefined) throw new Error("Not a certificate.");
  return { toBeSigned: encode(toBeSigned), algorithm: encode(algorithm) };
};

export interface NamedIdentity extends Identity {
  readonly key: NamedKey;
}

const issue = (template: CertificateTemplate, key: NamedKey, issuer: NamedIdentity | null): NamedIdentity => {
  const issued = issueCertificate({ ...template, privateKey: key.object }, issuer);
  const { toBeSigned, algorithm } = contentOf(issued.certificate);
  return { ...issued, key, certificate: signCertificate(toBeSigned, algorithm, issuer?.key ?? key) };
};

export interface NamedChain {
  readonly root: NamedIdentity;
  readonly intermediate: NamedIdentity;
  readonly leaf: NamedIdentity;
}

export const chainNamed = (name: string): NamedChain => {
  const root = issue(TEMPLATES.root, issuingKey(`${name} root`), null);
  const intermediate = issue(TEMPLATES.intermediate, issuingKey(`${name} intermediate`), root);
  return { root, intermediate, leaf: issue(TEMPLATES.leaf, signingKey(`${name} leaf`), intermediate) };
};

/** A self-signed identity, as StoreKit testing in Xcode has. */
export const selfSignedNamed = (name: string): NamedIdentity =>
  issue(TEMPLATES.xcode, signingKey(`${name} xcode`), null);

export const x5cOf = (...identities: readonly { readonly certificate: Uint8Array }[]): string[] =>
  identities.map(({ certificate }) => Buffer.from(certificate).toString("base64"));

/** A compact JWS of this header and payload, unchanged. */
export const signCompact = (
  header: string | Uint8Array,
  payload: string | Uint8Array,
  key: NamedKey,
): string => {
  const input = [header, payload].map((part) => Buffer.from(part).toString("base64url")).join(".");
  const { r, s } = signatureOf(key, Buffer.from(input));
  const { bytes } = key.curve;
  return `${input}.${Buffer.concat([toBytes(r, bytes), toBytes(s, bytes)]).toString("base64url")}`;
};
