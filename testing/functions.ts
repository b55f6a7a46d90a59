import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import type { Context } from "aws-lambda";

/** A function's handler, as AWS calls it. */
export type Handler = (event: unknown, context: Context) => Promise<unknown>;

const FOLDERS = { endpoint: "endpoints", schedule: "schedules" } as const;

/** Time that a function has left when it begins, in milliseconds: a minute. */
const REMAINING_MILLISECONDS = 60_000;

/** Names of the functions of a kind: their files. */
export const functionsOf = (kind: keyof typeof FOLDERS): string[] =>
  readdirSync(new URL(`../functions/${FOLDERS[kind]}/`, import.meta.url)).map((file) =>
    basename(file, ".ts"),
  );

/**
 * The handler of an endpoint's or a schedule's function. It is loaded on first use and then reads its environment, as
 * in Lambda.
 *
 * @throws naming the existing functions, if there is no such function
 */
export const handlerOf = async (kind: keyof typeof FOLDERS, name: string): Promise<Handler> => {
  const known = functionsOf(kind);
  if (!known.includes(name)) throw new Error(`There is no ${kind} ${name}; there are: ${known.join(", ")}.`);
  const module: { readonly handler: Handler } = await import(`../functions/${FOLDERS[kind]}/${name}.ts`);
  return module.handler;
};

/** The context of an invocation. */
export const invocationContext = (functionName: string): Context => ({
  awsRequestId: randomUUID(),
  callbackWaitsForEmptyEventLoop: true,
  functionName,
  functionVersion: "$LATEST",
  invokedFunctionArn: `arn:aws:lambda:us-east-1:123456789012:function:${functionName}`,
  logGroupName: `/aws/lambda/${functionName}`,
  logStreamName: "test",
  memoryLimitInMB: "1024",
  getRemainingTimeInMillis: () => REMAINING_MILLISECONDS,
  done: () => undefined,
  fail: () => undefined,
  succeed: () => undefined,
});
