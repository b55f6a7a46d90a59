import { offsetIn } from "./moved-clock.ts";

/**
 * Makes `Date` go by a moved clock in this thread, for the code and for its libraries: `Date.now()`, `new Date()` and
 * `Date()`. A date of given values, `Date.parse`, `Date.UTC`, `instanceof` and subclasses are as they were. Timers and
 * `performance` stay real.
 *
 * @param shared the clock's offset
 */
export const shiftDate = (shared: SharedArrayBuffer): void => {
  const RealDate = Date;
  const realNow = RealDate.now;
  const now = (): number => realNow() + offsetIn(shared);
  RealDate.now = now;
  const ShiftedDate = new Proxy(RealDate, {
    construct: (target, args, newTarget): Date =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
  });
  RealDate.prototype.constructor = ShiftedDate;
  globalThis.Date = ShiftedDate;
};
