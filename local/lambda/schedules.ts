import * as z from "zod";
import type { InvocationResult } from "./pool.ts";
import { LocalError } from "../local-error.ts";
import { Template, type Assembly } from "./template.ts";

const rule = z.object({
  ScheduleExpression: z.string().optional(),
  State: z.string().default("ENABLED"),
  Targets: z.array(z.object({ Arn: z.string() })).default([]),
});

const functionIdIn = (arn: string): string => {
  const id = /^arn:[^/]*:function:([^/:]+)$/.exec(arn)?.[1];
  if (id === undefined) throw new LocalError(`The local run does not support a schedule of ${arn}.`);
  return id;
};

/** Logical ids of the functions that the template's enabled schedules invoke, by schedule. */
export const scheduledFunctionsOf = ({ document }: Assembly, region: string): Map<string, string> =>
  new Map(
    [...new Template(document, { region }).resourcesOf("AWS::Events::Rule", rule)].flatMap(
      ([id, { ScheduleExpression, State, Targets }]) =>
        ScheduleExpression === undefined || State !== "ENABLED"
          ? []
          : Targets.map(({ Arn }, index) => [`${id} ${index}`, functionIdIn(Arn)] as const),
    ),
  );

const createSchedule = (
  functionId: string,
  invoke: (functionId: string) => Promise<InvocationResult>,
  log: (line: string) => void,
) => {
  let running: Promise<void> | null = null;
  let failure: string | null = null;

  const once = async (): Promise<void> => {
    const result = await invoke(functionId);
    const latest = result.status === "failed" ? `${result.errorType}: ${result.errorMessage}` : null;
    if (latest !== null && latest !== failure) log(`${functionId}, on its schedule: ${latest}`);
    failure = latest;
  };

  const run = (): Promise<void> => {
    running ??= once()
      .catch((error: unknown) => log(String(error)))
      .finally(() => {
        running = null;
      });
    return running;
  };

  const idle = async (): Promise<void> => {
    await running;
  };

  return {
    start: run,
    idle,
    runAgain: async () => {
      await idle();
      await run();
    },
  };
};

export type Schedules = ReturnType<typeof createSchedules>;

/**
 * Scheduled functions. Two runs of one schedule never overlap; a failure is logged when it begins, not at each run.
 *
 * @param options.invoke invokes a function without logging its failure
 */
export const createSchedules = (
  functionIds: Iterable<string>,
  options: {
    readonly invoke: (functionId: string) => Promise<InvocationResult>;
    readonly log: (line: string) => void;
  },
) => {
  let stopped = false;
  const log = (line: string): void => {
    if (!stopped) options.log(line);
  };
  const schedules = [...functionIds].map((id) => createSchedule(id, options.invoke, log));
  return {
    /** Starts every schedule that is not running. */
    start: (): void => {
      if (!stopped) for (const { start } of schedules) void start();
    },
    /** Runs every schedule once, after any run in progress. */
    runAll: async (): Promise<void> => {
      if (!stopped) await Promise.all(schedules.map(({ runAgain }) => runAgain()));
    },
    /** Resolves when no schedule is running. */
    idle: async (): Promise<void> => {
      await Promise.all(schedules.map(({ idle }) => idle()));
    },
    /** No run starts or is logged from now on. */
    stop: (): void => {
      stopped = true;
    },
  };
};
