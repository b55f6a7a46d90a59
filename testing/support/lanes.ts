/**
 * Two lanes of tests. The fast one runs with `npm test`: rules, use cases, one start of the whole service, and the
 * properties in a short form. The slow one runs with `npm run test:slow`: files named `*.slow.test.ts`, the properties in a
 * longer form, and the use cases once more, on DynamoDB Local.
 */
export const SLOW = process.env["LANE"] === "slow";

/** Seed of the fast lane: its cases are the same for everybody, so a failure comes from the change. */
const FIXED_SEED = 1;

/** The seed of a run: `SEED=…`, or the fast lane's own, or a new one in the slow lane. */
export const chooseSeed = (given: string | undefined): number => {
  if (given !== undefined) return Number(given);
  return SLOW ? Math.floor(Math.random() * 2 ** 31) : FIXED_SEED;
};
