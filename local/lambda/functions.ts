import { randomUUID } from "node:crypto";
import { Worker } from "node:worker_threads";
import { Semaphore } from "async-mutex";
import * as z from "zod";
import type { MovedClock } from "../clock/moved-clock.ts";
import { LocalError } from "../server.ts";
import { ACCOUNT, type Assembly } from "./assembly.ts";
import type { EnvironmentData, FailedOutcome, Invocation, Outcome, Written } from "./worker.ts";

interface FunctionDefinition extends EnvironmentData {
  /** In milliseconds. */
  readonly timeout: number;
  readonly environment: Readonly<Record<string, string>>;
}

export type InvocationResult =
  | { readonly status: "succeeded"; readonly payload: unknown }
  | Pick<FailedOutcome, "status" | "errorType" | "errorMessage">
  /** Lambda refuses the event without invoking the function. */
  | { readonly status: "event-too-large" };

/** Lambda's payload limits for a synchronous invocation, in bytes of JSON. */
const LARGEST_EVENT = 6 * 1024 * 1024;
const LARGEST_RESULT = LARGEST_EVENT + 100;

/** Environments per function; further invocations wait. A few saturate one computer. */
const MOST_ENVIRONMENTS = 10;

/** Receivers of a function's output, line by line. */
interface FunctionStreams {
  /** Standard error, and the reasons of failed invocations. */
  readonly log: (line: string) => void;
  readonly output: (line: string) => void;
}

const WORKER = new URL("./worker.ts", import.meta.url);

const failed = (errorType: string, errorMessage: string, trace: readonly string[] = []): FailedOutcome => ({
  status: "failed",
  errorType,
  errorMessage,
  trace,
  environmentFailed: true,
});

/** An execution environment: a worker thread with the function's code and environment variables. */
class Environment {
  readonly #worker: Worker;
  readonly #timeout: number;
  readonly #started = Promise.withResolvers<void>();
  #finish: ((outcome: Outcome) => void) | null = null;
  #onLine: ((line: string) => void) | undefined;
  ended = false;

  constructor(definition: FunctionDefinition, { log, output }: FunctionStreams) {
    const { environment, timeout, ...data } = definition;
    this.#timeout = timeout;
    this.#worker = new Worker(WORKER, {
      workerData: data satisfies EnvironmentData,
      env: { ...environment },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: definition.memory },
      stdout: true,
      stderr: true,
    });
    this.#worker.on("message", (message: Outcome | Written | "started") => {
      if (message === "started") this.#started.resolve();
      else if ("line" in message) {
        (message.to === "stderr" ? log : output)(message.line);
        this.#onLine?.(message.line);
      } else if (message.status === "failed" && message.environmentFailed) this.#end(message);
      else this.#settle(message);
    });
    this.#worker.on("error", (error) => {
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      this.#end(failed(name, message, stack?.split("\n")));
    });
    this.#worker.on("exit", (code) =>
      this.#end(failed("Runtime.ExitError", `The runtime ended with ${code}.`)),
    );
  }

  get isIdle(): boolean {
    return !this.ended && this.#finish === null;
  }

  async invoke(event: string, onLine?: (line: string) => void): Promise<Outcome> {
    this.#onLine = onLine;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#finish = resolve;
    // As in Lambda, initialization does not count towards the timeout.
    await this.#started.promise;
    if (this.ended) return promise;
    const timer = setTimeout(() => {
      const seconds = (this.#timeout / 1000).toFixed(2);
      this.#end(failed("Sandbox.Timedout", `Task timed out after ${seconds} seconds`));
    }, this.#timeout);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage({
      requestId: randomUUID(),
      event,
      deadline: Date.now() + this.#timeout,
    } satisfies Invocation);
    return promise.finally(() => clearTimeout(timer));
  }

  async stop(): Promise<void> {
    this.ended = true;
    await this.#worker.terminate();
  }

  #end(outcome: Outcome): void {
    void this.stop();
    this.#started.resolve();
    this.#settle(outcome);
  }

  #settle(outcome: Outcome): void {
    this.#finish?.(outcome);
    this.#finish = null;
  }
}

/**
 * Runs a function as Lambda does: an environment serves one request at a time and is reused, unless it crashed or timed
 * out. A new one starts when all are busy.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
 */
export class FunctionPool {
  readonly #definition: FunctionDefinition;
  readonly #streams: FunctionStreams;
  readonly #turns = new Semaphore(MOST_ENVIRONMENTS);
  #environments: Environment[] = [];
  #stopped = false;

  constructor(definition: FunctionDefinition, { log, output }: FunctionStreams) {
    this.#definition = definition;
    this.#streams = { output, log: (line) => log(`${definition.functionName}: ${line}`) };
  }

  /**
   * @param options.logsFailure whether the reason of a failure is logged; default: true
   * @param options.onLine receives what the invocation writes, all of it before its result
   */
  async invoke(
    event: unknown,
    {
      logsFailure = true,
      onLine,
    }: { readonly logsFailure?: boolean; readonly onLine?: (line: string) => void } = {},
  ): Promise<InvocationResult> {
    const json = JSON.stringify(event);
    if (Buffer.byteLength(json) > LARGEST_EVENT) return { status: "event-too-large" };
    const outcome = await this.#turns.runExclusive(async () =>
      this.#stopped
        ? failed("Sandbox.Stopped", "The local run is stopping.")
        : this.#idleEnvironment().invoke(json, onLine),
    );
    if (outcome.status === "failed") {
      if (logsFailure) this.#log(outcome);
      return outcome;
    }
    const size = Buffer.byteLength(outcome.payload);
    return size <= LARGEST_RESULT
      ? { status: "succeeded", payload: JSON.parse(outcome.payload) }
      : failed(
          "Function.ResponseSizeTooLarge",
          `Response payload size (${size} bytes) exceeded maximum allowed payload size (${LARGEST_RESULT} bytes).`,
        );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#environments.map((environment) => environment.stop()));
  }

  #idleEnvironment(): Environment {
    this.#environments = this.#environments.filter(({ ended }) => !ended);
    const idle = this.#environments.find(({ isIdle }) => isIdle);
    if (idle) return idle;
    const environment = new Environment(this.#definition, this.#streams);
    this.#environments.push(environment);
    return environment;
  }

  #log({ errorType, errorMessage, trace }: FailedOutcome): void {
    const lines = trace.length > 0 ? trace : [`${errorType}: ${errorMessage}`];
    // A function may fail without a trace on purpose, having logged why.
    for (const line of lines.filter((one) => one !== "")) this.#streams.log(line);
  }
}

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

/** The functions of an assembly. */
export const functionsOf = (options: FunctionsOptions, clock: MovedClock) => {
  const { assembly, region, tableName, environment, log, output = () => undefined } = options;
  const pools = [...assembly.resourcesOf("AWS::Lambda::Function", lambdaFunction)].map(([id, properties]) => {
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
        ...properties.Environment.Variables,
        ...(tableName !== undefined && { TABLE_NAME: tableName }),
        ...environment,
      },
    };
    return [id, new FunctionPool(definition, { log, output })] as const;
  });
  return {
    /** By the beginning of its logical id. */
    find: (name: string): FunctionPool => {
      const [, pool] = pools.find(([id]) => id.startsWith(name)) ?? [];
      if (!pool) throw new LocalError(`The template has no function ${name}.`);
      return pool;
    },
    stop: async (): Promise<void> => void (await Promise.all(pools.map(([, pool]) => pool.stop()))),
  };
};
