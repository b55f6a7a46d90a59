import { median } from "../testing/support/metered/measuring.ts";

/** Measurement: alternating sides, medians, ratios. */

/** Median of each number of the samples. */
export const medians = <Key extends string>(
  samples: readonly Readonly<Record<Key, number>>[],
): Record<Key, number> => {
  const [first] = samples;
  if (first === undefined) throw new Error("Nothing was measured.");
  const keys = Object.keys(first) as Key[];
  return Object.fromEntries(keys.map((key) => [key, median(samples.map((one) => one[key]))])) as Record<
    Key,
    number
  >;
};

/** Quantile: the smallest value that at least `part` of the values do not exceed. */
export const quantile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(part * values.length) - 1] ?? Number.NaN;

/** One side of a comparison. */
export interface Side {
  readonly name: string;
  /** Does the same amount of work each time, and returns the number of operations. */
  readonly run: () => Promise<number> | number;
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
 * Alternates between all sides, each round starting with another one, so that changes in the machine's speed affect all
 * of them. A warm-up round is not counted. Resolves with operations per second, and CPU time per operation (all threads),
 * as medians and by round.
 */
export const inTurn = async (
  sides: readonly Side[],
  { rounds, milliseconds }: { readonly rounds: number; readonly milliseconds: number },
) => {
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

/** Median of the rounds' ratios. */
export const ratio = (of: readonly number[], to: readonly number[]): number =>
  median(of.map((value, round) => value / (to[round] ?? Number.NaN)));
