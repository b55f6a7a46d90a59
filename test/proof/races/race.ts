import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ModelRequest } from "../model/stated-facts.ts";

/** One action of a racer. */
export interface Job {
  readonly person: number;
  /** Null: an operator unlinks the customer that this process last saw for the person. */
  readonly request: ModelRequest | null;
}

/** The order to a process. */
export interface RaceOrder {
  readonly table: string;
  readonly application: string;
  readonly jobs: readonly Job[];
  /** Jobs at a time. */
  readonly concurrency: number;
}

/** A job's result: `stored`, `nobody`, `unlinked`, the code of a refusal, or an error. */
export interface Outcome {
  readonly job: Job;
  readonly result: string;
  readonly customer: string | null;
  /** How often it was sent: again, as a client does, while it is told to try again. */
  readonly sent: number;
  /** In milliseconds, by one clock for all processes. */
  readonly startedAt: number;
  readonly endedAt: number;
}

const WORKER = fileURLToPath(new URL("race-worker.ts", import.meta.url));

const isOutcomes = (message: unknown): message is Outcome[] => Array.isArray(message);

/** Lets several processes do the jobs. All start when the last of them is ready. */
export const race = async (order: RaceOrder, processes: number): Promise<Outcome[]> => {
  const workers = Array.from({ length: processes }, () => fork(WORKER, { execArgv: [] }));
  const ready = workers.map((worker) => new Promise((resolve) => void worker.once("message", resolve)));
  const failed = Promise.withResolvers<never>();
  const finished = ready.map(async (started, index) => {
    await started;
    const worker = workers[index];
    const outcomes = Promise.withResolvers<Outcome[]>();
    worker?.once("message", (message) => {
      if (isOutcomes(message)) outcomes.resolve(message);
    });
    await Promise.all(ready);
    worker?.send({ ...order, jobs: order.jobs.filter((_, job) => job % processes === index) });
    return outcomes.promise;
  });
  for (const worker of workers)
    worker.once("exit", (code) => {
      if (code !== 0) failed.reject(new Error(`A racing process ended with ${code}.`));
    });
  try {
    return (await Promise.race([Promise.all(finished), failed.promise])).flat();
  } finally {
    for (const worker of workers) worker.kill();
  }
};
