import { offsetIn } from "./moved-clock.ts";

/**
 * Makes `Date` follow a clock in this thread, for the code and its libraries: `Date.now()`, `new Date()` and `Date()`.
 * A date from given values, `Date.parse`, `Date.UTC`, `instanceof` and subclasses work as usual. Timers and
 * `performance` stay real.
 *
 * @param clock maps the real time to the clock's, in milliseconds since 1970
 * @returns restores the real `Date`
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
 * Makes `Date` follow a moved clock in this thread. The libraries (`jose`, the AWS SDK, Google's client) read `Date` too, and
 * production code knows of no local clock.
 *
 * @param shared the clock's offset
 */
export const shiftDate = (shared: SharedArrayBuffer): void => {
  replaceDate((realNow) => realNow() + offsetIn(shared));
};
