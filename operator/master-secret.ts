import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { masterSecretName } from "../lib/delivery/master-secret.ts";
import { OperatorError } from "./operator-error.ts";

/** Access to Secrets Manager: region and credentials of the table's connection. */
export interface SecretsAccess {
  readonly table: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether the table is on this machine; then AWS is never asked. */
  readonly isLocal: boolean;
  readonly client: ConstructorParameters<typeof SecretsManagerClient>[0];
}

/** Minimum length of a master secret. */
const FEWEST_BYTES = 32;

const REFUSALS: Readonly<Record<string, string>> = {
  ResourceNotFoundException: "there is no such secret",
  AccessDeniedException: "the credentials of this shell may not read it",
  DecryptionFailure: "the credentials of this shell may not decrypt it",
  InvalidRequestException: "it is being deleted, or has no value",
  CredentialsProviderError: "there are no AWS credentials in this shell",
};

const sentenceOf = (name: string, because: string): string =>
  `The master secret ${name} cannot be read: ${because}. MASTER_SECRET names another one, such as that of the stage to which a restored table belongs.`;

/** Reads the service's master secret as its functions do: the secret `MASTER_SECRET`, or else the table's own. */
export const readMasterSecret = async ({
  table,
  environment,
  isLocal,
  client: options,
}: SecretsAccess): Promise<Uint8Array> => {
  const name = environment["MASTER_SECRET"] || masterSecretName(table);
  const endpoint = environment["AWS_ENDPOINT_URL_SECRETS_MANAGER"] || environment["AWS_ENDPOINT_URL"];
  if (isLocal && !endpoint)
    throw new OperatorError(
      `The master secret ${name} cannot be read: the table is on this machine, so AWS is not asked. Set AWS_ENDPOINT_URL_SECRETS_MANAGER to the address of the local run.`,
    );
  const client = new SecretsManagerClient({ ...options, ...(endpoint && { endpoint }) });
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: name }));
    const secret = new TextEncoder().encode(SecretString ?? "");
    if (secret.byteLength < FEWEST_BYTES)
      throw new OperatorError(sentenceOf(name, `its text has fewer than ${FEWEST_BYTES} bytes`));
    return secret;
  } catch (error) {
    if (error instanceof OperatorError || !(error instanceof Error)) throw error;
    const unreached = `Secrets Manager does not answer${endpoint ? ` at ${endpoint}` : ""} (${error.name})`;
    throw new OperatorError(sentenceOf(name, REFUSALS[error.name] ?? unreached), { cause: error });
  } finally {
    client.destroy();
  }
};
