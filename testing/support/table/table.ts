import { DynamoDBClient, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod/mini";
import { askItem } from "../../../lib/table/queues/asks.ts";
import type { Table } from "../../../lib/table/dynamodb/table.ts";
import { createTable, itemsIn } from "../../dynamodb.ts";

export interface TestTable extends Table {
  /** The commands of the requests that left the SDK since the last reset, retries included. */
  readonly sent: string[];
  /** Every item of the table, or each whose key contains a text, in order of key. */
  items(containing?: string): Promise<Record<string, unknown>[]>;
  /** Another client of the table. */
  connect(): DynamoDBDocumentClient;
  remove(): Promise<void>;
}

/** A new table of its own in DynamoDB Local, keyed as the deployed one. */
export const createTestTable = async (): Promise<TestTable> => {
  const table = await createTable();
  const sent: string[] = [];
  table.client.middlewareStack.add(
    (next, context) => async (args) => {
      sent.push(String(context["commandName"]));
      return next(args);
    },
    { step: "finalizeRequest", priority: "low" },
  );
  return {
    ...table,
    sent,
    items: (containing) => itemsIn(table, containing),
    connect: () => DynamoDBDocumentClient.from(new DynamoDBClient({})),
  };
};

/** A purchase whose acknowledgement is pending, as its queue holds it. */
type PendingItem = z.output<ReturnType<typeof askItem>> & { readonly application: string };

/** Every pending acknowledgement of the table, oldest first. */
export const pendingIn = async (table: Pick<TestTable, "items">): Promise<readonly PendingItem[]> =>
  (await table.items()).flatMap((item) => {
    const [, application = ""] = /^APPLICATION#([^#]+)#ASK#/.exec(String(item["pk"])) ?? [];
    const parsed = askItem().safeParse(item);
    return parsed.success && parsed.data.acknowledgement !== null ? [{ application, ...parsed.data }] : [];
  });

/** A transaction's failure by another write at the same time. */
export const transactionConflict = (): Error =>
  new TransactionCanceledException({
    message: "Transaction cancelled",
    CancellationReasons: [{ Code: "TransactionConflict" }],
    $metadata: {},
  });

/** The commands that `act` sends to the table. */
export const requests = async (table: TestTable, act: () => Promise<unknown>): Promise<string[]> => {
  table.sent.length = 0;
  await act();
  return table.sent.map((command) => command.replace("Command", ""));
};

/** Runs `act`; its transaction number `at`, from 0, fails with a conflicting write. */
export const meetingAWriteAt = async <T>(table: TestTable, at: number, act: () => Promise<T>): Promise<T> => {
  let sent = 0;
  table.client.middlewareStack.add(
    (next, context) => (args) => {
      if (context["commandName"] === "TransactWriteItemsCommand" && sent++ === at)
        throw transactionConflict();
      return next(args);
    },
    { step: "initialize", name: "meeting a write" },
  );
  try {
    return await act();
  } finally {
    table.client.middlewareStack.remove("meeting a write");
  }
};

/** The code of the refusal; `accepted` when there is none. */
export const refusal = async (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => "accepted",
    (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
  );
