import { isDeepStrictEqual } from "node:util";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  ResourceInUseException,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
  waitUntilTableNotExists,
  type DynamoDBClient,
  type TableDescription,
} from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import { LocalError } from "../local-error.ts";
import { Template, type Assembly } from "../lambda/template.ts";

/** In seconds. */
const WAIT = { maxWaitTime: 30, minDelay: 0.05, maxDelay: 1 } as const;

const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(["HASH", "RANGE"]) }));

const tableDefinition = z.object({
  AttributeDefinitions: z.array(
    z.object({ AttributeName: z.string(), AttributeType: z.enum(["S", "N", "B"]) }),
  ),
  BillingMode: z.literal("PAY_PER_REQUEST"),
  KeySchema: keySchema,
  GlobalSecondaryIndexes: z
    .array(
      z.object({
        IndexName: z.string(),
        KeySchema: keySchema,
        Projection: z.object({ ProjectionType: z.enum(["ALL", "KEYS_ONLY"]) }),
      }),
    )
    .default([]),
  TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.boolean() }).optional(),
});

/** The templates' table, without its name. */
type TableDefinition = z.infer<typeof tableDefinition>;

export const tableOf = ({ document }: Assembly, region: string): TableDefinition =>
  new Template(document, { region }).onlyResource("AWS::DynamoDB::GlobalTable", tableDefinition);

const describe = async (client: DynamoDBClient, TableName: string) => {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table ?? null;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return null;
    throw error;
  }
};

/** Keys of a table and of its indexes. */
const keysOf = ({
  KeySchema,
  GlobalSecondaryIndexes = [],
}: Pick<TableDescription, "KeySchema" | "GlobalSecondaryIndexes">) => ({
  KeySchema,
  indexes: Object.fromEntries(GlobalSecondaryIndexes.map((index) => [index.IndexName, index.KeySchema])),
});

/**
 * Creates the template's table unless it exists.
 *
 * @throws LocalError if a table of that name has other keys or indexes
 */
export const ensureTable = async (
  client: DynamoDBClient,
  name: string,
  properties: TableDefinition,
): Promise<void> => {
  const found = await describe(client, name);
  if (found && !isDeepStrictEqual(keysOf(found), keysOf(properties)))
    throw new LocalError(
      `The table ${name} does not have the keys of this version: remove it, or use another folder with --data <folder>.`,
    );
  if (found?.TableStatus === "ACTIVE") return;
  const { TimeToLiveSpecification, ...definition } = properties;
  try {
    if (!found) await client.send(new CreateTableCommand({ TableName: name, ...definition }));
  } catch (error) {
    // Another process has created it in the meantime.
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await waitUntilTableExists({ client, ...WAIT }, { TableName: name });
  if (TimeToLiveSpecification)
    await client.send(new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification }));
};

/** Deletes the table and creates it again. */
export const emptyTable = async (
  client: DynamoDBClient,
  name: string,
  properties: TableDefinition,
): Promise<void> => {
  try {
    await client.send(new DeleteTableCommand({ TableName: name }));
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
  }
  await waitUntilTableNotExists({ client, ...WAIT }, { TableName: name });
  await ensureTable(client, name, properties);
};
