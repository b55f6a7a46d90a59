import { createHash, createPrivateKey, sign, X509Certificate, type KeyObject } from "node:crypto";
import * as z from "zod";
import { issueCertificate, TEMPLATES, type CertificateTemplate, type Identity } from "./certificates.ts";

export interface JwsSigner {
  readonly x5c: readonly string[];
  readonly privateKey: KeyObject;
}

type Part = "root" | "intermediate" | "leaf";

/** A chain of three certificates, like the App Store's. */
export type SigningChain = JwsSigner & { readonly [_ in Part]: Identity };

/** A signer that puts the given certificates into `x5c`, the signing one first. */
export const signerWith = (signing: Identity, ...others: readonly Identity[]): JwsSigner => ({
  x5c: [signing, ...others].map(({ certificate }) => certificate.toString("base64")),
  privateKey: signing.privateKey,
});

const chainOf = (parts: { readonly [_ in Part]: Identity }): SigningChain => ({
  ...signerWith(parts.leaf, parts.intermediate, parts.root),
  ...parts,
});

export const makeChain = (
  overrides: { readonly [_ in Part]?: Partial<CertificateTemplate> } = {},
): SigningChain => {
  const root = issueCertificate({ ...TEMPLATES.root, ...overrides.root }, null);
  const intermediate = issueCertificate({ ...TEMPLATES.intermediate, ...overrides.intermediate }, root);
  const leaf = issueCertificate({ ...TEMPLATES.leaf, ...overrides.leaf }, intermediate);
  return chainOf({ root, intermediate, leaf });
};

/** Creates a signer like that of StoreKit testing in Xcode: one self-signed certificate. */
export const makeXcodeSigner = (): JwsSigner & { readonly certificate: Identity } => {
  const certificate = issueCertificate(TEMPLATES.xcode, null);
  return { ...signerWith(certificate), certificate };
};

/** SHA-256 of a certificate's DER in lower-case hex, by which roots and Xcode's certificates are trusted. */
export const fingerprintOf = ({ certificate }: Pick<Identity, "certificate">): string =>
  createHash("sha256").update(certificate).digest("hex");

const base64url = (value: object | string): string =>
  Buffer.from(
    typeof value === "string" || value instanceof Uint8Array ? value : JSON.stringify(value),
  ).toString("base64url");

/**
 * Signs a compact JWS. `header` adds or replaces members; undefined omits one. Text and bytes are signed unchanged.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7515#section-7.1
 */
export const signJws = (
  payload: object | string,
  { x5c, privateKey }: JwsSigner,
  header: Readonly<Record<string, unknown>> | string = {},
): string => {
  const signedHeader = typeof header === "string" ? header : { alg: "ES256", x5c, ...header };
  const signingInput = `${base64url(signedHeader)}.${base64url(payload)}`;
  const signature = sign("sha256", Buffer.from(signingInput), {
    key: privateKey,
    dsaEncoding: "ieee-p1363",
  });
  return `${signingInput}.${signature.toString("base64url")}`;
};

const savedIdentity = z
  .object({ certificate: z.string(), privateKey: z.string() })
  .transform(({ certificate, privateKey }): Identity => ({
    certificate: new X509Certificate(certificate).raw,
    privateKey: createPrivateKey(privateKey),
  }));
const savedChain = z.object({ root: savedIdentity, intermediate: savedIdentity, leaf: savedIdentity });

const saved = ({ certificate, privateKey }: Identity): z.input<typeof savedIdentity> => ({
  certificate: new X509Certificate(certificate).toString(),
  privateKey: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
});

/** Serializes a chain with its private keys, as PEM in JSON. Store it where only its owner can read it. */
export const exportChain = ({ root, intermediate, leaf }: SigningChain): string =>
  JSON.stringify({ root: saved(root), intermediate: saved(intermediate), leaf: saved(leaf) }, null, 2);

/** @throws Error if the text is not from {@link exportChain} */
export const importChain = (json: string): SigningChain => chainOf(savedChain.parse(JSON.parse(json)));
