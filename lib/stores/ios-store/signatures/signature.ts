import { verify, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { compactVerify } from "jose/jws/compact/verify";
import { JOSEError } from "jose/errors";
import type { CompactJws } from "./jws.ts";

/**
 * Ways to check a signature, with the same result.
 * - `first`: for a JWS whose header is new, by `jose`, which parses the header again by its own rules.
 * - `known`: for a JWS whose header is known, on libuv's threads, so that those of one request are verified in parallel.
 */
export type CheckKind = "first" | "known";
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

export const checkSignature: SignatureCheck = (kind, jws, key) => {
  if (kind === "first") return checkWhole(jws, key);
  const { compact, signature } = jws;
  // ES256 is ECDSA on P-256 (the chain ensures the curve) with SHA-256 over everything before the last dot, in ASCII. The
  // signature is R and S in sequence (RFC 7518, 3.4).
  const signed = Buffer.from(compact.slice(0, compact.lastIndexOf(".")), "latin1");
  return verifyOnThread("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, signature);
};
