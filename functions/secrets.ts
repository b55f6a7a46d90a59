import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";

/** As the table's (`openTable`), of two attempts. */
const CONNECT_WITHIN_MILLISECONDS = 2_000;
const ANSWER_WITHIN_MILLISECONDS = 3_000;

let client: SecretsManagerClient | undefined;

/** What says that there is no such secret to read, however often one asks. */
const NO_SECRET: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "DecryptionFailure",
  "InvalidParameterException",
  "InvalidRequestException",
  "ResourceNotFoundException",
]);

/**
 * The text of a secret of AWS Secrets Manager; null where there is none or it may not be read. Rejects where it could
 * not be asked for.
 */
export const readSecret = async (name: string): Promise<string | null> => {
  client ??= new SecretsManagerClient({
    maxAttempts: 2,
    requestHandler: {
      connectionTimeout: CONNECT_WITHIN_MILLISECONDS,
      requestTimeout: ANSWER_WITHIN_MILLISECONDS,
      throwOnRequestTimeout: true,
    },
  });
  try {
    const { SecretString = null } = await client.send(new GetSecretValueCommand({ SecretId: name }));
    return SecretString;
  } catch (error) {
    if (error instanceof Error && NO_SECRET.has(error.name)) return null;
    throw error;
  }
};
