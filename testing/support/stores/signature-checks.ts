import {
  checkSignature,
  type CheckKind,
  type SignatureCheck,
} from "../../../lib/stores/ios-store/signatures/jws.ts";

/** The real check, with counters. */
export interface WatchedChecks {
  readonly checks: SignatureCheck;
  /** Checks of each kind so far. */
  readonly done: Record<CheckKind, number>;
  /** Most concurrent checks so far. */
  readonly atOnce: () => number;
}

export const watchChecks = (): WatchedChecks => {
  const done = { first: 0, alone: 0, together: 0 };
  let running = 0;
  let most = 0;
  return {
    checks: async (kind, jws, key) => {
      done[kind] += 1;
      running += 1;
      most = Math.max(most, running);
      try {
        return await checkSignature(kind, jws, key);
      } finally {
        running -= 1;
      }
    },
    done,
    atOnce: () => most,
  };
};
