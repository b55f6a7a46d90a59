import { DeleteTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, paginateScan } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod/mini";
import { askItem } from "../../../lib/table/customers/items.ts";
import type { Table } from "../../../lib/table/dynamodb/table.ts";
import { createTable } from "../../dynamodb.ts";

/** A request that left the SDK. */
interface SentRequest {
  readonly command: string;
}

export interface TestTable extends Table {
  /** The requests that left the SDK since the last reset, retries included. */
  readonly sent: SentRequest[];
  /** Every item of the table, or each whose key contains a text, in order of key. */
  items(containing?: string): Promise<Record<string, unknown>[]>;
  /** Another client of the table. */
  connect(): DynamoDBDocumentClient;
  remove(): Promise<void>;
}

/** Reads a table whole. */
export const itemsIn =
  ({ client, name }: Table): TestTable["items"] =>
  async (containing) => {
    const items: Record<string, unknown>[] = [];
    // The database filters: reading what other tests have left takes longer than many a test.
    const filter =
      containing === undefined
        ? {}
        : {
            FilterExpression: "contains(pk, :text) OR contains(sk, :text)",
            ExpressionAttributeValues: { ":text": containing },
          };
    for await (const page of paginateScan({ client }, { TableName: name, ConsistentRead: true, ...filter }))
      items.push(...(page.Items ?? []));
    return items.sort((a, b) =>
      JSON.stringify([a["pk"], a["sk"]]) < JSON.stringify([b["pk"], b["sk"]]) ? -1 : 1,
    );
  };

/** A new table of its own in DynamoDB Local, keyed as the deployed one. */
export const createTestTable = async (): Promise<TestTable> => {
  const base = new DynamoDBClient({});
  const name = await createTable(base);
  const sent: SentRequest[] = [];
  base.middlewareStack.add(
    (next, context) => async (args) => {
      sent.push({ command: String(context["commandName"]) });
      return next(args);
    },
    { step: "finalizeRequest", priority: "low" },
  );
  const client = DynamoDBDocumentClient.from(base);
  return {
    client,
    name,
    sent,
    items: itemsIn({ client, name }),
    connect: () => DynamoDBDocumentClient.from(new DynamoDBClient({})),
    remove: async () => {
      await base.send(new DeleteTableCommand({ TableName: name }));
      base.destroy();
    },
  };
};

/** A purchase whose acknowledgement is pending, as its queue holds it. */
type PendingItem = z.output<ReturnType<typeof askItem>> & { readonly application: string };

/** Every pending acknowledgement of the table, oldest first. */
export const pendingIn = async (table: Pick<TestTable, "items">): Promise<readonly PendingItem[]> =>
  (await table.items()).flatMap((item) => {
    const [, application = ""] = /^APPLICATION#([^#]+)#ASK#/.exec(String(item["pk"])) ?? [];
    const parsed = askItem().safeParse(item);
    return parsed.success && parsed.data.acknowledgement !== undefined
      ? [{ application, ...parsed.data }]
      : [];
  });
