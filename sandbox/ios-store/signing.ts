import { createHash, createPrivateKey, sign, X509Certificate, type KeyObject } from "node:crypto";
import * as z from "zod";
import { type CertificateTemplate, type Identity, TEMPLATES, issueCertificate } from "./certificates.ts";

export interface JwsSigner {
  readonly x5c: readonly string[];
  readonly privateKey: KeyObject;
}

/** A chain of three certificates, like the App Store's. */
export interface SigningChain extends JwsSigner {
  readonly root: Identity;
  readonly intermediate: Identity;
  readonly leaf: Identity;
}

/** A signer that puts the given certificates into `x5c`, the signing one first. */
export const signerWith = (signing: Identity, ...others: readonly Identity[]): JwsSigner => ({
  x5c: [signing, ...others].map(({ certificate }) => certificate.toString("base64")),
  privateKey: signing.privateKey,
});

const chainOf = (root: Identity, intermediate: Identity, leaf: Identity): SigningChain => ({
  ...signerWith(leaf, intermediate, root),
  root,
  intermediate,
  leaf,
});

export type ChainOverrides = {
  readonly [Part in "root" | "intermediate" | "leaf"]?: Partial<CertificateTemplate>;
};

export const makeChain = (overrides: ChainOverrides = {}): SigningChain => {
  const root = issueCertificate({ ...TEMPLATES.root, ...overrides.root }, null);
  const intermediate = issueCertificate({ ...TEMPLATES.intermediate, ...overrides.intermediate }, root);
  const leaf = issueCertificate({ ...TEMPLATES.leaf, ...overrides.leaf }, intermediate);
  return chainOf(root, intermediate, leaf);
};

/** Creates a signer like that of StoreKit testing in Xcode: one self-signed certificate. */
export const makeXcodeSigner = (
  overrides: Partial<CertificateTemplate> = {},
): JwsSigner & { readonly certificate: Identity } => {
  const certificate = issueCertificate({ ...TEMPLATES.xcode, ...overrides }, null);
  return { ...signerWith(certificate), certificate };
};

/** SHA-256 of a certificate's DER in lower-case hex, by which roots and Xcode's certificates are trusted. */
export const fingerprintOf = ({ certificate }: Pick<Identity, "certificate">): string =>
  createHash("sha256").update(certificate).digest("hex");

const base64url = (value: string | Uint8Array): string => Buffer.from(value).toString("base64url");

/**
 * Signs a compact JWS. `header` adds or replaces members; undefined omits one. A payload or header given as text is signed
 * unchanged.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7515#section-7.1
 */
export const signJws = (
  payload: object | string | Uint8Array,
  { x5c, privateKey }: JwsSigner,
  header: Readonly<Record<string, unknown>> | string = {},
): string => {
  const headerText = typeof header === "string" ? header : JSON.stringify({ alg: "ES256", x5c, ...header });
  const payloadText =
    typeof payload === "string" || payload instanceof Uint8Array ? payload : JSON.stringify(payload);
  const signingInput = `${base64url(headerText)}.${base64url(payloadText)}`;
  const signature = sign("sha256", Buffer.from(signingInput), {
    key: privateKey,
    dsaEncoding: "ieee-p1363",
  });
  return `${signingInput}.${base64url(signature)}`;
};

const savedIdentity = z.object({ certificate: z.string(), privateKey: z.string() });
const savedChain = z.object({ root: savedIdentity, intermediate: savedIdentity, leaf: savedIdentity });

const saved = ({ certificate, privateKey }: Identity): z.infer<typeof savedIdentity> => ({
  certificate: new X509Certificate(certificate).toString(),
  privateKey: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
});

const restored = ({ certificate, privateKey }: z.infer<typeof savedIdentity>): Identity => {
  const x509 = new X509Certificate(certificate);
  return {
    commonName: /^CN=(.*)$/m.exec(x509.subject)?.[1] ?? "",
    certificate: x509.raw,
    privateKey: createPrivateKey(privateKey),
  };
};

/** Serializes a chain with its private keys, as PEM in JSON. Store it where only its owner can read it. */
export const exportChain = ({ root, intermediate, leaf }: SigningChain): string =>
  JSON.stringify({ root: saved(root), intermediate: saved(intermediate), leaf: saved(leaf) }, null, 2);

/** @throws ZodError or SyntaxError if the text is not from {@link exportChain} */
export const importChain = (json: string): SigningChain => {
  const { root, intermediate, leaf } = savedChain.parse(JSON.parse(json));
  return chainOf(restored(root), restored(intermediate), restored(leaf));
};
