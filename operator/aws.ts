import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { masterSecretName } from "../lib/delivery/master-secret.ts";
import { OperatorError } from "./operator-error.ts";

/** Region and credentials of the table's connection. */
export interface AwsAccess {
  readonly environment: Readonly<Record<string, string | undefined>>;
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

/** Short, because the command continues without an answer. */
const TIMEOUTS = { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true } as const;
const ATTEMPTS = 2;

const unnamed = (because: string): OperatorError =>
  new OperatorError(`The audit does not name the AWS identity of this shell: ${because}.`);

/**
 * Asks STS for the ARN of these credentials; `local` on a table of this machine.
 *
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
 * @throws OperatorError if STS does not name it, which must not block the command
 */
export const readCaller = async (access: AwsAccess): Promise<string> => {
  const endpoint = endpointOf(access, "STS");
  if (access.isLocal && !endpoint) return "local";
  const limits = { requestHandler: TIMEOUTS, maxAttempts: ATTEMPTS };
  const client = new STSClient({ ...access.client, ...limits, ...(endpoint && { endpoint }) });
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

/** Reads the service's master secret as its functions do: the secret `MASTER_SECRET`, or else the table's own. */
export const readMasterSecret = async (access: AwsAccess, table: string): Promise<Uint8Array> => {
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

/** Reads a store's secret as the functions do, with the credentials of the shell; null: there is none, or it may not be read. */
export const readStoreSecret = async (access: AwsAccess, name: string): Promise<string | null> => {
  if (access.isLocal && !endpointOf(access, "SECRETS_MANAGER")) return null;
  return readSecret(access, name).catch((error: unknown) => {
    const isRefusal =
      error instanceof Error && (error.name in REFUSALS || error.name === "InvalidParameterException");
    if (isRefusal) return null;
    throw error;
  });
};
