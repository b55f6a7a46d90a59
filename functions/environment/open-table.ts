import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type { Table } from "../../lib/table/dynamodb/table.ts";

/**
 * Connection timeout of each of the SDK's three attempts, which end after 7.7 s: the shortest function has 10 s. TCP
 * resends a lost packet after a second, and a busy machine is slower: with one second, three attempts failed, a 500.
 * From two seconds on, the SDK's timer has two steps, so a pause of this process alone ends no attempt.
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
