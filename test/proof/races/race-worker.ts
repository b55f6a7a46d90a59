import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { v7 as uuid } from "uuid";
import { openTable } from "../../../functions/environment/open-table.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { itemsIn } from "../../../testing/dynamodb.ts";
import { modelApplication, modelClient } from "../model/model-client.ts";
import type { ModelRequest } from "../model/stated-facts.ts";
import type { Outcome, RaceOrder } from "./race.ts";

/** One of several racing processes. Sends its requests a few at a time and reports the outcome of each. */

/** The service's pause between attempts. */
const pause = (attempt: number): Promise<void> => sleep(Math.random() * Math.min(500, 10 * 2 ** attempt));

const SENT_AT_MOST = 5;

const race = async ({ table: name, application, requests, concurrency }: RaceOrder): Promise<Outcome[]> => {
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

process.once("message", (order: RaceOrder) => {
  void race(order).then((outcomes) => process.send?.(outcomes, () => process.disconnect()));
});
process.send?.("ready");
