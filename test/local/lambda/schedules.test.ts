import type { InvocationResult } from "../../../local/lambda/functions.ts";
import { createSchedules, scheduledFunctionsOf } from "../../../local/clock/timekeeper.ts";
import { SERVICE_APP, assemblyOf, withProperties } from "../../../testing/support/local-gateway.ts";

const RULE = "AWS::Events::Rule";
const done: InvocationResult = { status: "succeeded", payload: null };
const failed = (errorMessage: string): InvocationResult => ({
  status: "failed",
  errorType: "Error",
  errorMessage,
});

const assembly = await assemblyOf(SERVICE_APP);

describe("the template's schedules", () => {
  test("are those of its rules", () => {
    expect(scheduledFunctionsOf(assembly).map((id) => id.replace(/[0-9A-F]{8}$/, ""))).toContain(
      "RefreshAndroidStorePurchasesFunction",
    );
  });

  test.each([
    ["disabled", { State: "DISABLED" }],
    ["of events, not of times", { ScheduleExpression: undefined }],
    [
      "of something other than a function",
      { Targets: [{ Arn: "arn:aws:sqs:us-east-1:123456789012:queue" }] },
    ],
  ])("are refused where one is %s", (_, changes) => {
    const changed = withProperties(assembly, { [RULE]: (properties) => ({ ...properties, ...changes }) });
    expect(() => scheduledFunctionsOf(changed)).toThrow("does not support");
  });
});

/** Schedules whose invocations end when the test says so. */
const startSchedules = (...ids: string[]) => {
  const log: string[] = [];
  const begun: string[] = [];
  const endings: ((result: InvocationResult) => void)[] = [];
  const invoke = async (id: string) => {
    begun.push(id);
    return new Promise<InvocationResult>((resolve) => void endings.push(resolve));
  };
  const schedules = createSchedules(ids, invoke, (line) => void log.push(line));
  const endAll = async (result: InvocationResult = done): Promise<void> => {
    for (const end of endings.splice(0)) end(result);
    await new Promise(setImmediate);
  };
  return { schedules, log, begun, endAll };
};

test("two runs of one schedule never overlap, nor wait for another's", async () => {
  const { schedules, begun, endAll } = startSchedules("a", "b");
  schedules.start();
  schedules.start();
  expect(begun).toEqual(["a", "b"]);
  await endAll();
  schedules.start();
  expect(begun).toEqual(["a", "b", "a", "b"]);
});

test("running all waits for begun runs, and runs each once more", async () => {
  const { schedules, begun, endAll } = startSchedules("a");
  schedules.start();
  let ran = false;
  const running = schedules.runAll().then(() => (ran = true));
  await new Promise(setImmediate);
  expect(begun).toEqual(["a"]);
  await endAll();
  expect(begun).toEqual(["a", "a"]);
  expect(ran).toBe(false);
  await endAll();
  await running;
});

test("a failure is logged when it begins, changes, or returns", async () => {
  const { schedules, log, endAll } = startSchedules("a");
  for (const result of [failed("x"), failed("x"), failed("y"), done, failed("y")]) {
    schedules.start();
    await endAll(result);
  }
  expect(log).toEqual(["x", "y", "y"].map((reason) => `a, on its schedule: Error: ${reason}`));
});

test("a stopped schedule neither starts nor logs", async () => {
  const { schedules, log, begun, endAll } = startSchedules("a");
  schedules.start();
  schedules.stop();
  await endAll(failed("the environment was ended"));
  schedules.start();
  await schedules.runAll();
  expect(begun).toEqual(["a"]);
  expect(log).toEqual([]);
});
