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
