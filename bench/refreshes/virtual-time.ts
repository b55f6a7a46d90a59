import { setImmediate } from "node:timers/promises";
import type { Instant } from "../../lib/entitlements/time.ts";

/** A clock that jumps to the next timer when nothing else is left to do. */
export interface VirtualTime {
  readonly now: () => Instant;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Lets time pass until the act is done. It may wait for nothing but this clock. */
  run<T>(act: Promise<T>): Promise<T>;
}

export const createVirtualTime = (start: Instant): VirtualTime => {
  let now = start;
  let timers: { readonly at: Instant; readonly resolve: () => void }[] = [];
  return {
    now: () => now,
    wait: (milliseconds) =>
      new Promise((resolve) => timers.push({ at: now + Math.max(0, milliseconds), resolve })),
    run: async (act) => {
      let isDone = false;
      const settle = (): void => {
        isDone = true;
      };
      act.then(settle, settle);
      for (;;) {
        await setImmediate();
        if (isDone) return act;
        if (timers.length === 0) throw new Error("Something else is waited for.");
        now = timers.reduce((first, { at }) => Math.min(first, at), Infinity);
        const due = timers.filter(({ at }) => at <= now);
        timers = timers.filter(({ at }) => at > now);
        for (const { resolve } of due) resolve();
      }
    },
  };
};
