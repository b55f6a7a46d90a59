import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";

/** A function that reads one item, and has nothing else in it. */
const client = DynamoDBDocumentClient.from(
  new DynamoDBClient({
    requestHandler: { connectionTimeout: 1000, requestTimeout: 5000, throwOnRequestTimeout: true },
  }),
);

export const handler = async (): Promise<unknown> => {
  const { Item = {} } = await client.send(
    new GetCommand({
      TableName: process.env["TABLE_NAME"],
      Key: { pk: "none", sk: "none" },
      ConsistentRead: true,
    }),
  );
  return { statusCode: 200, body: JSON.stringify(Item) };
};
