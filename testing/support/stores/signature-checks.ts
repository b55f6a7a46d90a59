import {
  SIGNATURE_CHECKS,
  type SignatureCheck,
  type SignatureChecks,
} from "../../../lib/stores/ios-store/signatures/signature.ts";

/** The real checks, with counters. */
export interface WatchedChecks {
  readonly checks: SignatureChecks;
  /** Checks of each kind so far. */
  readonly done: Record<keyof SignatureChecks, number>;
  /** Most concurrent checks so far. */
  readonly atOnce: () => number;
}

export const watchChecks = (): WatchedChecks => {
  const done = { first: 0, alone: 0, together: 0 };
  let running = 0;
  let most = 0;
  const watched =
    (kind: keyof SignatureChecks): SignatureCheck =>
    async (jws, key) => {
      done[kind] += 1;
      running += 1;
      most = Math.max(most, running);
      try {
        return await SIGNATURE_CHECKS[kind](jws, key);
      } finally {
        running -= 1;
      }
    };
  return {
    checks: { first: watched("first"), alone: watched("alone"), together: watched("together") },
    done,
    atOnce: () => most,
  };
};
