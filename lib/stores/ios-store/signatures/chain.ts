import type { KeyObject, X509Certificate } from "node:crypto";
import type { Instant } from "../../../entitlements/time.ts";
import { APP_STORE_SIGNING, APPLE_INTERMEDIATE, extensionsOf, parseCertificate } from "./certificates.ts";
import type { Signer, Trust } from "./trust.ts";
import { rejected, verified, type Verdict } from "./verdict.ts";

/** Certificates verified up to a trusted one. Their validity is checked at the signing time of each JWS. */
export interface Chain {
  readonly signer: Signer;
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

/** The issuer's name and key, and whether it may sign certificates. */
const isSignedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

const hasP256Key = ({ publicKey }: X509Certificate): boolean =>
  publicKey.asymmetricKeyType === "ec" && publicKey.asymmetricKeyDetails?.namedCurve === "prime256v1";

const chainOf = (
  signer: Signer,
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
export interface KnownChains {
  /** Null also where the chain is not trusted. */
  find(key: string, trust: Trust): Chain | null;
  keep(key: string, chain: Chain): void;
}

export const createKnownChains = (): KnownChains => {
  // A list, because keys are long: comparing one with the few known ones costs less than hashing it.
  const chains: { readonly key: string; readonly chain: Chain }[] = [];
  return {
    find: (key, trust) => {
      const known = chains.find((known) => known.key === key)?.chain;
      return known !== undefined && trusts(trust, known) ? known : null;
    },
    keep: (key, chain) => {
      if (chains.some((known) => known.key === key)) return;
      if (chains.push({ key, chain }) > CHAINS_KEPT) chains.shift();
    },
  };
};

/** {@link verifyChain}, cached by the exact certificates. */
export const verifyChainOnce = (x5c: readonly string[], trust: Trust, known: KnownChains): Verdict<Chain> => {
  const key = JSON.stringify(x5c);
  const chain = known.find(key, trust);
  if (chain !== null) return verified(chain);
  const verdict = verifyChain(x5c, trust);
  if (verdict.outcome === "verified") known.keep(key, verdict.payload);
  return verdict;
};
