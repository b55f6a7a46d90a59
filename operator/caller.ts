import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";

/** Region and credentials of the table's connection. */
export interface AwsAccess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether the table is on this machine; then AWS is never asked. */
  readonly isLocal: boolean;
  readonly client: {
    readonly requestHandler: Record<string, unknown>;
    readonly region?: string;
    readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
}

export interface Caller {
  /** Its ARN; `local` on a table of this machine; null: STS did not name it. */
  readonly name: string | null;
  /** Why it has no name, in a sentence; null: it has one. */
  readonly problem: string | null;
}

/** Short, because the command continues without an answer. */
const TIMEOUTS = { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true } as const;
const ATTEMPTS = 2;

const unnamed = (because: string): Caller => ({
  name: null,
  problem: `The audit does not name the AWS identity of this shell: ${because}.`,
});

const askName = async (
  options: AwsAccess["client"],
  endpoint: string | undefined,
): Promise<string | undefined> => {
  const client = new STSClient({
    ...options,
    requestHandler: TIMEOUTS,
    maxAttempts: ATTEMPTS,
    ...(endpoint && { endpoint }),
  });
  try {
    return (await client.send(new GetCallerIdentityCommand({}))).Arn;
  } finally {
    client.destroy();
  }
};

/**
 * Asks STS whose credentials these are. Never rejects: a failure must not block the command.
 *
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
 */
export const readCaller = async ({ environment, isLocal, client }: AwsAccess): Promise<Caller> => {
  const endpoint = environment["AWS_ENDPOINT_URL_STS"] || environment["AWS_ENDPOINT_URL"];
  if (isLocal && !endpoint) return { name: "local", problem: null };
  try {
    const name = await askName(client, endpoint);
    return name ? { name, problem: null } : unnamed("STS has answered without its name");
  } catch (error) {
    const because = error instanceof Error ? error.name : String(error);
    return unnamed(`STS does not answer${endpoint ? ` at ${endpoint}` : ""} (${because})`);
  }
};
