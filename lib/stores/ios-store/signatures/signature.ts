import { verify, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { compactVerify } from "jose/jws/compact/verify";
import { JOSEError } from "jose/errors";
import type { CompactJws } from "./jws.ts";

/** Whether the key made the signature. */
export type SignatureCheck = (jws: CompactJws, key: KeyObject) => boolean | Promise<boolean>;

/** Checks with `jose`, which parses the header again by its own rules: whether this is a JWS at all, and ES256. */
const checkWhole: SignatureCheck = async ({ compact }, key) => {
  try {
    await compactVerify(compact, key, { algorithms: ["ES256"] });
    return true;
  } catch (error) {
    if (error instanceof JOSEError) return false;
    throw error;
  }
};

/** ES256 is ECDSA on P-256 (the chain ensures the curve) with SHA-256 over everything before the last dot, in ASCII. */
const signedBytes = ({ compact }: CompactJws): Buffer =>
  Buffer.from(compact.slice(0, compact.lastIndexOf(".")), "latin1");

/** R and S in sequence (RFC 7518, 3.4). */
const withEncoding = (key: KeyObject) => ({ key, dsaEncoding: "ieee-p1363" }) as const;

/** On this thread: for a single JWS, the round trip to another thread takes as long as the check. */
const checkHere: SignatureCheck = (jws, key) =>
  verify("sha256", signedBytes(jws), withEncoding(key), jws.signature);

const verifyOnThread = promisify(verify);

/** On libuv's threads, so that the JWS of one request are verified in parallel. */
const checkOnThread: SignatureCheck = (jws, key) =>
  verifyOnThread("sha256", signedBytes(jws), withEncoding(key), jws.signature);

/** Ways to check a signature. All give the same result. */
export interface SignatureChecks {
  /** For a JWS whose header is new. */
  readonly first: SignatureCheck;
  /** For a single JWS, or each of several, whose header is known: nothing but ES256 is left to check. */
  readonly alone: SignatureCheck;
  readonly together: SignatureCheck;
}

export const SIGNATURE_CHECKS: SignatureChecks = {
  first: checkWhole,
  alone: checkHere,
  together: checkOnThread,
};
