import { APPLE_ROOTS } from "../../lib/stores/ios-store/signatures/chain.ts";
import { optionalVariable } from "./configuration.ts";
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

const FINGERPRINT = /^[0-9a-f]{64}$/;

/** Apple's roots, or those of `IOS_STORE_TRUSTED_ROOTS`, which a deployed stack does not set. */
export const trustedRoots = (): ReadonlySet<string> => {
  const given = optionalVariable("IOS_STORE_TRUSTED_ROOTS");
  if (given === undefined) return new Set(APPLE_ROOTS);
  const roots = given.split(",").map((root) => root.trim().replaceAll(":", "").toLowerCase());
  if (!roots.every((root) => FINGERPRINT.test(root)))
    throw new Error(
      "IOS_STORE_TRUSTED_ROOTS must be SHA-256 fingerprints (64 hex digits) separated by commas.",
    );
  return new Set(roots);
};

export type AppleAccess = ReturnType<typeof appleAccess>;

/** Access to the App Store Server API; without a root URL Apple's, in both environments. */
export const appleAccess = () => ({
  trustedRoots: trustedRoots(),
  appStoreServerUrl: optionalVariable("APP_STORE_SERVER_URL"),
  readSecret,
});

export type GoogleAccess = ReturnType<typeof googleAccess>;

/** Access to the Android Publisher API; without a root URL Google's. */
export const googleAccess = () => ({
  androidPublisherUrl: optionalVariable("ANDROID_PUBLISHER_URL"),
  readSecret,
});
