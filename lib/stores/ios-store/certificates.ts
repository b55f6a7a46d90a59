import { X509Certificate } from "node:crypto";
import { BitString, Boolean, Constructed, fromBER, Integer, ObjectIdentifier, OctetString } from "asn1js";
import { decodeCanonical } from "./encoding.ts";

/** Apple marks the certificates that sign for the App Store, and those that issue them. */
export const APP_STORE_SIGNING = "1.2.840.113635.100.6.11.1";
export const APPLE_INTERMEDIATE = "1.2.840.113635.100.6.2.1";

const BASIC_CONSTRAINTS = "2.5.29.19";
const KEY_USAGE = "2.5.29.15";

/** What is understood here, and may therefore be critical (RFC 5280, 4.2). */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  BASIC_CONSTRAINTS,
  KEY_USAGE,
  APP_STORE_SIGNING,
  APPLE_INTERMEDIATE,
]);

/** What a certificate says that `node:crypto` does not tell. */
export interface CertificateFields {
  /** Names as DER: equal only when equal byte for byte. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly isAuthority: boolean;
  /** How many authorities may stand between it and the signing certificate. */
  readonly pathLength: number;
  readonly maySignCertificates: boolean;
  readonly maySignData: boolean;
  /** Object identifiers of all its extensions. */
  readonly extensions: ReadonlySet<string>;
}

/** The certificate of one `x5c` entry: canonical base64 of DER and of nothing after it (RFC 7515, 4.1.6). */
export const parseCertificate = (base64: string): X509Certificate | null => {
  const der = decodeCanonical(base64, "base64");
  if (der === null) return null;
  try {
    const certificate = new X509Certificate(der);
    return certificate.raw.equals(der) ? certificate : null;
  } catch {
    return null;
  }
};

const as = <Block>(type: new () => Block, block: unknown): Block => {
  if (block instanceof type) return block;
  throw new TypeError("Not of the expected ASN.1 type.");
};

const items = (block: unknown): readonly unknown[] => as(Constructed, block).valueBlock.value;

const decode = (der: ArrayBuffer): unknown => {
  const { offset, result } = fromBER(der, { parseEmbedded: false });
  if (offset !== der.byteLength) throw new TypeError("Not one ASN.1 value.");
  return result;
};

const isTagged = (block: unknown, tag: number): block is Constructed =>
  block instanceof Constructed && block.idBlock.tagClass === 3 && block.idBlock.tagNumber === tag;

/** Object identifier to value. */
const readExtensions = (extensions: readonly unknown[]): Map<string, ArrayBuffer> => {
  const read = new Map<string, ArrayBuffer>();
  for (const extension of extensions) {
    const [identifier, ...rest] = items(extension);
    const oid = as(ObjectIdentifier, identifier).getValue();
    const critical = rest.length === 2 && as(Boolean, rest[0]).getValue();
    if (read.has(oid)) throw new TypeError("A duplicate extension.");
    if (critical && !UNDERSTOOD.has(oid)) throw new TypeError("An unknown critical extension.");
    read.set(oid, as(OctetString, rest.at(-1)).getValue());
  }
  return read;
};

const readBasicConstraints = (
  value: ArrayBuffer | undefined,
): Pick<CertificateFields, "isAuthority" | "pathLength"> => {
  if (value === undefined) return { isAuthority: false, pathLength: 0 };
  const [authority, pathLength] = items(decode(value));
  return {
    isAuthority: authority !== undefined && as(Boolean, authority).getValue(),
    pathLength: pathLength === undefined ? Infinity : Number(as(Integer, pathLength).toBigInt()),
  };
};

const DIGITAL_SIGNATURE = 0x80;
const KEY_CERT_SIGN = 0x04;

/** A certificate without the extension may do anything (RFC 5280, 4.2.1.3). */
const readKeyUsage = (
  value: ArrayBuffer | undefined,
): Pick<CertificateFields, "maySignCertificates" | "maySignData"> => {
  if (value === undefined) return { maySignCertificates: true, maySignData: true };
  const [bits = 0] = as(BitString, decode(value)).valueBlock.valueHexView;
  return {
    maySignCertificates: (bits & KEY_CERT_SIGN) !== 0,
    maySignData: (bits & DIGITAL_SIGNATURE) !== 0,
  };
};

const readFields = (der: ArrayBuffer): CertificateFields => {
  const [toBeSigned] = items(decode(der));
  const [version, , , issuer, , subject, , ...optional] = items(toBeSigned);
  if (!isTagged(version, 0)) throw new TypeError("Not a certificate with extensions.");
  const [list] = items(optional.find((block) => isTagged(block, 3)));
  const extensions = readExtensions(items(list));
  return {
    issuer: as(Constructed, issuer).valueBeforeDecodeView,
    subject: as(Constructed, subject).valueBeforeDecodeView,
    ...readBasicConstraints(extensions.get(BASIC_CONSTRAINTS)),
    ...readKeyUsage(extensions.get(KEY_USAGE)),
    extensions: new Set(extensions.keys()),
  };
};

/**
 * Reads a certificate's names and extensions; null where an extension is duplicate or unreadable, or critical and
 * unknown. For certificates whose signature is verified, so that only OpenSSL ever reads what anybody may have made.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5280#section-4.2
 */
export const fieldsOf = (certificate: X509Certificate): CertificateFields | null => {
  try {
    return readFields(new Uint8Array(certificate.raw).buffer);
  } catch {
    return null;
  }
};
