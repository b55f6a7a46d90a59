import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ModelRequest } from "../model/stated-facts.ts";

/** The order to a process. */
export interface RaceOrder {
  readonly table: string;
  readonly application: string;
  readonly requests: readonly ModelRequest[];
  /** Requests at a time. */
  readonly concurrency: number;
}

export interface Outcome {
  readonly request: ModelRequest;
  /** `stored`, `nobody`, the code of a refusal, or an error. */
  readonly result: string;
  readonly customer: string | null;
  /** How often it was sent: again, as a client does, while it is told to try again. */
  readonly sent: number;
}

const WORKER = fileURLToPath(new URL("race-worker.ts", import.meta.url));

const isOutcomes = (message: unknown): message is Outcome[] => Array.isArray(message);

/** A process's next message; rejects when it ends before. */
const messageOf = (worker: ChildProcess): Promise<unknown> => {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  worker.once("message", resolve);
  worker.once("exit", (code) => reject(new Error(`A racing process ended with ${code}.`)));
  return promise;
};

/** Lets several processes send the requests. All start when the last of them is ready. */
export const race = async (order: RaceOrder, processes: number): Promise<Outcome[]> => {
  const workers = Array.from({ length: processes }, () => fork(WORKER, { execArgv: [] }));
  try {
    await Promise.all(workers.map(messageOf));
    const outcomes = workers.map((worker, index) => {
      worker.send({ ...order, requests: order.requests.filter((_, place) => place % processes === index) });
      return messageOf(worker);
    });
    return (await Promise.all(outcomes)).filter(isOutcomes).flat();
  } finally {
    for (const worker of workers) worker.kill();
  }
};
