import getPort from "get-port";
import { randomUUID } from "node:crypto";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
  type CreateTableCommandInput,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, paginateScan } from "@aws-sdk/lib-dynamodb";
import { TABLE } from "../lib/table/keys.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import { isAtHand } from "../local/database/database.ts";
import { startDynamoDbLocal, type DynamoDbLocal } from "../local/database/dynamodb-local.ts";

/**
 * Variables by which the AWS SDK reaches a DynamoDB Local. Any credentials will do; without them, the SDK looks for
 * real ones.
 */
export const localAwsVariables = (endpoint: string) => ({
  AWS_ENDPOINT_URL_DYNAMODB: endpoint,
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
});

/** Starts DynamoDB Local on a free port, in memory. Needs Java 17 or later, or a running Docker. */
export const startDynamoDb = async (): Promise<DynamoDbLocal> =>
  startDynamoDbLocal({ port: await getPort(), folder: null });

/**
 * The DynamoDB at `AWS_ENDPOINT_URL_DYNAMODB`, or one started here.
 *
 * @throws if the variable names a host on the internet: no test writes into a real account
 */
export const openDynamoDb = async (): Promise<Pick<DynamoDbLocal, "endpoint" | "stop">> => {
  const given = process.env["AWS_ENDPOINT_URL_DYNAMODB"];
  if (given === undefined || given === "") return startDynamoDb();
  if (!isAtHand(given))
    throw new Error(`AWS_ENDPOINT_URL_DYNAMODB names ${given}, which is no DynamoDB Local on this machine.`);
  return { endpoint: given, stop: () => Promise.resolve() };
};

const DEFINITION = {
  BillingMode: "PAY_PER_REQUEST",
  KeySchema: [
    { AttributeName: TABLE.partitionKey, KeyType: "HASH" },
    { AttributeName: TABLE.sortKey, KeyType: "RANGE" },
  ],
  AttributeDefinitions: [TABLE.partitionKey, TABLE.sortKey, TABLE.ownerAttribute].map((AttributeName) => ({
    AttributeName,
    AttributeType: "S" as const,
  })),
  GlobalSecondaryIndexes: [
    {
      IndexName: TABLE.ownerIndex,
      KeySchema: [{ AttributeName: TABLE.ownerAttribute, KeyType: "HASH" }],
      Projection: { ProjectionType: "KEYS_ONLY" },
    },
  ],
} satisfies Omit<CreateTableCommandInput, "TableName">;

/**
 * A new table with the deployed one's keys and index.
 *
 * @throws with instructions if nothing answers
 */
export const createTable = async () => {
  const client = new DynamoDBClient({});
  const TableName = `test-${randomUUID()}`;
  await client.send(new CreateTableCommand({ TableName, ...DEFINITION })).catch((error: unknown) => {
    // Compared as text: if a test runner has its own realms, the SDK wraps the error.
    if (!String(error).includes("ECONNREFUSED")) throw error;
    throw new Error(
      "No DynamoDB answers where AWS_ENDPOINT_URL_DYNAMODB says. Unset the variable in this shell, and one is started.",
      { cause: error },
    );
  });
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 0.05 }, { TableName });
  return {
    name: TableName,
    client: DynamoDBDocumentClient.from(client),
    remove: async (): Promise<void> => {
      await client.send(new DeleteTableCommand({ TableName }));
      client.destroy();
    },
  };
};

/** Every item of a table, or each whose key contains a text, in order of key. */
export const itemsIn = async ({ client, name }: Table, containing?: string) => {
  const items: Record<string, unknown>[] = [];
  // The database filters: reading what other tests have left takes longer than many a test.
  const filter = containing !== undefined && {
    FilterExpression: "contains(pk, :text) OR contains(sk, :text)",
    ExpressionAttributeValues: { ":text": containing },
  };
  for await (const page of paginateScan({ client }, { TableName: name, ConsistentRead: true, ...filter }))
    items.push(...(page.Items ?? []));
  const textOfKey = ({ pk, sk }: Record<string, unknown>): string => JSON.stringify([pk, sk]);
  return items.sort((a, b) => (textOfKey(a) < textOfKey(b) ? -1 : 1));
};
