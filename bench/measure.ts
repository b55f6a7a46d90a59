/** Measuring: sides in turn, medians, ratios. */

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
};

/** The value that so large a part of the values is not above. */
export const quantile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(part * values.length) - 1] ?? Number.NaN;

export const sum = (values: Iterable<number>): number => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};

/** One side of a comparison. */
export interface Side {
  readonly name: string;
  /** Does the same amount of work each time, and says how much that is. */
  readonly run: () => Promise<number> | number;
}

/** How a side did: operations in a second, round by round, and the processor time of one, of all threads. */
export interface Rates {
  readonly name: string;
  readonly median: number;
  readonly rounds: readonly number[];
  readonly cpuMicroseconds: number;
  readonly cpuRounds: readonly number[];
}

interface Round {
  readonly rate: number;
  readonly cpuMicroseconds: number;
}

const measureRound = async ({ run }: Side, milliseconds: number): Promise<Round> => {
  const cpu = process.cpuUsage();
  const start = performance.now();
  let done = 0;
  let elapsed = 0;
  while (elapsed < milliseconds) {
    done += await run();
    elapsed = performance.now() - start;
  }
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (done * 1000) / elapsed, cpuMicroseconds: (user + system) / done };
};

/**
 * Runs all sides in turn, round after round, each round beginning with another side, so that a machine that becomes
 * slower or faster does so for all of them.
 */
export const inTurn = async (
  sides: readonly Side[],
  { rounds, milliseconds }: { readonly rounds: number; readonly milliseconds: number },
): Promise<Rates[]> => {
  const measured = new Map<Side, Round[]>(sides.map((side) => [side, []]));
  for (const side of sides) await measureRound(side, milliseconds);
  for (let round = 0; round < rounds; round += 1)
    for (let index = 0; index < sides.length; index += 1) {
      const side = sides[(round + index) % sides.length];
      if (side !== undefined) measured.get(side)?.push(await measureRound(side, milliseconds));
    }
  return sides.map((side) => {
    const found = measured.get(side) ?? [];
    const rounds = found.map(({ rate }) => rate);
    const cpuRounds = found.map(({ cpuMicroseconds }) => cpuMicroseconds);
    return {
      name: side.name,
      median: median(rounds),
      rounds,
      cpuMicroseconds: median(cpuRounds),
      cpuRounds,
    };
  });
};

/** The median of the rounds' ratios. */
export const ratio = (of: readonly number[], to: readonly number[]): number =>
  median(of.map((value, round) => value / (to[round] ?? Number.NaN)));

/** Milliseconds during which at least one of the things watched was going on. */
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

  /** The total so far, which begins anew. */
  take(): number {
    const total = this.#total;
    this.#total = 0;
    return total;
  }
}
