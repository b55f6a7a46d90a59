import fc, { type Parameters } from "fast-check";

/**
 * The slow lane of tests (`npm run test:slow`): files named `*.slow.test.ts`, the properties in a longer form, and the use
 * cases once more, on DynamoDB Local. All else is in the fast one (`npm test`).
 */
export const SLOW = process.env["LANE"] === "slow";

/** Seed of the fast lane: its cases are the same for everybody, so a failure comes from the change. */
const FIXED_SEED = 1;

/** The seed of a run: `SEED=…`, or the fast lane's own, or a new one in the slow lane. */
export const chooseSeed = (given: string | undefined): number => {
  if (given !== undefined) return Number(given);
  return SLOW ? Math.floor(Math.random() * 2 ** 31) : FIXED_SEED;
};

/**
 * Whether the proofs run in their long form (`LONG=1`). `CASE=…` (the path that a failure prints) runs only the smallest
 * failing case.
 */
export const LONG = process.env["LONG"] === "1";

/** The seed of this run. `SEED=…` repeats one. */
export const SEED = chooseSeed(process.env["SEED"]);

export const inLength = <T>(short: T, long: T): T => (LONG ? long : short);

/** Number of cases: in the long form, or in the slow lane's short form, of which the fast lane runs half. */
export const countOf = (short: number, long: number): number =>
  inLength(SLOW ? short : Math.ceil(short / 2), long);

/** Mutation testing runs every property for every mutant: fewer cases, and the first failing one is enough. */
const MUTATION = process.env["MUTATION"] === "1";

/** Time after which a property stops trying or shrinking cases. */
const MILLISECONDS = inLength(20_000, 10 * 60_000);

/** A test's timeout, longer than the time after which a property stops by itself. */
export const TIMEOUT = MILLISECONDS + 30_000;

/** Prints the number of cases, in the long form. */
export const reportCases = (count: number, seed: number, of = ""): void => {
  if (LONG) process.stdout.write(`${expect.getState().currentTestName}: ${count} cases${of}, SEED=${seed}\n`);
};

/**
 * A property's parameters: the number of cases, from the seed, or as many as there is time for. A failure prints the
 * seed and the path of its case; the long form prints the number of cases.
 */
export const cases = (short: number, long: number): Parameters<unknown> => {
  const path = process.env["CASE"];
  return {
    numRuns: MUTATION ? Math.min(short, 40) : countOf(short, long),
    seed: SEED,
    ...(path !== undefined && { path }),
    ...((path !== undefined || MUTATION) && { endOnFailure: true }),
    interruptAfterTimeLimit: MILLISECONDS,
    markInterruptAsFailure: false,
    reporter: (details) => {
      reportCases(details.numRuns, details.seed);
      if (details.failed)
        throw new Error(fc.defaultReportMessage(details) ?? "", { cause: details.errorInstance });
    },
  };
};
