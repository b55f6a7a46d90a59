import type { Instant } from "../../lib/entitlements/time.ts";

/** A clock's offset, in milliseconds. */
export const offsetIn = (shared: SharedArrayBuffer): number =>
  Number(Atomics.load(new BigInt64Array(shared), 0));

export type MovedClock = ReturnType<typeof createMovedClock>;

/** Real time plus an offset in milliseconds, which only grows until a reset. */
export const createMovedClock = (offset = 0) => {
  const shared = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  const set = (milliseconds: number): void =>
    void Atomics.store(new BigInt64Array(shared), 0, BigInt(milliseconds));
  set(offset);
  return {
    now: (): Instant => Date.now() + offsetIn(shared),
    offset: (): number => offsetIn(shared),
    /** Moves it forwards. A moment that has passed changes nothing. */
    moveTo: (moment: Instant): void => set(Math.max(offsetIn(shared), moment - Date.now())),
    reset: (): void => set(0),
    /** Holds the offset, so that the functions' workers see each move at once ({@link offsetIn}). */
    shared,
  };
};

/**
 * Makes `Date` follow a clock in this thread, for the code and its libraries: `Date.now()`, `new Date()` and `Date()`.
 * Everything else of `Date` works as usual. Timers and `performance` stay real. Returns what restores `Date`.
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
