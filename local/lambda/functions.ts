import * as z from "zod";
import type { MovedClock } from "../clock/moved-clock.ts";
import { FunctionPool } from "./pool.ts";
import { ACCOUNT, type Assembly } from "./assembly.ts";

export interface FunctionsOptions {
  readonly assembly: Assembly;
  readonly region: string;
  /** Replaces `TABLE_NAME`; unset: the template's. */
  readonly tableName?: string;
  /** Environment variables for every function, which override the template's. */
  readonly environment: Readonly<Record<string, string>>;
  /** Makes each function's access key, which its logical id begins, hard to guess; unset: it is the id. */
  readonly accessKeySuffix?: string;
  /** Receives the functions' standard error and the reasons of failures. */
  readonly log: (line: string) => void;
  /** Receives the functions' standard output: logs and metrics. */
  readonly output?: (line: string) => void;
}

const lambdaFunction = z.object({
  Code: z.object({ S3Key: z.string() }),
  Handler: z.string(),
  Runtime: z.string().regex(/^nodejs/),
  MemorySize: z.number(),
  Timeout: z.number(),
  LoggingConfig: z.object({ LogFormat: z.string(), ApplicationLogLevel: z.string() }),
  Environment: z.object({ Variables: z.record(z.string(), z.string()) }),
});

/** Environment variables that Lambda sets itself. */
const lambdaVariables = (
  id: string,
  { region, accessKeySuffix = "" }: FunctionsOptions,
  { MemorySize: memory, LoggingConfig: logging }: z.infer<typeof lambdaFunction>,
): Record<string, string> => ({
  AWS_ACCESS_KEY_ID: id + accessKeySuffix,
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memory),
  AWS_LAMBDA_FUNCTION_NAME: id,
  AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
  AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
  AWS_LAMBDA_LOG_FORMAT: logging.LogFormat,
  AWS_LAMBDA_LOG_LEVEL: logging.ApplicationLogLevel,
  AWS_REGION: region,
  AWS_DEFAULT_REGION: region,
});

/** The functions of an assembly, by their logical ids. */
export const functionsOf = (options: FunctionsOptions, clock: MovedClock): Map<string, FunctionPool> => {
  const { assembly, region, tableName, environment, log, output = () => undefined } = options;
  return new Map(
    [...assembly.resourcesOf("AWS::Lambda::Function", lambdaFunction)].map(([id, properties]) => {
      const { Variables } = properties.Environment;
      const definition = {
        codeFolder: assembly.codeFolder(properties.Code.S3Key),
        handler: properties.Handler,
        functionName: id,
        functionArn: `arn:aws:lambda:${region}:${ACCOUNT}:function:${id}`,
        memory: properties.MemorySize,
        timeout: properties.Timeout * 1000,
        clock: clock.shared,
        environment: {
          ...lambdaVariables(id, options, properties),
          ...Variables,
          ...(tableName !== undefined && { TABLE_NAME: tableName }),
          ...environment,
        },
      };
      return [id, new FunctionPool(definition, { log, output })];
    }),
  );
};

export const stopAll = async (functions: ReadonlyMap<string, FunctionPool>): Promise<void> => {
  await Promise.all([...functions.values()].map((pool) => pool.stop()));
};
