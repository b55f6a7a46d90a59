import { setTimeout as sleep } from "node:timers/promises";

/** A gate before the service that can be closed for a while. */
export interface Turnstile {
  /** Runs the work; while the gate is closed, once it is open again. */
  enter<T>(work: () => Promise<T>): Promise<T>;
  /** Closes the gate, waits for running work to end, and runs this work alone. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** Longest wait for running work: more than API Gateway's longest request. */
const LONGEST_WAIT_MILLISECONDS = 30_000;

export const createTurnstile = (): Turnstile => {
  let closed: Promise<void> | null = null;
  const inside = new Set<Promise<unknown>>();

  const emptied = async (): Promise<void> => {
    const over = new AbortController();
    await Promise.race([
      Promise.allSettled(inside),
      sleep(LONGEST_WAIT_MILLISECONDS, undefined, { signal: over.signal }),
    ]);
    over.abort();
  };

  const turnstile: Turnstile = {
    enter: async (work) => {
      if (closed) {
        await closed;
        return turnstile.enter(work);
      }
      const done = work();
      inside.add(done);
      try {
        return await done;
      } finally {
        inside.delete(done);
      }
    },
    alone: async (work) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      closed = promise;
      try {
        await emptied();
        return await work();
      } finally {
        closed = null;
        resolve();
      }
    },
  };
  return turnstile;
};
