import * as z from "zod";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type { Instant } from "../lib/entitlements/time.ts";
import { onceLoaded } from "../lib/once.ts";
import { originOf, type TrustsOrigin } from "../lib/stores/android-store/workload-identity.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import { allowedDestinations } from "../lib/delivery/allowed-destinations.ts";
import { readCaller, readMasterSecret, readStoreSecret, type AwsAccess } from "./aws.ts";
import { OperatorError } from "./operator-error.ts";

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

const LOCAL_HOSTS = new Set(["127.0.0.1", "localhost", "[::1]"]);
/** DynamoDB Local requires a region and credentials, and accepts any. */
const LOCAL_REGION = "us-east-1";
const LOCAL_CREDENTIALS = { accessKeyId: "local", secretAccessKey: "local" } as const;
const TIMEOUTS = { connectionTimeout: 5000, requestTimeout: 30_000, throwOnRequestTimeout: true } as const;

const hostOf = (endpoint: string): string => {
  const url = URL.parse(endpoint);
  if (url === null) throw new OperatorError(`AWS_ENDPOINT_URL_DYNAMODB is not a URL: ${endpoint}`);
  return url.hostname;
};

const isOfThisMachine: TrustsOrigin = (origin) => {
  const { protocol, hostname } = new URL(origin);
  return protocol === "http:" && LOCAL_HOSTS.has(hostname);
};

const CLOCK_PATH = "/sandbox/clock";
const ANSWERS_WITHIN_MILLISECONDS = 2000;

const clockAnswer = z.object({ now: z.iso.datetime().transform((text): Instant => Date.parse(text)) });

/** Address of the local run, taken from the endpoints of its other services in the shell; null: the table is not its. */
const localRunOf = ({ environment, isLocal }: AwsAccess): string | null => {
  const address =
    environment["AWS_ENDPOINT_URL_STS"] ||
    environment["AWS_ENDPOINT_URL_SECRETS_MANAGER"] ||
    environment["AWS_ENDPOINT_URL"];
  const origin = isLocal && address ? URL.parse(address)?.origin : undefined;
  return origin !== undefined && isOfThisMachine(origin) ? origin : null;
};

const askTime = async (address: string): Promise<Instant | null> => {
  try {
    const response = await fetch(address + CLOCK_PATH, {
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MILLISECONDS),
    });
    return clockAnswer.safeParse(await response.json()).data?.now ?? null;
  } catch {
    return null;
  }
};

/** The clock of the table's service: this machine's, or that of a local run that answers, which may have been moved. */
const serviceClock = async (access: AwsAccess, now: () => Instant): Promise<() => Instant> => {
  const address = localRunOf(access);
  const asked = now();
  const time = address === null ? null : await askTime(address);
  return time === null ? now : () => now() + time - asked;
};

export const tableName = (option: string | undefined, environment: EnvironmentVariables): string => {
  const name = option || environment["TABLE_NAME"];
  if (!name)
    throw new OperatorError(
      "No table is named: give --table <name>, or set TABLE_NAME. For the service of npm start, export the lines that it prints.",
    );
  return name;
};

/**
 * Opens the table with the shell's credentials and region; the SDK reads `AWS_ENDPOINT_URL_DYNAMODB`. A DynamoDB on this
 * machine needs neither, and any http origin on this machine may issue tokens with it, because the sandbox does.
 */
export const connect = async (table: string, environment: EnvironmentVariables) => {
  const endpoint = environment["AWS_ENDPOINT_URL_DYNAMODB"];
  const isLocal = Boolean(endpoint) && LOCAL_HOSTS.has(hostOf(endpoint ?? ""));
  const givesTokens = originOf(environment["ANDROID_PUBLISHER_URL"]);
  const hasCredentials = Boolean(environment["AWS_ACCESS_KEY_ID"] || environment["AWS_PROFILE"]);
  const region =
    environment["AWS_REGION"] || environment["AWS_DEFAULT_REGION"] || (isLocal ? LOCAL_REGION : undefined);
  const options = {
    requestHandler: TIMEOUTS,
    ...(region !== undefined && { region }),
    ...(isLocal && !hasCredentials && { credentials: LOCAL_CREDENTIALS }),
  };
  const access = { environment, isLocal, client: options };
  const client = new DynamoDBClient(options);
  const resolvedRegion = await client.config.region().catch(() => {
    throw new OperatorError(
      "No AWS region is configured: set AWS_REGION, or a region in the profile of this shell. For the service of npm start, export the lines that it prints.",
    );
  });
  const store: Table = { client: DynamoDBDocumentClient.from(client), name: table };
  /** Origins besides Google's from which this table's workload identities may get tokens. */
  const trustsOrigin: TrustsOrigin = (origin) => givesTokens(origin) || (isLocal && isOfThisMachine(origin));
  return {
    environment,
    table,
    /** The endpoint's URL, or the AWS region. */
    where: endpoint || resolvedRegion,
    store,
    trustsOrigin,
    /** Whether a webhook may use plain HTTP or a private address: those that `DESTINATIONS` names. */
    allowsDestination: allowedDestinations(environment["DESTINATIONS"] || undefined),
    /** Kept once it is read. The console stays connected for hours, so a failed read is repeated. */
    masterSecret: onceLoaded(() => readMasterSecret(access, table)),
    readSecret: (name: string) => readStoreSecret(access, name),
    caller: () => readCaller(access),
    clock: (now: () => Instant) => serviceClock(access, now),
    close: () => client.destroy(),
  };
};
export type Connection = Awaited<ReturnType<typeof connect>>;
