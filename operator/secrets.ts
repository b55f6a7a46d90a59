import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { masterSecretName } from "../lib/delivery/master-secret.ts";
import type { AwsAccess } from "./caller.ts";
import { OperatorError } from "./operator-error.ts";

const endpointOf = ({ environment }: AwsAccess): string | undefined =>
  environment["AWS_ENDPOINT_URL_SECRETS_MANAGER"] || environment["AWS_ENDPOINT_URL"];

const readText = async (access: AwsAccess, name: string): Promise<string | null> => {
  const endpoint = endpointOf(access);
  const client = new SecretsManagerClient({ ...access.client, ...(endpoint && { endpoint }) });
  try {
    const { SecretString = null } = await client.send(new GetSecretValueCommand({ SecretId: name }));
    return SecretString;
  } finally {
    client.destroy();
  }
};

/** Minimum length of a master secret. */
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
  const endpoint = endpointOf(access);
  if (access.isLocal && !endpoint)
    throw new OperatorError(
      `The master secret ${name} cannot be read: the table is on this machine, so AWS is not asked. Set AWS_ENDPOINT_URL_SECRETS_MANAGER to the address of the local run.`,
    );
  const unreadable = (because: string, cause?: unknown): OperatorError =>
    new OperatorError(
      `The master secret ${name} cannot be read: ${because}. MASTER_SECRET names another one, such as that of the stage to which a restored table belongs.`,
      { cause },
    );
  const text = await readText(access, name).catch((error: unknown) => {
    if (!(error instanceof Error)) throw error;
    const unreached = `Secrets Manager does not answer${endpoint ? ` at ${endpoint}` : ""} (${error.name})`;
    throw unreadable(REFUSALS[error.name] ?? unreached, error);
  });
  const secret = new TextEncoder().encode(text ?? "");
  if (secret.byteLength < FEWEST_BYTES) throw unreadable(`its text has fewer than ${FEWEST_BYTES} bytes`);
  return secret;
};

/** Reads a store's secret as the functions do, with the credentials of the shell; null: there is none, or it may not be read. */
export const readStoreSecret = async (access: AwsAccess, name: string): Promise<string | null> => {
  // The table is on this machine, so AWS is not asked.
  if (access.isLocal && !endpointOf(access)) return null;
  return readText(access, name).catch((error: unknown) => {
    const isRefusal =
      error instanceof Error && (error.name in REFUSALS || error.name === "InvalidParameterException");
    if (isRefusal) return null;
    throw error;
  });
};
