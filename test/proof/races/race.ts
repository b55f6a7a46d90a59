import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { v7 as uuid } from "uuid";
import type { ModelRequest } from "../model/stated-facts.ts";
import { openTable } from "../../../functions/environment/open-table.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { itemsIn } from "../../../testing/dynamodb.ts";
import { modelApplication, modelClient } from "../model/model-client.ts";

/** The order to a process. */
interface RaceOrder {
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
  const workers = Array.from({ length: processes }, () =>
    fork(fileURLToPath(import.meta.url), { execArgv: [] }),
  );
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

/** The service's pause between attempts. */
const pause = (attempt: number): Promise<void> => sleep(Math.random() * Math.min(500, 10 * 2 ** attempt));

const SENT_AT_MOST = 5;

/** Sends a process's requests a few at a time. */
const sendAll = async ({
  table: name,
  application,
  requests,
  concurrency,
}: RaceOrder): Promise<Outcome[]> => {
  const table = openTable(name);
  const world = modelClient(
    { ...table, items: (containing) => itemsIn(table, containing) },
    modelApplication(application),
    {
      pause,
      newCustomerIdentifier: () => customerId(uuid()),
    },
  );
  const send = async (request: ModelRequest, sent = 1): Promise<Outcome> => {
    const answer = await world
      .submit(request, Date.now())
      .catch((error: unknown) => ({ outcome: "refused", code: String(error) }) as const);
    const result = answer.outcome === "refused" ? answer.code : answer.outcome;
    if (result === "TOO_MANY_REQUESTS" && sent < SENT_AT_MOST) return send(request, sent + 1);
    return { request, result, customer: answer.outcome === "stored" ? answer.customer : null, sent };
  };
  const outcomes = await pMap(requests, (request) => send(request), { concurrency });
  table.client.destroy();
  return outcomes;
};

// One of the racing processes.
if (import.meta.main) {
  process.once("message", (order: RaceOrder) => {
    void sendAll(order).then((outcomes) => process.send?.(outcomes, () => process.disconnect()));
  });
  process.send?.("ready");
}
