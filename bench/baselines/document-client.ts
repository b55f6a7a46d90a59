import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";

const client = DynamoDBDocumentClient.from(
  new DynamoDBClient({
    requestHandler: { connectionTimeout: 1000, requestTimeout: 5000, throwOnRequestTimeout: true },
  }),
);

const read = () =>
  client.send(
    new GetCommand({
      TableName: process.env["TABLE_NAME"],
      Key: { pk: "none", sk: "none" },
      ConsistentRead: true,
    }),
  );

/** Reads one item, once or several times in sequence, and does nothing else. */
export const handler = async ({ requests = 1 }: { readonly requests?: number }): Promise<unknown> => {
  let item: unknown;
  for (let request = 0; request < requests; request += 1) item = (await read()).Item;
  return { statusCode: 200, body: JSON.stringify(item ?? {}) };
};
