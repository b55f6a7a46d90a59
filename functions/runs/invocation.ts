import type { Context } from "aws-lambda";
import { now } from "../configuration.ts";

/** Context of an invocation that must end in time. */
export type Invocation = Pick<Context, "getRemainingTimeInMillis">;

/** Longest step of scheduled work, with the table's requests after it. Nothing starts that the timeout could cut off. */
const LONGEST_STEP_MILLISECONDS = 30_000;

/** Moment from which a run starts nothing more. */
export const endOf = ({ getRemainingTimeInMillis }: Invocation): number =>
  now() + getRemainingTimeInMillis() - LONGEST_STEP_MILLISECONDS;
