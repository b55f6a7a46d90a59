import { X509Certificate, type KeyObject } from "node:crypto";
import type { Instant } from "../../../entitlements/time.ts";
import { decodeCanonical } from "./jws.ts";
import { rejected, verified, type Verdict } from "./verdict.ts";

/**
 * Root certificates of the App Store's JWS: Apple Root CA – G3.
 *
 * @see https://www.apple.com/certificateauthority/
 */
export const APPLE_ROOTS: readonly string[] = [
  "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
];

/** Trusted certificates, by the SHA-256 of their DER, hex in lower case. */
export interface Trust {
  /** Roots of chains that sign for production and sandbox. */
  readonly roots: ReadonlySet<string>;
  /** Self-signed certificates of StoreKit testing in Xcode, which sign only for the environment `xcode`. */
  readonly xcodeCertificates: ReadonlySet<string>;
}

/** Object identifiers: their DER content, in hex. */
const BASIC_CONSTRAINTS = "551d13"; // 2.5.29.19
const KEY_USAGE = "551d0f"; // 2.5.29.15
/** Apple's markers of certificates that sign for the App Store, and of those that issue them. */
const APP_STORE_SIGNING = "2a864886f76364060b01"; // 1.2.840.113635.100.6.11.1
const APPLE_INTERMEDIATE = "2a864886f76364060201"; // 1.2.840.113635.100.6.2.1

/** Extensions that are understood, by OpenSSL or here, and may therefore be critical (RFC 5280, 4.2). */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  BASIC_CONSTRAINTS,
  KEY_USAGE,
  APP_STORE_SIGNING,
  APPLE_INTERMEDIATE,
]);

/** Parses one `x5c` entry: canonical base64 of DER without trailing bytes (RFC 7515, 4.1.6); null for anything else. */
const parseCertificate = (base64: string): X509Certificate | null => {
  const der = decodeCanonical(base64, "base64");
  if (der === null) return null;
  try {
    const certificate = new X509Certificate(der);
    return certificate.raw.equals(der) ? certificate : null;
  } catch {
    return null;
  }
};

const SEQUENCE = 0x30;
/** The tag `[3]` of a certificate's extensions. */
const EXTENSIONS = 0xa3;

interface DerValue {
  readonly tag: number;
  readonly content: Uint8Array;
}

/** Consecutive DER values (ITU-T X.690): one-byte tags, lengths of up to three bytes. */
const readDer = (bytes: Uint8Array): readonly DerValue[] => {
  const values: DerValue[] = [];
  for (let start = 0; start < bytes.length;) {
    const [tag = 0, short = 0, ...long] = bytes.subarray(start, start + 5);
    const digits = short < 0x80 ? [] : long.slice(0, short - 0x80);
    const length = short < 0x80 ? short : digits.reduce((sum, digit) => sum * 0x100 + digit, 0);
    const from = start + 2 + digits.length;
    start = from + length;
    if (short > 0x83 || start > bytes.length) throw new RangeError("Not DER.");
    values.push({ tag, content: bytes.subarray(from, start) });
  }
  return values;
};

const itemsOf = (value: DerValue | undefined, tag: number = SEQUENCE): readonly DerValue[] => {
  if (value?.tag !== tag) throw new TypeError("Not of the expected ASN.1 type.");
  return readDer(value.content);
};

/**
 * A verified certificate's extensions; null where one is duplicate, unreadable, or critical and unknown. Untrusted
 * certificates are parsed by OpenSSL alone.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5280#section-4.2
 */
export const extensionsOf = ({ raw }: X509Certificate): ReadonlySet<string> | null => {
  try {
    const [toBeSigned] = itemsOf(readDer(raw)[0]);
    const [list] = itemsOf(itemsOf(toBeSigned).at(-1), EXTENSIONS);
    const found = new Set<string>();
    for (const extension of itemsOf(list)) {
      const [identifier, ...rest] = itemsOf(extension);
      const oid = Buffer.from(identifier?.content ?? []).toString("hex");
      // DER writes the flag between identifier and value only where it is true.
      const isCritical = rest.length > 1;
      if (found.has(oid) || (isCritical && !UNDERSTOOD.has(oid))) return null;
      found.add(oid);
    }
    return found;
  } catch {
    return null;
  }
};

