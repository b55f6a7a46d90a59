import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import { customerId } from "../../../lib/identifiers.ts";
import { openTable } from "../../../functions/environment/open-table.ts";
import type { Job, Outcome, RaceOrder } from "./race.ts";
import { modelApplication, modelClient } from "../model/model-client.ts";
import { itemsIn } from "../../../testing/support/table/table.ts";

/** One of several racing processes. Does its jobs a few at a time and reports the outcome and time of each. */

/** The service's pause between attempts. */
const pause = (attempt: number): Promise<void> => sleep(Math.random() * Math.min(500, 10 * 2 ** attempt));

/** How often a job is sent at most. */
const SENT_AT_MOST = 5;

/** A request is told by its code, an operator by the message. */
const isToTryAgain = (result: string): boolean =>
  result === "TOO_MANY_REQUESTS" || result.endsWith("try again.");

const race = async ({ table: name, application, jobs, concurrency }: RaceOrder): Promise<Outcome[]> => {
  const table = openTable(name);
  const world = modelClient({ ...table, items: itemsIn(table) }, modelApplication(application), {
    pause,
    newCustomerIdentifier: () => customerId(uuid()),
  });
  const lastSeen = new Map<number, string>();

  const act = async ({ person, request }: Job): Promise<Pick<Outcome, "result" | "customer">> => {
    if (request === null) {
      const customer = lastSeen.get(person);
      if (customer === undefined) return { result: "nobody", customer: null };
      const isUnlinked = await world.unlink(customer, Date.now());
      return { result: isUnlinked ? "unlinked" : "nobody", customer };
    }
    const answer = await world.submit(request, Date.now());
    if (answer.outcome !== "stored")
      return { result: answer.outcome === "refused" ? answer.code : answer.outcome, customer: null };
    lastSeen.set(person, answer.customer);
    return { result: "stored", customer: answer.customer };
  };

  const send = async (job: Job, sent = 1): Promise<Pick<Outcome, "result" | "customer" | "sent">> => {
    const done = await act(job).catch((error: unknown) => ({ result: String(error), customer: null }));
    return isToTryAgain(done.result) && sent < SENT_AT_MOST ? send(job, sent + 1) : { ...done, sent };
  };

  const outcomes: Outcome[] = [];
  const waiting = [...jobs];
  const racer = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const startedAt = performance.timeOrigin + performance.now();
      outcomes.push({
        job,
        startedAt,
        ...(await send(job)),
        endedAt: performance.timeOrigin + performance.now(),
      });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, racer));
  table.client.destroy();
  return outcomes;
};

process.once("message", (order: RaceOrder) => {
  void race(order).then((outcomes) => process.send?.(outcomes, () => process.disconnect()));
});
process.send?.("ready");
