import type { DynamoDBRecord } from "aws-lambda";
import { calledByStream } from "../../functions/runs.ts";
import { applicationId } from "../../lib/identifiers.ts";

const [A, B] = ["1", "2"].map((last) => applicationId(`0198c0de-0000-7000-8000-00000000000${last}`));

/** Applications that the call is for, by its records' partition keys; `undefined`: all. */
const calledFor = async (...partitions: readonly string[] | [null]) => {
  const calls: unknown[] = [];
  const handler = calledByStream(
    ({ pk }) => (pk === "none" ? null : applicationId(pk)),
    async (until, only) => calls.push(only, until),
  );
  const Records = partitions.map((pk): DynamoDBRecord => ({
    dynamodb: { Keys: { pk: { S: pk ?? "" }, sk: { S: "a" } } },
  }));
  const event = partitions[0] === null ? {} : { Records };
  const answer = await handler(event, { getRemainingTimeInMillis: () => 60_000 });
  return { answer, only: calls[0], until: calls[1] };
};

test("a schedule calls for all applications, a stream for those of its records", async () => {
  expect((await calledFor(null)).only).toBeUndefined();
  expect((await calledFor(`${A}`, "none", `${B}`, `${A}`)).only).toEqual([A, B]);
});

test("records that make no work due run nothing", async () => {
  expect(await calledFor("none")).toEqual({ answer: null, only: undefined, until: undefined });
});

test("no step starts in the last half minute of an invocation", async () => {
  const { until } = await calledFor(null);
  expect(Math.abs(Number(until) - Date.now() - 30_000)).toBeLessThan(5_000);
});