/** Certificates verified up to a trusted one. Their validity is checked at the signing time of each JWS. */
export interface Chain {
  /** A chain of the App Store, or StoreKit testing in Xcode. */
  readonly signer: "app-store" | "xcode";
  /** SHA-256 (hex, lower case) of the trusted certificate: the root, or Xcode's. */
  readonly anchor: string;
  readonly key: KeyObject;
  /** All its certificates are valid in this interval, both ends included (RFC 5280, 4.1.2.5). */
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

const trusts = (trust: Trust, { signer, anchor }: Pick<Chain, "signer" | "anchor">): boolean =>
  (signer === "xcode" ? trust.xcodeCertificates : trust.roots).has(anchor);

const fingerprint = (certificate: X509Certificate): string =>
  certificate.fingerprint256.replaceAll(":", "").toLowerCase();

/** Whether the issuer's name and key fit, and it may sign certificates. */
const isSignedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

const hasP256Key = ({ publicKey }: X509Certificate): boolean =>
  publicKey.asymmetricKeyType === "ec" && publicKey.asymmetricKeyDetails?.namedCurve === "prime256v1";

const chainOf = (
  signer: Chain["signer"],
  anchor: string,
  leaf: X509Certificate,
  ...issuers: readonly X509Certificate[]
): Chain => ({
  signer,
  anchor,
  key: leaf.publicKey,
  notBefore: Math.max(...[leaf, ...issuers].map(({ validFromDate }) => validFromDate.getTime())),
  notAfter: Math.min(...[leaf, ...issuers].map(({ validToDate }) => validToDate.getTime())),
});

const verifyAppStoreChain = (
  leaf: X509Certificate,
  intermediate: X509Certificate,
  root: X509Certificate,
  trust: Trust,
): Verdict<Chain> => {
  const anchor = fingerprint(root);
  if (!trusts(trust, { signer: "app-store", anchor })) return rejected("untrusted_root");
  if (!isSignedBy(root, root) || !isSignedBy(intermediate, root) || !isSignedBy(leaf, intermediate))
    return rejected("broken_chain");

  const [ofLeaf, ofIntermediate, ofRoot] = [leaf, intermediate, root].map(extensionsOf);
  if (!ofLeaf || !ofIntermediate || !ofRoot) return rejected("certificate_extensions");
  const allowed =
    root.ca &&
    intermediate.ca &&
    ofIntermediate.has(APPLE_INTERMEDIATE) &&
    !leaf.ca &&
    ofLeaf.has(APP_STORE_SIGNING) &&
    hasP256Key(leaf);
  return allowed
    ? verified(chainOf("app-store", anchor, leaf, intermediate, root))
    : rejected("certificate_role");
};

/** StoreKit testing signs with a self-signed certificate that claims to be an authority and has no Apple marker. */
const verifyXcodeCertificate = (certificate: X509Certificate, trust: Trust): Verdict<Chain> => {
  const anchor = fingerprint(certificate);
  if (!trusts(trust, { signer: "xcode", anchor })) return rejected("untrusted_xcode_certificate");
  if (!certificate.verify(certificate.publicKey)) return rejected("broken_chain");
  if (extensionsOf(certificate) === null) return rejected("certificate_extensions");
  return hasP256Key(certificate)
    ? verified(chainOf("xcode", anchor, certificate))
    : rejected("certificate_role");
};

/**
 * Verifies the certificates of a JWS, except for their validity: the App Store's three, or the single one of Xcode.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwsdecodedheader
 */
export const verifyChain = (x5c: readonly string[], trust: Trust): Verdict<Chain> => {
  if (x5c.length !== 1 && x5c.length !== 3) return rejected("chain_length");
  const [leaf, intermediate, root] = x5c.map(parseCertificate);
  try {
    if (leaf && x5c.length === 1) return verifyXcodeCertificate(leaf, trust);
    if (leaf && intermediate && root) return verifyAppStoreChain(leaf, intermediate, root, trust);
  } catch {
    // OpenSSL throws on a public key that it cannot read.
  }
  return rejected("malformed_certificate");
};

/** Far more than the App Store uses at any time; a chain takes about 4 KB. */
const CHAINS_KEPT = 64;

/** Cache of verified chains, by certificates or by header. The oldest goes first. */
export const createKnownChains = () => {
  // A list, because keys are long: comparing one with the few known ones costs less than hashing it.
  const chains: { readonly key: string; readonly chain: Chain }[] = [];
  return {
    /** Null also where the chain is not trusted. */
    find: (key: string, trust: Trust): Chain | null => {
      const known = chains.find((known) => known.key === key)?.chain;
      return known !== undefined && trusts(trust, known) ? known : null;
    },
    keep: (key: string, chain: Chain): void => {
      if (chains.some((known) => known.key === key)) return;
      if (chains.push({ key, chain }) > CHAINS_KEPT) chains.shift();
    },
  };
};
export type KnownChains = ReturnType<typeof createKnownChains>;

/** {@link verifyChain}, cached by the exact certificates. */
export const verifyChainOnce = (x5c: readonly string[], trust: Trust, known: KnownChains): Verdict<Chain> => {
  const key = JSON.stringify(x5c);
  const chain = known.find(key, trust);
  if (chain !== null) return verified(chain);
  const verdict = verifyChain(x5c, trust);
  if (verdict.outcome === "verified") known.keep(key, verdict.payload);
  return verdict;
};
