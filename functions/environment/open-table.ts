import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type { Table } from "../../lib/table/dynamodb/table.ts";

/**
 * Connection timeout of each of the SDK's three attempts. TCP resends a lost packet after a second, and a function on a
 * busy machine may wait longer for CPU: with one second, three attempts failed within 3.2 s, a 500. From two seconds on,
 * the SDK's timer has two steps, so a pause of this process alone ends no attempt. Three attempts end after 7.7 s, within
 * the 10 s of the shortest function and the 29 s of API Gateway.
 */
const CONNECT_WITHIN_MILLISECONDS = 2_500;
/** Timeout of each attempt, connection included: three end after 15 s, within the 28 s of the functions that write. */
const ANSWER_WITHIN_MILLISECONDS = 5_000;

/** Region, credentials and endpoint come from the AWS SDK's environment. */
export const openTable = (name: string): Table => {
  const client = new DynamoDBClient({
    requestHandler: {
      connectionTimeout: CONNECT_WITHIN_MILLISECONDS,
      requestTimeout: ANSWER_WITHIN_MILLISECONDS,
      throwOnRequestTimeout: true,
    },
  });
  // This middleware copies each request and answer for a logger that drops them.
  client.middlewareStack.remove("loggerMiddleware");
  return { name, client: DynamoDBDocumentClient.from(client) };
};
