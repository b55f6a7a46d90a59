import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ListTablesCommand,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import getPort from "get-port";
import * as z from "zod";
import type { Assembly } from "../lambda/assembly.ts";
import { codeOf, LocalError, requireFreePort } from "../server.ts";
import type { DataFolder } from "./data-folder.ts";
import { ANY_CREDENTIALS, ANY_REGION, startDynamoDbLocal } from "./dynamodb-local.ts";

/** A running DynamoDB. Without credentials, each function uses placeholders of its own. */
interface GivenDynamoDb {
  readonly endpoint: string;
  readonly region?: string;
  readonly credentials?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
  /** Port of the endpoint, if DynamoDB Local may be started there. */
  readonly startsAt?: number;
}

/** Whether a database is on this machine or beside it, by a name that no internet host has. */
export const isAtHand = (endpoint: string): boolean => {
  const { hostname } = new URL(endpoint);
  return hostname === "127.0.0.1" || hostname === "[::1]" || !/[.:]/.test(hostname);
};

/** Environment variables by which the functions reach the database. */
export const connectionVariables = ({ endpoint, credentials }: GivenDynamoDb): Record<string, string> => ({
  AWS_ENDPOINT_URL_DYNAMODB: endpoint,
  ...(credentials !== undefined && {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    ...(credentials.sessionToken !== undefined && { AWS_SESSION_TOKEN: credentials.sessionToken }),
  }),
});

const clientOf = ({ endpoint, region = ANY_REGION, credentials = ANY_CREDENTIALS }: GivenDynamoDb) =>
  new DynamoDBClient({
    endpoint,
    region,
    credentials,
    requestHandler: { connectionTimeout: 3000, requestTimeout: 10_000 },
  });

/** A connection's code, such as `ECONNREFUSED`, or the name of DynamoDB's own error. */
const nameOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown";
  return error.name === "Error" || error.name === "AggregateError" ? codeOf(error) : error.name;
};

const requireAnswer = async (client: DynamoDBClient, endpoint: string): Promise<void> => {
  try {
    await client.send(new ListTablesCommand({ Limit: 1 }));
  } catch (cause) {
    throw new LocalError(
      `No DynamoDB answers at ${endpoint} (${nameOf(cause)}); start it, or unset AWS_ENDPOINT_URL_DYNAMODB to have one started.`,
      { cause },
    );
  }
};

/** Explains failures of a database that has answered before. */
export const preparingTable = async <T>(endpoint: string, prepare: () => Promise<T>): Promise<T> => {
  try {
    return await prepare();
  } catch (cause) {
    if (cause instanceof LocalError || !(cause instanceof Error) || !("$metadata" in cause)) throw cause;
    throw new LocalError(
      `The DynamoDB at ${endpoint} did not let the table be prepared (${cause.name}); see that it runs, and that its credentials may make tables.`,
      { cause },
    );
  }
};

/** A running DynamoDB, or the port to start DynamoDB Local on (0: any free one). */
export type WantedDynamoDb = GivenDynamoDb | { readonly port: number };

const isFree = async (port: number): Promise<boolean> =>
  requireFreePort(port).then(
    () => true,
    () => false,
  );

const startOwn = async (wanted: WantedDynamoDb, folder: DataFolder) => {
  if ("endpoint" in wanted && (wanted.startsAt === undefined || !(await isFree(wanted.startsAt))))
    return null;
  const given = "endpoint" in wanted ? wanted.startsAt : wanted.port;
  const port = given || (await getPort());
  await requireFreePort(port, {
    variable: "DYNAMODB_PORT",
    hint: "an earlier run that was killed leaves its DynamoDB Local behind",
  });
  return startDynamoDbLocal({ port, folder: folder.dynamoDb, onProcess: folder.nameDatabase });
};

/** Opens the given database, or starts one; `local` is null if it was running already. */
export const openDatabase = async (
  wanted: WantedDynamoDb,
  folder: DataFolder,
  resources: AsyncDisposableStack,
) => {
  const local = await startOwn(wanted, folder);
  if (local) resources.defer(local.stop);
  const connection: GivenDynamoDb =
    local === null && "endpoint" in wanted ? wanted : { endpoint: local?.endpoint ?? "" };
  const client = clientOf(connection);
  resources.defer(() => client.destroy());
  await requireAnswer(client, connection.endpoint);
  return { connection, client, local };
};

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

/** The template's table, in a database. */
export const tableOf = (assembly: Assembly, client: DynamoDBClient, TableName: string) => {
  const { TimeToLiveSpecification, ...definition } = assembly.onlyResource(
    "AWS::DynamoDB::GlobalTable",
    tableDefinition,
  );
  /** Null: there is no table. */
  const status = async () => {
    try {
      return (await client.send(new DescribeTableCommand({ TableName }))).Table?.TableStatus ?? null;
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return null;
      throw error;
    }
  };
  /** Creates it unless it exists. */
  const ensure = async (): Promise<void> => {
    const found = await status();
    if (found === "ACTIVE") return;
    if (found === null) await client.send(new CreateTableCommand({ TableName, ...definition }));
    await waitUntilTableExists({ client, ...WAIT }, { TableName });
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
  };
  /** Deletes it and creates it again. */
  const empty = async (): Promise<void> => {
    // Missing after a reset that ended halfway.
    if ((await status()) !== null) await client.send(new DeleteTableCommand({ TableName }));
    await waitUntilTableNotExists({ client, ...WAIT }, { TableName });
    await ensure();
  };
  return { ensure, empty };
};
