import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DynamoDbLocal } from "../../local/database/dynamodb-local.ts";
import { localAwsVariables, startDynamoDb } from "../../testing/dynamodb.ts";
import { chooseSeed } from "../../testing/support/proof.ts";

declare global {
  var dynamoDbLocal: DynamoDbLocal | undefined;
}

/** Variables of a terminal in which a local run is used: its clock and its secrets would become those of the tests. */
const OF_A_LOCAL_RUN = [
  "ADDRESS",
  "TABLE_NAME",
  "AWS_ENDPOINT_URL",
  "AWS_ENDPOINT_URL_SECRETS_MANAGER",
  "AWS_ENDPOINT_URL_STS",
];

/** Options of each Java that a test starts. Compiling once is cheaper for a process that lives for minutes. */
const JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/** Prints the seed of the run, and starts one DynamoDB Local for the whole run. Each test file creates its own tables in it. */
const startLocalEnds = async (): Promise<void> => {
  process.env["SEED"] = String(chooseSeed(process.env["SEED"]));
  process.stdout.write(`Seed of the random cases: SEED=${process.env["SEED"]}\n`);
  for (const name of OF_A_LOCAL_RUN) delete process.env[name];
  process.env["JDK_JAVA_OPTIONS"] ??= JAVA_OPTIONS;
  // A signal ends the run as an exit does, which ends the database.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  globalThis.dynamoDbLocal = await startDynamoDb();
  Object.assign(process.env, localAwsVariables(globalThis.dynamoDbLocal.endpoint));
  const folder = mkdtempSync(join(tmpdir(), "test-run-"));
  process.env["TEST_RUN_FOLDER"] = folder;
  // The processes that tests start load the same modules again and again.
  process.env["NODE_COMPILE_CACHE"] ??= join(folder, "compile-cache");
};

export default startLocalEnds;
