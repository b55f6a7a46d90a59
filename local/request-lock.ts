import { setTimeout as sleep } from "node:timers/promises";

/** Longest wait for shared work: more than API Gateway's longest request. */
const LONGEST_WAIT_MILLISECONDS = 30_000;

/** A readers-writer lock: requests share it, and a reset holds it alone. */
export const createRequestLock = () => {
  let released: Promise<void> | null = null;
  const shared = new Set<Promise<unknown>>();

  const sharedWorkEnded = async (): Promise<void> => {
    const over = new AbortController();
    await Promise.race([
      Promise.allSettled(shared),
      sleep(LONGEST_WAIT_MILLISECONDS, undefined, { signal: over.signal }),
    ]);
    over.abort();
  };

  /** Runs the work beside other shared work; if the lock is held alone, once it is released. */
  const share = async <T>(work: () => Promise<T>): Promise<T> => {
    if (released) {
      await released;
      return share(work);
    }
    const done = work();
    shared.add(done);
    try {
      return await done;
    } finally {
      shared.delete(done);
    }
  };

  return {
    share,
    /** Waits for shared work to end, and runs this work alone. */
    holdAlone: async <T>(work: () => Promise<T>): Promise<T> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      released = promise;
      try {
        await sharedWorkEnded();
        return await work();
      } finally {
        released = null;
        resolve();
      }
    },
  };
};
