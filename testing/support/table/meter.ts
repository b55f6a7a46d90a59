import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import * as z from "zod";
import type { Item } from "./expressions.ts";
import { after, bytesOfItem, conditionOf, textOfKey, transactWrite } from "./memory-requests.ts";

export const sum = (values: Iterable<number>): number => [...values].reduce((total, one) => total + one, 0);

/** Milliseconds during which at least one watched task is running. */
export class Stopwatch {
  #running = 0;
  #since = 0;
  #total = 0;

  async during<T>(act: () => Promise<T>): Promise<T> {
    if (this.#running === 0) this.#since = performance.now();
    this.#running += 1;
    try {
      return await act();
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#total += performance.now() - this.#since;
    }
  }

  /** Returns the total and resets it. */
  take(): number {
    const total = this.#total;
    this.#total = 0;
    return total;
  }
}

/** Requests to DynamoDB, and the units that they consumed. */
export interface Consumption {
  /** Requests that the SDK sent, by operation. */
  readonly requests: Readonly<Record<string, number>>;
  readonly readUnits: number;
  readonly writeUnits: number;
}

const batch = z.object({
  RequestItems: z.record(z.string(), z.object({ Keys: z.array(z.unknown()) })),
});
const query = z.object({ KeyConditionExpression: z.string() });
const batchAnswer = z.object({ Responses: z.record(z.string(), z.array(z.unknown())).default({}) });
const capacity = z.object({ CapacityUnits: z.number() });
const answer = z.object({
  ConsumedCapacity: z.union([z.array(capacity), capacity.transform((one) => [one])]).default([]),
});

const unitsReported = (output: unknown): number =>
  sum(answer.parse(output).ConsumedCapacity.map(({ CapacityUnits }) => CapacityUnits));

/** Commands that write one item. */
const SINGLE_WRITES: ReadonlySet<string> = new Set([
  "UpdateItemCommand",
  "PutItemCommand",
  "DeleteItemCommand",
]);

/** Write units of one item in a transaction: rounded up to 1 KB, and twice. */
const unitsOfTransaction = (bytes: number): number => 2 * Math.max(1, Math.ceil(bytes / 1024));

/**
 * Counts a client's requests to DynamoDB, the units that they consume, and their time.
 *
 * DynamoDB Local reports the units, but omits one for each key of a batch that was not found and for each Query that finds
 * nothing, and adds up a transaction's items before it rounds. So these are counted here: a write with the larger of the
 * item before and after, a check with the item, and a new index entry as a write. What was not written under this meter
 * counts as if it had not been there.
 */
export const meter = ({ middlewareStack }: DynamoDBDocumentClient) => {
  let requests: Record<string, number> = {};
  let readUnits = 0;
  let writeUnits = 0;
  const client = new Stopwatch();
  const waiting = new Stopwatch();
  const items = new Map<string, Item>();

  const countTransaction = (input: unknown): void => {
    for (const write of transactWrite.parse(input).TransactItems) {
      const key = textOfKey(conditionOf(write).Key);
      const before = items.get(key);
      const written = after(write, before) ?? {};
      writeUnits += unitsOfTransaction(Math.max(bytesOfItem(before ?? {}), bytesOfItem(written)));
      if (write.ConditionCheck !== undefined) continue;
      if ("owner" in written && !("owner" in (before ?? {}))) writeUnits += unitsOfTransaction(0);
      items.set(key, written);
    }
  };

  const countRead = (input: unknown, output: unknown): void => {
    const isQuery = query.safeParse(input).success;
    readUnits += Math.max(isQuery ? 1 : 0, unitsReported(output));
    const asked = batch.safeParse(input);
    if (!asked.success) return;
    const found = Object.values(batchAnswer.parse(output).Responses).flat().length;
    readUnits += Object.values(asked.data.RequestItems).flatMap(({ Keys }) => Keys).length - found;
  };

  middlewareStack.add(
    (next, context) => (args) =>
      client.during(async () => {
        const input = Object.assign({}, args.input, { ReturnConsumedCapacity: "TOTAL" });
        const name = String(context["commandName"]);
        if (name.startsWith("TransactWrite")) countTransaction(args.input);
        const result = await next({ ...args, input }).catch((error: unknown) => {
          // A write whose condition fails costs a unit as well.
          if (SINGLE_WRITES.has(name) && error instanceof ConditionalCheckFailedException) writeUnits += 1;
          throw error;
        });
        if (SINGLE_WRITES.has(name)) writeUnits += unitsReported(result.output);
        else if (!name.startsWith("TransactWrite")) countRead(input, result.output);
        return result;
      }),
    { step: "initialize", priority: "high" },
  );
  middlewareStack.add(
    (next, context) => (args) => {
      const name = String(context["commandName"]).replace("Command", "");
      requests[name] = (requests[name] ?? 0) + 1;
      return waiting.during(() => next(args));
    },
    { step: "deserialize", priority: "low" },
  );

  return {
    /**
     * Returns what was consumed since the last call. Milliseconds of the client are from a command to its result; waiting
     * is the part from sending the request to the head of the response.
     */
    take: () => {
      const consumed: Consumption = { requests, readUnits, writeUnits };
      const taken = { ...consumed, milliseconds: { client: client.take(), waiting: waiting.take() } };
      requests = {};
      readUnits = 0;
      writeUnits = 0;
      return taken;
    },
  };
};
