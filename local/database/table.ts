import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
  waitUntilTableNotExists,
  type DynamoDBClient,
} from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import type { Assembly } from "../lambda/assembly.ts";

/** In seconds. */
const WAIT = { maxWaitTime: 30, minDelay: 0.05, maxDelay: 1 } as const;

const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(["HASH", "RANGE"]) }));

const tableDefinition = z.object({
  AttributeDefinitions: z.array(
    z.object({ AttributeName: z.string(), AttributeType: z.enum(["S", "N", "B"]) }),
  ),
  BillingMode: z.literal("PAY_PER_REQUEST"),
  KeySchema: keySchema,
  GlobalSecondaryIndexes: z.array(
    z.object({
      IndexName: z.string(),
      KeySchema: keySchema,
      Projection: z.object({ ProjectionType: z.enum(["ALL", "KEYS_ONLY"]) }),
    }),
  ),
  TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.boolean() }),
});

type TableDefinition = z.infer<typeof tableDefinition>;

export const tableOf = (assembly: Assembly): TableDefinition =>
  assembly.onlyResource("AWS::DynamoDB::GlobalTable", tableDefinition);

/** Null: there is no table. */
const statusOf = async (client: DynamoDBClient, TableName: string) => {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table?.TableStatus ?? null;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return null;
    throw error;
  }
};

/** Creates the template's table unless it exists. */
export const ensureTable = async (
  client: DynamoDBClient,
  name: string,
  properties: TableDefinition,
): Promise<void> => {
  const status = await statusOf(client, name);
  if (status === "ACTIVE") return;
  const { TimeToLiveSpecification, ...definition } = properties;
  if (status === null) await client.send(new CreateTableCommand({ TableName: name, ...definition }));
  await waitUntilTableExists({ client, ...WAIT }, { TableName: name });
  await client.send(new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification }));
};

/** Deletes the table and creates it again. */
export const emptyTable = async (
  client: DynamoDBClient,
  name: string,
  properties: TableDefinition,
): Promise<void> => {
  // Missing after a reset that ended halfway.
  if ((await statusOf(client, name)) !== null) await client.send(new DeleteTableCommand({ TableName: name }));
  await waitUntilTableNotExists({ client, ...WAIT }, { TableName: name });
  await ensureTable(client, name, properties);
};
