import type { Context, DynamoDBStreamEvent } from "aws-lambda";
import type { ApplicationId } from "../../lib/identifiers.ts";
import type { Key } from "../../lib/table/dynamodb/key.ts";
import { now } from "../environment/configuration.ts";

/** Context of an invocation that must end in time. */
export type Invocation = Pick<Context, "getRemainingTimeInMillis">;

/** Longest step of scheduled work. No step starts that the timeout could cut off. */
const LONGEST_STEP_MILLISECONDS = 30_000;

/** Moment after which a run starts no further step. */
export const endOf = ({ getRemainingTimeInMillis }: Invocation): number =>
  now() + getRemainingTimeInMillis() - LONGEST_STEP_MILLISECONDS;

/**
 * A handler that a schedule calls, for all applications, and earlier the table's stream, for those of its records. Null:
 * they concern none.
 *
 * @param applicationOf the application whose work a new item with this key makes due; null: none
 */
export const calledByStream =
  <Report>(
    applicationOf: (key: Key) => ApplicationId | null,
    run: (until: number, only?: readonly ApplicationId[]) => Promise<Report>,
  ) =>
  async ({ Records }: Partial<DynamoDBStreamEvent>, context: Invocation): Promise<Report | null> => {
    if (Records === undefined) return run(endOf(context));
    const named = Records.flatMap(({ dynamodb }) => {
      const { pk, sk } = dynamodb?.Keys ?? {};
      return pk?.S === undefined || sk?.S === undefined ? [] : (applicationOf({ pk: pk.S, sk: sk.S }) ?? []);
    });
    return named.length === 0 ? null : run(endOf(context), [...new Set(named)]);
  };
