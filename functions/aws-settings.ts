import type { DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import type { SecretsManagerClientConfig } from "@aws-sdk/client-secrets-manager";
import { optionalVariable } from "./configuration.ts";

/**
 * A client's settings, as far as the AWS SDK would look for them in `~/.aws/config`: no function has one, and
 * looking is 3 % of a first answer. What the SDK's own variables say of endpoints is followed.
 *
 * @param service as in the SDK's variable for the service's endpoint, `AWS_ENDPOINT_URL_<service>`
 * @see https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
 */
export const awsSettings = (
  service: "DYNAMODB" | "SECRETS_MANAGER",
): DynamoDBClientConfig & SecretsManagerClientConfig => {
  const endpoint =
    optionalVariable(`AWS_ENDPOINT_URL_${service}`) ?? optionalVariable("AWS_ENDPOINT_URL") ?? null;
  return {
    ...(endpoint === null ? { ignoreConfiguredEndpointUrls: true } : { endpoint }),
    useFipsEndpoint: optionalVariable("AWS_USE_FIPS_ENDPOINT") === "true",
    useDualstackEndpoint: optionalVariable("AWS_USE_DUALSTACK_ENDPOINT") === "true",
    accountIdEndpointMode: "preferred",
    authSchemePreference: [],
    defaultsMode: "standard",
    maxAttempts: 3,
    retryMode: "standard",
    userAgentAppId: () => Promise.resolve(undefined),
  };
};
