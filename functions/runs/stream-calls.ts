import type { DynamoDBStreamEvent } from "aws-lambda";
import type { ApplicationId } from "../../lib/identifiers.ts";
import type { Key } from "../../lib/table/dynamodb/key.ts";

/** Event of a schedule, which concerns all applications, or of the table's stream. */
export type ScheduleOrStreamEvent = Partial<DynamoDBStreamEvent>;

/**
 * Applications that the records of the table's stream concern; null: a schedule calls, for all of them.
 *
 * @param applicationOf the application whose work a new item with this key makes due; null: none
 */
export const calledFor = (
  { Records }: ScheduleOrStreamEvent,
  applicationOf: (key: Key) => ApplicationId | null,
): readonly ApplicationId[] | null => {
  if (Records === undefined) return null;
  const named = Records.flatMap(({ dynamodb }) => {
    const { pk, sk } = dynamodb?.Keys ?? {};
    return pk?.S === undefined || sk?.S === undefined ? [] : (applicationOf({ pk: pk.S, sk: sk.S }) ?? []);
  });
  return [...new Set(named)];
};
