import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";

/** Timeouts per attempt; two attempts are made. */
const CONNECT_WITHIN_MILLISECONDS = 2_000;
const ANSWER_WITHIN_MILLISECONDS = 3_000;

let client: SecretsManagerClient | undefined;

/** Errors after which a retry does not help. */
const NO_SECRET: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "DecryptionFailure",
  "InvalidParameterException",
  "InvalidRequestException",
  "ResourceNotFoundException",
]);

/** Text of a secret; null if it does not exist or may not be read. Rejects if Secrets Manager cannot be reached. */
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
