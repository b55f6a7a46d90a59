import type { Instant } from "../../lib/entitlements/time.ts";

/** Real time plus an offset, which only grows until a reset. */
export interface MovedClock {
  now(): Instant;
  /** Milliseconds by which it is ahead of real time. */
  offset(): number;
  /** Moves it forwards. A moment that has passed changes nothing. */
  moveTo(moment: Instant): void;
  /** Goes back to real time. */
  reset(): void;
  /** Holds the offset, so that the functions' workers see each move at once ({@link offsetIn}). */
  readonly shared: SharedArrayBuffer;
}

/** Offset that a clock shares, in milliseconds. */
export const offsetIn = (shared: SharedArrayBuffer): number =>
  Number(Atomics.load(new BigInt64Array(shared), 0));

/** @param offset milliseconds ahead of real time */
export const createMovedClock = (offset = 0): MovedClock => {
  const shared = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  const set = (milliseconds: number): void =>
    void Atomics.store(new BigInt64Array(shared), 0, BigInt(milliseconds));
  set(offset);
  return {
    now: () => Date.now() + offsetIn(shared),
    offset: () => offsetIn(shared),
    moveTo: (moment) => set(Math.max(offsetIn(shared), moment - Date.now())),
    reset: () => set(0),
    shared,
  };
};
