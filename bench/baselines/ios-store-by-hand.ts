import { X509Certificate, type KeyObject } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BatchGetCommand, DynamoDBDocumentClient, GetCommand, QueryCommand } from "@aws-sdk/lib-dynamodb";
import { compactVerify } from "jose/jws/compact/verify";
import type { SignedRequest } from "../../testing/support/metered/purchases.ts";

const TableName = process.env["TABLE_NAME"] ?? "";
const NOBODY = { pk: "none", sk: "none" };

const client = DynamoDBDocumentClient.from(
  new DynamoDBClient({
    requestHandler: { connectionTimeout: 1000, requestTimeout: 5000, throwOnRequestTimeout: true },
  }),
);

const batch = () =>
  client.send(
    new BatchGetCommand({ RequestItems: { [TableName]: { Keys: [NOBODY], ConsistentRead: true } } }),
  );

const keys = new Map<string, KeyObject>();

const keyOf = (header: string): KeyObject => {
  const { x5c }: { x5c: string[] } = JSON.parse(Buffer.from(header, "base64url").toString());
  const [leaf, intermediate, root] = x5c.map((der) => new X509Certificate(Buffer.from(der, "base64")));
  if (!leaf || !intermediate || !root) throw new Error("The chain must have three certificates.");
  if (!leaf.verify(intermediate.publicKey) || !intermediate.verify(root.publicKey))
    throw new Error("Each certificate must be signed by the next.");
  return leaf.publicKey;
};

const verify = async (compact: string): Promise<void> => {
  const [header = ""] = compact.split(".", 1);
  const key = keys.get(header) ?? keyOf(header);
  keys.set(header, key);
  await compactVerify(compact, key);
};

/**
 * The least work of a link or synchronize: signature checks with the service's libraries, and the service's kinds of
 * DynamoDB requests in sequence, for items that do not exist. No schemas, log, rules or answer.
 */
export const handler = async ({ body }: { readonly body: string }): Promise<unknown> => {
  const request: SignedRequest = JSON.parse(body);
  await verify(request.signedAppTransaction);
  await client.send(new GetCommand({ TableName, Key: NOBODY, ConsistentRead: true }));
  await client.send(
    new QueryCommand({
      TableName,
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": NOBODY.pk },
      ConsistentRead: true,
    }),
  );
  for (const transaction of request.signedTransactions) await verify(transaction);
  await batch();
  await batch();
  return { statusCode: 200, body: "{}" };
};
