import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DynamoDbLocal } from "../../local/dynamodb-local.ts";
import { localAwsVariables, startDynamoDb } from "../../testing/dynamodb.ts";

declare global {
  var dynamoDbLocal: DynamoDbLocal | undefined;
}

/** Starts one DynamoDB Local for the whole run. Each test file creates its own tables in it. */
const startLocalEnds = async (): Promise<void> => {
  globalThis.dynamoDbLocal = await startDynamoDb();
  Object.assign(process.env, localAwsVariables(globalThis.dynamoDbLocal.endpoint));
  process.env["TEST_RUN_FOLDER"] = mkdtempSync(join(tmpdir(), "test-run-"));
};

export default startLocalEnds;
