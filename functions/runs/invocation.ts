import type { Context } from "aws-lambda";
import { now } from "../environment/configuration.ts";

/** Context of an invocation that must end in time. */
export type Invocation = Pick<Context, "getRemainingTimeInMillis">;

/** Longest step of scheduled work, including its writes. No step starts that the timeout could cut off. */
const LONGEST_STEP_MILLISECONDS = 30_000;

/** Moment after which a run starts no further step. */
export const endOf = ({ getRemainingTimeInMillis }: Invocation): number =>
  now() + getRemainingTimeInMillis() - LONGEST_STEP_MILLISECONDS;
