import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";

const CONNECT_WITHIN_MILLISECONDS = 1_000;
const ANSWER_WITHIN_MILLISECONDS = 3_000;

let client: SecretsManagerClient | undefined;

/** The text of a secret of AWS Secrets Manager. The client is made when the first secret is asked for: many need none. */
export const readSecret = async (name: string): Promise<string> => {
  client ??= new SecretsManagerClient({
    maxAttempts: 2,
    requestHandler: {
      connectionTimeout: CONNECT_WITHIN_MILLISECONDS,
      requestTimeout: ANSWER_WITHIN_MILLISECONDS,
      throwOnRequestTimeout: true,
    },
  });
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: name }));
  if (SecretString === undefined) throw new Error("The secret holds no text.");
  return SecretString;
};
