import { X509Certificate } from "node:crypto";
import { readDer, TAGS, type DerValue } from "./der.ts";
import { decodeCanonical } from "./encoding.ts";

/** Object identifiers, as DER writes them, in hex. */
const BASIC_CONSTRAINTS = "551d13"; // 2.5.29.19
const KEY_USAGE = "551d0f"; // 2.5.29.15
/** Apple marks the certificates that sign for the App Store, and those that issue them. */
export const APP_STORE_SIGNING = "2a864886f76364060b01"; // 1.2.840.113635.100.6.11.1
export const APPLE_INTERMEDIATE = "2a864886f76364060201"; // 1.2.840.113635.100.6.2.1

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
  /** Object identifiers of all its extensions, as DER in hex. */
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

/** @throws TypeError where there is no value, or one of another kind */
const expected = (value: DerValue | undefined, tag: number): DerValue => {
  if (value?.tag !== tag) throw new TypeError("Not of the expected ASN.1 type.");
  return value;
};

const itemsOf = (value: DerValue | undefined, tag: number = TAGS.sequence): readonly DerValue[] =>
  readDer(expected(value, tag).content);

/** The one value of these bytes. */
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
  if (truth === undefined) throw new TypeError("Not a boolean of DER.");
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

/** A number of one byte: more authorities than that stand nowhere. */
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

/** A certificate without the extension may do anything (RFC 5280, 4.2.1.3). */
const readKeyUsage = (
  value: Uint8Array | undefined,
): Pick<CertificateFields, "maySignCertificates" | "maySignData"> => {
  if (value === undefined) return { maySignCertificates: true, maySignData: true };
  // The first byte says how many bits of the last one are not used; those are zero. There are nine usages.
  const [unused = 8, bits = 0, ...more] = expected(readOne(value), TAGS.bitString).content;
  if (unused > 7 || more.length > 1 || ((more[0] ?? bits) & ((1 << unused) - 1)) !== 0)
    throw new TypeError("Not a key usage.");
  return {
    maySignCertificates: (bits & KEY_CERT_SIGN) !== 0,
    maySignData: (bits & DIGITAL_SIGNATURE) !== 0,
  };
};

/** The INTEGER 2: only certificates of version 3 have extensions (RFC 5280, 4.1.2.1). */
const VERSION_3 = "020102";

const readFields = (der: Uint8Array): CertificateFields => {
  const [toBeSigned] = itemsOf(readOne(der));
  const [version, , , issuer, , subject, , ...optional] = itemsOf(toBeSigned);
  if (hex(expected(version, TAGS.version)) !== VERSION_3) throw new TypeError("Not of version 3.");
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
 * Reads a certificate's names and extensions; null where an extension is duplicate or unreadable, or critical and
 * unknown. For certificates whose signature is verified, so that only OpenSSL ever reads what anybody may have made.
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
