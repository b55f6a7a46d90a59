export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
};

export const sum = (values: Iterable<number>): number => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};

/** Milliseconds during which at least one watched task is running. */
export class Stopwatch {
  #running = 0;
  #since = 0;
  #total = 0;

  async during<T>(act: () => Promise<T>): Promise<T> {
    if (this.#running === 0) this.#since = performance.now();
    this.#running += 1;
    try {
      return await act();
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#total += performance.now() - this.#since;
    }
  }

  /** Returns the total and resets it. */
  take(): number {
    const total = this.#total;
    this.#total = 0;
    return total;
  }
}
