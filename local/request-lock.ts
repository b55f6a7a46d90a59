import { setTimeout as sleep } from "node:timers/promises";

/** A readers-writer lock: requests share it, and a reset holds it alone. */
export interface RequestLock {
  /** Runs the work beside other shared work; if the lock is held alone, once it is released. */
  share<T>(work: () => Promise<T>): Promise<T>;
  /** Waits for shared work to end, and runs this work alone. */
  holdAlone<T>(work: () => Promise<T>): Promise<T>;
}

/** Longest wait for shared work: more than API Gateway's longest request. */
const LONGEST_WAIT_MILLISECONDS = 30_000;

export const createRequestLock = (): RequestLock => {
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

  const lock: RequestLock = {
    share: async (work) => {
      if (released) {
        await released;
        return lock.share(work);
      }
      const done = work();
      shared.add(done);
      try {
        return await done;
      } finally {
        shared.delete(done);
      }
    },
    holdAlone: async (work) => {
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
  return lock;
};
