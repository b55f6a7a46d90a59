import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { SecretsAccess } from "./master-secret.ts";

/** Errors that mean the secret does not exist or may not be read; a retry does not help. */
const NO_SECRET: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "CredentialsProviderError",
  "DecryptionFailure",
  "InvalidParameterException",
  "InvalidRequestException",
  "ResourceNotFoundException",
]);

/** Reads a store's secret as the functions do, with the credentials of the shell. */
export const readStoreSecret = async (
  { environment, isLocal, client: options }: Omit<SecretsAccess, "table">,
  name: string,
): Promise<string | null> => {
  const endpoint = environment["AWS_ENDPOINT_URL_SECRETS_MANAGER"] || environment["AWS_ENDPOINT_URL"];
  // The table is on this machine, so AWS is not asked.
  if (isLocal && !endpoint) return null;
  const client = new SecretsManagerClient({ ...options, ...(endpoint && { endpoint }) });
  try {
    const { SecretString = null } = await client.send(new GetSecretValueCommand({ SecretId: name }));
    return SecretString;
  } catch (error) {
    if (error instanceof Error && NO_SECRET.has(error.name)) return null;
    throw error;
  } finally {
    client.destroy();
  }
};
