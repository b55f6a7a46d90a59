import { verify, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { JOSEError } from "jose/errors";
import { compactVerify } from "jose/jws/compact/verify";
import { rejected, verified, type Verdict } from "./verdict.ts";

/** Decodes the one canonical encoding of its bytes; null for whitespace, another alphabet or stray bits. */
export const decodeCanonical = (text: string, encoding: "base64" | "base64url"): Buffer | null => {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : null;
};

export type JsonObject = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Counts colons outside strings, one per member. Expects valid JSON. */
const countWrittenMembers = (json: string): number => {
  let members = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json.charCodeAt(index);
    if (inString && character === BACKSLASH) index += 1;
    else if (character === QUOTE) inString = !inString;
    else if (character === COLON && !inString) members += 1;
  }
  return members;
};

/** Iterative, so that deep nesting cannot overflow the stack. */
const countMembers = (json: unknown): number => {
  const values = [json];
  let members = 0;
  for (const value of values) {
    if (typeof value !== "object" || value === null) continue;
    const inner: unknown[] = Object.values(value);
    if (!Array.isArray(value)) members += inner.length;
    for (const item of inner) if (typeof item === "object") values.push(item);
  }
  return members;
};

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses a JSON object in UTF-8. Parsers disagree on duplicate names (RFC 8259, 4; RFC 7515, 10.12): null. */
export const parseJsonObject = (bytes: Uint8Array): JsonObject | null => {
  try {
    const json = utf8.decode(bytes);
    const value: unknown = JSON.parse(json);
    // The parser keeps only one member of a duplicate name.
    return isObject(value) && countMembers(value) === countWrittenMembers(json) ? value : null;
  } catch {
    return null;
  }
};

/** A compact JWS, split into its parts. Nothing is verified, and the header is not decoded. */
export interface CompactJws {
  readonly compact: string;
  /** Still base64url-encoded. */
  readonly header: string;
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
}

const ES256_SIGNATURE_BYTES = 64;

/** Maximum length of a header in characters: three times the App Store's. A longer one is not decoded, so it costs nothing. */
export const LONGEST_HEADER = 16 * 1024;

/**
 * Splits a compact JWS; rejects one that could be read in more than one way.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7515#section-7.1
 */
export const splitJws = (compact: string): Verdict<CompactJws> => {
  const parts = compact.split(".", 4);
  const [header, ...rest] = parts;
  if (header === undefined || header.length > LONGEST_HEADER) return rejected("malformed_jws");
  const [payload, signature] = rest.map((part) => decodeCanonical(part, "base64url"));
  if (parts.length !== 3 || !header || !payload || signature?.length !== ES256_SIGNATURE_BYTES)
    return rejected("malformed_jws");
  return verified({ compact, header, payload, signature });
};

/** Characters of a signature in base64url. */
const SIGNATURE_LENGTH = 86;

/**
 * Distinct compact JWS, in order of first appearance. Compares signatures: a `Set` hashes every character, which for a
 * thousand transactions takes longer than all else but verification. A text that shares another's signature is kept, even
 * if repeated: it cannot be valid.
 */
export const distinctJws = (compacts: readonly string[]): readonly string[] => {
  const firsts = new Map<string, string>();
  return compacts.filter((compact) => {
    const signature = compact.slice(-SIGNATURE_LENGTH);
    const first = firsts.get(signature);
    if (first === undefined) firsts.set(signature, compact);
    return first !== compact;
  });
};

/**
 * Certificates of the `x5c` header, the signing one first. Keys named in other ways (`jwk`, `jku`, `x5u`, `kid`) are never
 * used: nobody vouches for them.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7515#section-4.1
 */
export const certificatesOf = ({ header }: CompactJws): Verdict<readonly string[]> => {
  const bytes = decodeCanonical(header, "base64url");
  const members = bytes && parseJsonObject(bytes);
  if (members === null) return rejected("malformed_jws");
  if (members["alg"] !== "ES256") return rejected("algorithm_not_accepted");
  if (Object.hasOwn(members, "crit") || Object.hasOwn(members, "b64")) return rejected("critical_header");
  const x5c: unknown = members["x5c"];
  return Array.isArray(x5c) && x5c.every((item) => typeof item === "string")
    ? verified(x5c)
    : rejected("chain_length");
};

/**
 * Ways to check a signature, with the same result.
 * - `first`: for a JWS whose header is new, by `jose`, which parses the header again by its own rules.
 * - `alone`: for one whose header is known, on this thread: another thread's round trip takes longer than the check.
 * - `together`: for each of several whose headers are known, on libuv's threads, in parallel.
 */
export type CheckKind = "first" | "alone" | "together";
export type SignatureCheck = (kind: CheckKind, jws: CompactJws, key: KeyObject) => Promise<boolean>;

const checkWhole = async ({ compact }: CompactJws, key: KeyObject): Promise<boolean> => {
  try {
    await compactVerify(compact, key, { algorithms: ["ES256"] });
    return true;
  } catch (error) {
    if (error instanceof JOSEError) return false;
    throw error;
  }
};

const verifyOnThread = promisify(verify);

/** An unsigned number as a DER INTEGER: no leading zeros, except one where the first bit would be read as a sign. */
const integer = (number: Uint8Array): Buffer => {
  const digits = number.subarray(number.findIndex((byte) => byte !== 0));
  const sign = (digits[0] ?? 0) > 0x7f ? [0] : [];
  return Buffer.from([0x02, sign.length + digits.length, ...sign, ...digits]);
};

/**
 * R and S in sequence (RFC 7518, 3.4) as DER (RFC 3279, 2.2.3): OpenSSL verifies it in two thirds of the time that Node's
 * `ieee-p1363` takes.
 */
const derSignature = (signature: Uint8Array): Buffer => {
  const numbers = Buffer.concat([integer(signature.subarray(0, 32)), integer(signature.subarray(32))]);
  return Buffer.concat([Buffer.of(0x30, numbers.length), numbers]);
};

export const checkSignature: SignatureCheck = async (kind, jws, key) => {
  if (kind === "first") return checkWhole(jws, key);
  const { compact } = jws;
  // ES256 is ECDSA on P-256 (the chain ensures the curve) with SHA-256 over everything before the last dot, in ASCII.
  const signed = Buffer.from(compact.slice(0, compact.lastIndexOf(".")), "latin1");
  const signature = derSignature(jws.signature);
  return kind === "alone"
    ? verify("sha256", signed, key, signature)
    : verifyOnThread("sha256", signed, key, signature);
};
