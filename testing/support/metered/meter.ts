import { ConditionalCheckFailedException, type AttributeValue } from "@aws-sdk/client-dynamodb";
import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import * as z from "zod";
import { Stopwatch, sum } from "./measuring.ts";

/** Requests to DynamoDB, and the units that they consumed. */
export interface Consumption {
  /** Requests that the SDK sent, by operation. */
  readonly requests: Readonly<Record<string, number>>;
  readonly readUnits: number;
  readonly writeUnits: number;
}

export interface MeteredTime {
  /** From the command to its result: DynamoDB and its client. */
  readonly client: number;
  /** The part of `client` from sending the request to the head of the response. */
  readonly waiting: number;
}

export interface Meter {
  /** Returns what was consumed since the last call. */
  take(): Consumption & { readonly milliseconds: MeteredTime };
}

type Item = Readonly<Record<string, AttributeValue>>;

const bytesOfValue = (value: AttributeValue): number => {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.replaceAll(/[-.]/g, "").length / 2) + 1;
  if (value.L !== undefined) return 3 + sum(value.L.map((element) => 1 + bytesOfValue(element)));
  if (value.M !== undefined) return 3 + bytesOfItem(value.M) + Object.keys(value.M).length;
  return 1;
};

/**
 * Size of an item in bytes, as DynamoDB counts it.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export const bytesOfItem = (item: Item): number =>
  sum(Object.entries(item).map(([name, value]) => Buffer.byteLength(name) + bytesOfValue(value)));

const item = z.record(z.string(), z.custom<AttributeValue>());
const update = z.object({
  Key: item,
  UpdateExpression: z.string(),
  ExpressionAttributeNames: z.record(z.string(), z.string()).default({}),
  ExpressionAttributeValues: item.default({}),
});
const transaction = z.object({
  TransactItems: z.array(
    z.object({
      Put: z.object({ Item: item }).optional(),
      Delete: z.object({ Key: item }).optional(),
      Update: update.optional(),
      ConditionCheck: z.object({ Key: item }).optional(),
    }),
  ),
});
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
 * The item after `SET a = :b, c = :d REMOVE e, f` or `ADD a :b`. A number added to counts as the added number,
 * `if_not_exists` as its default.
 */
const updated = (before: Item, { Key, ...given }: z.infer<typeof update>): Item => {
  const after: Record<string, AttributeValue> = { ...before, ...Key };
  const expression = given.UpdateExpression.replaceAll(/if_not_exists\(\S+, (\S+)\)/g, "$1");
  for (const [, action, list = ""] of expression.matchAll(
    /(SET|REMOVE|ADD) (.*?)(?= SET | REMOVE | ADD |$)/g,
  ))
    for (const part of list.split(", ")) {
      const [name = "", text = ""] = part.split(action === "ADD" ? " " : " = ");
      const attribute = given.ExpressionAttributeNames[name] ?? name;
      const value = given.ExpressionAttributeValues[text];
      if (action === "REMOVE") delete after[attribute];
      else if (value === undefined) throw new Error("An update contains an expression that is not counted.");
      else after[attribute] = value;
    }
  return after;
};

const keyOf = ({ pk, sk }: Item): string => JSON.stringify([pk, sk]);

/**
 * Counts a client's requests to DynamoDB, the units that they consume, and their time.
 *
 * Read units are those that DynamoDB Local reports (`ReturnConsumedCapacity`), plus one for each key of a batch that was
 * not found and for each Query that finds nothing, which it omits. Write units are computed here from the items by Amazon's rules, because DynamoDB Local adds up
 * the sizes of a transaction's items before it rounds. A write counts with the larger of the item before and after, a check with
 * the item; what was not written under this meter counts as if it had not been there. A new index entry counts as a write of
 * the transaction, as in DynamoDB Local. A write outside a transaction counts as DynamoDB Local reports it.
 */
export const meter = ({ middlewareStack }: DynamoDBDocumentClient): Meter => {
  let requests: Record<string, number> = {};
  let readUnits = 0;
  let writeUnits = 0;
  const client = new Stopwatch();
  const waiting = new Stopwatch();
  const items = new Map<string, Item>();

  const countTransaction = (input: unknown): void => {
    for (const { Put, Delete, Update, ConditionCheck } of transaction.parse(input).TransactItems) {
      const key = Put?.Item ?? Delete?.Key ?? Update?.Key ?? ConditionCheck?.Key;
      if (key === undefined) throw new Error("A transaction contains an operation that is not counted.");
      const before = items.get(keyOf(key)) ?? {};
      const after = Put?.Item ?? (Update === undefined ? {} : updated(before, Update));
      writeUnits += unitsOfTransaction(Math.max(bytesOfItem(before), bytesOfItem(after)));
      if (ConditionCheck !== undefined) continue;
      if ("owner" in after && !("owner" in before)) writeUnits += unitsOfTransaction(0);
      items.set(keyOf(key), after);
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
      if (name.startsWith("TransactWrite")) countTransaction(args.input);
      return waiting.during(() => next(args));
    },
    { step: "deserialize", priority: "low" },
  );

  return {
    take: () => {
      const taken = {
        requests,
        readUnits,
        writeUnits,
        milliseconds: { client: client.take(), waiting: waiting.take() },
      };
      requests = {};
      readUnits = 0;
      writeUnits = 0;
      return taken;
    },
  };
};
