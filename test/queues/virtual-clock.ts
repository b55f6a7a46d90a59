import { setImmediate as idle } from "node:timers/promises";

/** A clock that several workers share: while all of them wait, it jumps to the first that goes on. */
export const createVirtualClock = (start: number) => {
  let moment = start;
  const waiting: { readonly at: number; readonly goOn: () => void }[] = [];
  return {
    now: () => moment,
    set: (at: number) => {
      moment = at;
    },
    wait: (milliseconds: number): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ at: moment + milliseconds, goOn: resolve });
      return promise;
    },
    /** Lets time pass until the work ends. */
    during: async <T>(work: Promise<T>): Promise<T> => {
      const ended = Promise.allSettled([work]).then(() => true);
      for (;;) {
        if (await Promise.race([ended, idle(false)])) return work;
        const next = waiting.toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined) continue;
        waiting.splice(waiting.indexOf(next), 1);
        moment = Math.max(moment, next.at);
        next.goOn();
      }
    },
  };
};
