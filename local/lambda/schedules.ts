import * as z from "zod";
import type { InvocationResult } from "./pool.ts";
import { functionIdIn, type Assembly } from "./assembly.ts";

const rule = z.object({
  ScheduleExpression: z.string(),
  State: z.literal("ENABLED"),
  Targets: z.array(z.object({ Arn: z.string() })),
});

/** Logical ids of the functions that the template's schedules invoke. */
export const scheduledFunctionsOf = (assembly: Assembly): string[] =>
  [...assembly.resourcesOf("AWS::Events::Rule", rule).values()].flatMap(({ Targets }) =>
    Targets.map(({ Arn }) => functionIdIn(Arn)),
  );

export type Schedules = ReturnType<typeof createSchedules>;

/**
 * Scheduled functions. Two runs of one schedule never overlap; a failure is logged when it begins, not at each run.
 *
 * @param invoke invokes a function without logging its failure
 */
export const createSchedules = (
  functionIds: readonly string[],
  invoke: (functionId: string) => Promise<InvocationResult>,
  log: (line: string) => void,
) => {
  let stopped = false;
  const running = new Map<string, Promise<void>>();
  const failures = new Map<string, string | null>();

  const run = async (id: string): Promise<void> => {
    const failure = await invoke(id).then(
      (result) => (result.status === "failed" ? `${result.errorType}: ${result.errorMessage}` : null),
      String,
    );
    if (!stopped && failure !== null && failure !== failures.get(id))
      log(`${id}, on its schedule: ${failure}`);
    failures.set(id, failure);
    running.delete(id);
  };
  const start = async (id: string): Promise<void> => {
    if (!running.has(id)) running.set(id, run(id));
    await running.get(id);
  };

  return {
    start: (): void => {
      if (!stopped) for (const id of functionIds) void start(id);
    },
    /** Runs every schedule once, after any run in progress. */
    runAll: async (): Promise<void> => {
      const runAgain = async (id: string): Promise<void> => {
        await running.get(id);
        await start(id);
      };
      if (!stopped) await Promise.all(functionIds.map(runAgain));
    },
    idle: async (): Promise<void> => {
      await Promise.all(running.values());
    },
    /** No run starts or is logged from now on. */
    stop: (): void => {
      stopped = true;
    },
  };
};
