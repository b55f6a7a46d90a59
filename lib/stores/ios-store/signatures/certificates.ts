import { X509Certificate } from "node:crypto";
import { readDer, TAGS, type DerValue } from "./der.ts";
import { decodeCanonical } from "./encoding.ts";

/** Object identifiers: their DER content, in hex. */
const BASIC_CONSTRAINTS = "551d13"; // 2.5.29.19
const KEY_USAGE = "551d0f"; // 2.5.29.15
/** Apple's markers of certificates that sign for the App Store, and of those that issue them. */
export const APP_STORE_SIGNING = "2a864886f76364060b01"; // 1.2.840.113635.100.6.11.1
export const APPLE_INTERMEDIATE = "2a864886f76364060201"; // 1.2.840.113635.100.6.2.1

/** Extensions that are understood here, and may therefore be critical (RFC 5280, 4.2). */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  BASIC_CONSTRAINTS,
  KEY_USAGE,
  APP_STORE_SIGNING,
  APPLE_INTERMEDIATE,
]);

/** Certificate fields that `node:crypto` does not expose. */
export interface CertificateFields {
  /** DER-encoded names, compared byte for byte. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly isAuthority: boolean;
  /** Largest number of authorities between it and the signing certificate. */
  readonly pathLength: number;
  readonly maySignCertificates: boolean;
  readonly maySignData: boolean;
  /** Object identifiers of all its extensions, in hex. */
  readonly extensions: ReadonlySet<string>;
}

/** Parses one `x5c` entry: canonical base64 of DER without trailing bytes (RFC 7515, 4.1.6); null for anything else. */
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

/** @throws TypeError where the value is missing or has another tag */
const expected = (value: DerValue | undefined, tag: number): DerValue => {
  if (value?.tag !== tag) throw new TypeError("Not of the expected ASN.1 type.");
  return value;
};

const itemsOf = (value: DerValue | undefined, tag: number = TAGS.sequence): readonly DerValue[] =>
  readDer(expected(value, tag).content);

/** Parses bytes that hold exactly one value. */
const readOne = (bytes: Uint8Array): DerValue => {
  const [value, ...more] = readDer(bytes);
  if (value === undefined || more.length > 0) throw new TypeError("Not one ASN.1 value.");
  return value;
};

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["00", false],
  ["ff", true],
]);

const hex = ({ content }: DerValue): string => Buffer.from(content).toString("hex");

const readBoolean = (value: DerValue | undefined): boolean => {
  const truth = BOOLEANS.get(hex(expected(value, TAGS.boolean)));
  if (truth === undefined) throw new TypeError("Not a DER boolean.");
  return truth;
};

/** Object identifier to value. */
const readExtensions = (extensions: readonly DerValue[]): Map<string, Uint8Array> => {
  const read = new Map<string, Uint8Array>();
  for (const extension of extensions) {
    const [identifier, ...rest] = itemsOf(extension);
    const oid = hex(expected(identifier, TAGS.objectIdentifier));
    const critical = rest.length > 1 && readBoolean(rest[0]);
    if (rest.length > 2) throw new TypeError("Not an extension.");
    if (read.has(oid)) throw new TypeError("A duplicate extension.");
    if (critical && !UNDERSTOOD.has(oid)) throw new TypeError("An unknown critical extension.");
    read.set(oid, expected(rest.at(-1), TAGS.octetString).content);
  }
  return read;
};

/** A single byte, at most 127: no chain has more authorities. */
const readPathLength = (value: DerValue): number => {
  const [number = 0xff, ...more] = expected(value, TAGS.integer).content;
  if (number > 0x7f || more.length > 0) throw new TypeError("Not a path length.");
  return number;
};

const readBasicConstraints = (
  value: Uint8Array | undefined,
): Pick<CertificateFields, "isAuthority" | "pathLength"> => {
  if (value === undefined) return { isAuthority: false, pathLength: 0 };
  const [authority, pathLength, ...more] = itemsOf(readOne(value));
  if (more.length > 0) throw new TypeError("Not basic constraints.");
  return {
    isAuthority: authority !== undefined && readBoolean(authority),
    pathLength: pathLength === undefined ? Infinity : readPathLength(pathLength),
  };
};

const DIGITAL_SIGNATURE = 0x80;
const KEY_CERT_SIGN = 0x04;

/** Without the extension every usage is allowed (RFC 5280, 4.2.1.3). */
const readKeyUsage = (
  value: Uint8Array | undefined,
): Pick<CertificateFields, "maySignCertificates" | "maySignData"> => {
  if (value === undefined) return { maySignCertificates: true, maySignData: true };
  // The first byte counts the unused bits of the last one, which must be zero. Nine usages fit into two bytes.
  const [unused = 8, bits = 0, ...more] = expected(readOne(value), TAGS.bitString).content;
  if (unused > 7 || more.length > 1 || ((more[0] ?? bits) & ((1 << unused) - 1)) !== 0)
    throw new TypeError("Not a key usage.");
  return {
    maySignCertificates: (bits & KEY_CERT_SIGN) !== 0,
    maySignData: (bits & DIGITAL_SIGNATURE) !== 0,
  };
};

/** The INTEGER 2: only version 3 certificates have extensions (RFC 5280, 4.1.2.1). */
const VERSION_3 = "020102";

const readFields = (der: Uint8Array): CertificateFields => {
  const [toBeSigned] = itemsOf(readOne(der));
  const [version, , , issuer, , subject, , ...optional] = itemsOf(toBeSigned);
  if (hex(expected(version, TAGS.version)) !== VERSION_3) throw new TypeError("Not version 3.");
  const [list, ...more] = itemsOf(optional.at(-1), TAGS.extensions);
  if (more.length > 0) throw new TypeError("Not one list of extensions.");
  const extensions = readExtensions(itemsOf(list));
  return {
    issuer: expected(issuer, TAGS.sequence).encoding,
    subject: expected(subject, TAGS.sequence).encoding,
    ...readBasicConstraints(extensions.get(BASIC_CONSTRAINTS)),
    ...readKeyUsage(extensions.get(KEY_USAGE)),
    extensions: new Set(extensions.keys()),
  };
};

/**
 * Reads a certificate's names and extensions; null where an extension is duplicate, unreadable, or critical and
 * unknown. Call it only for certificates whose signature is verified, so that only OpenSSL parses untrusted input.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5280#section-4.2
 */
export const fieldsOf = (certificate: X509Certificate): CertificateFields | null => {
  try {
    return readFields(certificate.raw);
  } catch {
    return null;
  }
};
