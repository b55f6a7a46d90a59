import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startDynamoDbLocal, type DynamoDbLocal } from "../../local/dynamodb-local.ts";

declare global {
  var dynamoDbLocal: DynamoDbLocal | undefined;
}

/** Starts one DynamoDB Local for the whole run. Each test file creates its own tables in it. */
const startLocalEnds = async (): Promise<void> => {
  globalThis.dynamoDbLocal = await startDynamoDbLocal({ port: await freePort(), folder: null });
  process.env["AWS_ENDPOINT_URL_DYNAMODB"] = globalThis.dynamoDbLocal.endpoint;
  process.env["TEST_RUN_FOLDER"] = mkdtempSync(join(tmpdir(), "test-run-"));
  process.env["AWS_REGION"] = "us-east-1";
  process.env["AWS_ACCESS_KEY_ID"] = "local";
  process.env["AWS_SECRET_ACCESS_KEY"] = "local";
};

export default startLocalEnds;
