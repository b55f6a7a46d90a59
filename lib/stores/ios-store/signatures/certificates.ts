import { X509Certificate } from "node:crypto";
import { decodeCanonical } from "./encoding.ts";

/** Object identifiers: their DER content, in hex. */
const BASIC_CONSTRAINTS = "551d13"; // 2.5.29.19
const KEY_USAGE = "551d0f"; // 2.5.29.15
/** Apple's markers of certificates that sign for the App Store, and of those that issue them. */
export const APP_STORE_SIGNING = "2a864886f76364060b01"; // 1.2.840.113635.100.6.11.1
export const APPLE_INTERMEDIATE = "2a864886f76364060201"; // 1.2.840.113635.100.6.2.1

/** Extensions that are understood, by OpenSSL or here, and may therefore be critical (RFC 5280, 4.2). */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  BASIC_CONSTRAINTS,
  KEY_USAGE,
  APP_STORE_SIGNING,
  APPLE_INTERMEDIATE,
]);

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

const readExtensions = (der: Uint8Array): ReadonlySet<string> => {
  const [toBeSigned] = itemsOf(readDer(der)[0]);
  const [list] = itemsOf(itemsOf(toBeSigned).at(-1), EXTENSIONS);
  const found = new Set<string>();
  for (const extension of itemsOf(list)) {
    const [identifier, ...rest] = itemsOf(extension);
    const oid = Buffer.from(identifier?.content ?? []).toString("hex");
    // DER writes the flag between identifier and value only where it is true.
    const isCritical = rest.length > 1;
    if (found.has(oid) || (isCritical && !UNDERSTOOD.has(oid))) throw new TypeError("Not understood.");
    found.add(oid);
  }
  return found;
};

/**
 * A verified certificate's extensions; null where one is duplicate, unreadable, or critical and unknown. Untrusted
 * certificates are parsed by OpenSSL alone.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5280#section-4.2
 */
export const extensionsOf = ({ raw }: X509Certificate): ReadonlySet<string> | null => {
  try {
    return readExtensions(raw);
  } catch {
    return null;
  }
};
