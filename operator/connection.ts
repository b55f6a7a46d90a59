import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import * as z from "zod";
import { allowedDestinations } from "../lib/delivery/addresses.ts";
import { masterSecretName } from "../lib/delivery/webhook-secret.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { onceLoaded } from "../lib/once.ts";
import { originOf, type TrustsOrigin } from "../lib/stores/android-store/workload-identity.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import { OperatorError } from "./operator-error.ts";

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

interface AwsAccess {
  readonly environment: EnvironmentVariables;
  /** Whether the table is on this machine; then AWS is asked only where an endpoint is named. */
  readonly isLocal: boolean;
  readonly client: {
    readonly requestHandler: Record<string, unknown>;
    readonly region?: string;
    readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
}

const endpointOf = ({ environment }: AwsAccess, service: "STS" | "SECRETS_MANAGER"): string | undefined =>
  environment[`AWS_ENDPOINT_URL_${service}`] || environment["AWS_ENDPOINT_URL"];

const at = (endpoint: string | undefined): string => (endpoint ? ` at ${endpoint}` : "");

const timeouts = (connectionTimeout: number, requestTimeout: number) => ({
  connectionTimeout,
  requestTimeout,
  throwOnRequestTimeout: true,
});

/** Short, because the command continues without an answer. */
const CALLER_LIMITS = { requestHandler: timeouts(2000, 5000), maxAttempts: 2 } as const;

const unnamed = (because: string): OperatorError =>
  new OperatorError(`The audit does not name the AWS identity of this shell: ${because}.`);

/**
 * The ARN of these credentials; `local` on a table of this machine.
 *
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
 * @throws OperatorError if STS does not name it, which must not block the command
 */
const readCaller = async (access: AwsAccess): Promise<string> => {
  const endpoint = endpointOf(access, "STS");
  if (access.isLocal && !endpoint) return "local";
  const client = new STSClient({ ...access.client, ...CALLER_LIMITS, ...(endpoint && { endpoint }) });
  const identity = client.send(new GetCallerIdentityCommand({})).finally(() => client.destroy());
  const { Arn: name } = await identity.catch((error: unknown) => {
    const because = error instanceof Error ? error.name : String(error);
    throw unnamed(`STS does not answer${at(endpoint)} (${because})`);
  });
  if (!name) throw unnamed("STS has answered without its name");
  return name;
};

const readSecret = async (access: AwsAccess, name: string): Promise<string | null> => {
  const endpoint = endpointOf(access, "SECRETS_MANAGER");
  const client = new SecretsManagerClient({ ...access.client, ...(endpoint && { endpoint }) });
  const read = client.send(new GetSecretValueCommand({ SecretId: name })).finally(() => client.destroy());
  return (await read).SecretString ?? null;
};

const FEWEST_BYTES = 32;

const REFUSALS: Readonly<Record<string, string>> = {
  ResourceNotFoundException: "there is no such secret",
  AccessDeniedException: "the credentials of this shell may not read it",
  DecryptionFailure: "the credentials of this shell may not decrypt it",
  InvalidRequestException: "it is being deleted, or has no value",
  CredentialsProviderError: "there are no AWS credentials in this shell",
};

/** As the service's functions read it: the secret `MASTER_SECRET`, or else the table's own. */
const readMasterSecret = async (access: AwsAccess, table: string): Promise<Uint8Array> => {
  const name = access.environment["MASTER_SECRET"] || masterSecretName(table);
  const endpoint = endpointOf(access, "SECRETS_MANAGER");
  if (access.isLocal && !endpoint)
    throw new OperatorError(
      `The master secret ${name} cannot be read: the table is on this machine, so AWS is not asked. Set AWS_ENDPOINT_URL_SECRETS_MANAGER to the address of the local run.`,
    );
  const unreadable = (because: string, cause?: unknown): OperatorError =>
    new OperatorError(
      `The master secret ${name} cannot be read: ${because}. MASTER_SECRET names another one, such as that of the stage to which a restored table belongs.`,
      { cause },
    );
  const text = await readSecret(access, name).catch((error: unknown) => {
    if (!(error instanceof Error)) throw error;
    const unreached = `Secrets Manager does not answer${at(endpoint)} (${error.name})`;
    throw unreadable(REFUSALS[error.name] ?? unreached, error);
  });
  const secret = new TextEncoder().encode(text ?? "");
  if (secret.byteLength < FEWEST_BYTES) throw unreadable(`its text has fewer than ${FEWEST_BYTES} bytes`);
  return secret;
};

/** Null: there is none, or the shell's credentials may not read it. */
const readStoreSecret = async (access: AwsAccess, name: string): Promise<string | null> => {
  if (access.isLocal && !endpointOf(access, "SECRETS_MANAGER")) return null;
  return readSecret(access, name).catch((error: unknown) => {
    const isRefusal =
      error instanceof Error && (error.name in REFUSALS || error.name === "InvalidParameterException");
    if (isRefusal) return null;
    throw error;
  });
};

const LOCAL_HOSTS = new Set(["127.0.0.1", "localhost", "[::1]"]);
/** DynamoDB Local requires a region and credentials, and accepts any. */
const LOCAL_REGION = "us-east-1";
const LOCAL_CREDENTIALS = { accessKeyId: "local", secretAccessKey: "local" } as const;

const isAtHand = (endpoint: string): boolean => {
  const url = URL.parse(endpoint);
  if (url === null) throw new OperatorError(`AWS_ENDPOINT_URL_DYNAMODB is not a URL: ${endpoint}`);
  return LOCAL_HOSTS.has(url.hostname);
};

const isOfThisMachine: TrustsOrigin = (origin) => {
  const { protocol, hostname } = new URL(origin);
  return protocol === "http:" && LOCAL_HOSTS.has(hostname);
};

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
    const response = await fetch(`${address}/sandbox/clock`, { signal: AbortSignal.timeout(2000) });
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
 * machine needs neither; with it, any http origin of this machine may issue tokens, because the sandbox does.
 */
export const connect = async (table: string, environment: EnvironmentVariables) => {
  const endpoint = environment["AWS_ENDPOINT_URL_DYNAMODB"];
  const isLocal = endpoint ? isAtHand(endpoint) : false;
  const givesTokens = originOf(environment["ANDROID_PUBLISHER_URL"]);
  const hasCredentials = Boolean(environment["AWS_ACCESS_KEY_ID"] || environment["AWS_PROFILE"]);
  const region =
    environment["AWS_REGION"] || environment["AWS_DEFAULT_REGION"] || (isLocal ? LOCAL_REGION : undefined);
  const options = {
    requestHandler: timeouts(5000, 30_000),
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
