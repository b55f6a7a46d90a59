import { offsetIn } from "./moved-clock.ts";

/**
 * Makes `Date` go by a clock in this thread, for the code and for its libraries: `Date.now()`, `new Date()` and `Date()`.
 * A date of given values, `Date.parse`, `Date.UTC`, `instanceof` and subclasses are as they were. Timers and `performance`
 * stay real.
 *
 * @param clock its time, from the real one, in milliseconds since 1970
 * @returns takes it back
 */
export const replaceDate = (clock: (realNow: () => number) => number): (() => void) => {
  const RealDate = Date;
  const realNow = RealDate.now;
  const now = (): number => clock(realNow);
  RealDate.now = now;
  const ReplacedDate = new Proxy(RealDate, {
    construct: (target, args, newTarget): Date =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
  });
  RealDate.prototype.constructor = ReplacedDate;
  globalThis.Date = ReplacedDate;
  return () => {
    RealDate.now = realNow;
    RealDate.prototype.constructor = RealDate;
    globalThis.Date = RealDate;
  };
};

/**
 * Makes `Date` go by a moved clock in this thread.
 *
 * @param shared the clock's offset
 */
export const shiftDate = (shared: SharedArrayBuffer): void => {
  replaceDate((realNow) => realNow() + offsetIn(shared));
};
