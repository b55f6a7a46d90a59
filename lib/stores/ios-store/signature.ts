import { verify, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { compactVerify } from "jose/jws/compact/verify";
import { JOSEError } from "jose/errors";
import type { CompactJws } from "./jws.ts";

/** Whether the key made the signature. */
export type SignatureCheck = (jws: CompactJws, key: KeyObject) => boolean | Promise<boolean>;

/** By `jose`, which reads the header anew and by rules of its own: whether the JWS is one at all, and of ES256. */
const checkWhole: SignatureCheck = async ({ compact }, key) => {
  try {
    await compactVerify(compact, key, { algorithms: ["ES256"] });
    return true;
  } catch (error) {
    if (error instanceof JOSEError) return false;
    throw error;
  }
};

/** ES256 is ECDSA on P-256, which the chain has made sure of, with SHA-256 of all before the last dot, in ASCII. */
const signedBytes = ({ compact }: CompactJws): Buffer =>
  Buffer.from(compact.slice(0, compact.lastIndexOf(".")), "latin1");

/** An unsigned number of 32 bytes as a DER INTEGER: no leading zeros, but one before a bit that would be a sign. */
const integer = (number: Uint8Array): Buffer => {
  let first = 0;
  while (first < number.length - 1 && number[first] === 0) first += 1;
  const digits = number.subarray(first);
  const sign = (digits[0] ?? 0) > 0x7f ? 1 : 0;
  const der = Buffer.alloc(2 + sign + digits.length);
  der[0] = 0x02;
  der[1] = sign + digits.length;
  der.set(digits, 2 + sign);
  return der;
};

/**
 * R and S one after the other (RFC 7518, 3.4) as the sequence of RFC 3279, 2.2.3: with it and a bare key OpenSSL needs
 * 90 µs for a signature, and 128 for the same in the other form.
 */
const derSignature = ({ signature }: CompactJws): Buffer => {
  const numbers = Buffer.concat([integer(signature.subarray(0, 32)), integer(signature.subarray(32))]);
  return Buffer.concat([Buffer.of(0x30, numbers.length), numbers]);
};

/** In this thread: of one JWS alone the way to another and back takes as long as the check. */
const checkHere: SignatureCheck = (jws, key) => verify("sha256", signedBytes(jws), key, derSignature(jws));

const verifyOnThread = promisify(verify);

/** On libuv's threads, so that the JWS of one request are verified side by side. */
const checkOnThread: SignatureCheck = (jws, key) =>
  verifyOnThread("sha256", signedBytes(jws), key, derSignature(jws));

/** The ways to check a signature, all of which come to the same. */
export interface SignatureChecks {
  /** Of a JWS whose header was not seen before. */
  readonly first: SignatureCheck;
  /** Of one JWS, and of each of several, whose header is known: it asks for nothing but ES256. */
  readonly alone: SignatureCheck;
  readonly together: SignatureCheck;
}

export const SIGNATURE_CHECKS: SignatureChecks = {
  first: checkWhole,
  alone: checkHere,
  together: checkOnThread,
};
