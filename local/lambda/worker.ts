import { createRequire } from "node:module";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { offsetIn, replaceDate } from "../clock/moved-clock.ts";

export interface EnvironmentData {
  readonly codeFolder: string;
  /** `<module>.<export>`, as in Lambda. */
  readonly handler: string;
  readonly functionName: string;
  readonly functionArn: string;
  readonly memory: number;
  /** Offset of the clock that `Date` follows. */
  readonly clock: SharedArrayBuffer;
}

export interface Invocation {
  readonly requestId: string;
  /** The event as JSON. */
  readonly event: string;
  /** When the function times out, in real milliseconds since 1970. */
  readonly deadline: number;
}

export interface FailedOutcome {
  readonly status: "failed";
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
  /** The environment can serve no further invocation. */
  readonly environmentFailed: boolean;
}

export type Outcome = { readonly status: "succeeded"; readonly payload: string } | FailedOutcome;

/** A line that the function writes, before its outcome. */
export interface Written {
  readonly to: "stdout" | "stderr";
  readonly line: string;
}

type Handler = (event: unknown, context: unknown) => unknown;

const loadHandler = async ({ codeFolder, handler }: EnvironmentData): Promise<Handler> => {
  const [module = "", name = ""] = handler.split(".", 2);
  const file = join(codeFolder, `${module}.cjs`);
  const exported: Record<string, unknown> = createRequire(file)(file);
  const found = exported[name];
  if (typeof found !== "function") throw new TypeError(`${handler} is not a function.`);
  return (event, context) => found(event, context);
};

const failure = (error: unknown, environmentFailed: boolean): Outcome => ({
  status: "failed",
  environmentFailed,
  ...(error instanceof Error
    ? { errorType: error.name, errorMessage: error.message, trace: error.stack?.split("\n") ?? [] }
    : { errorType: typeof error, errorMessage: String(error), trace: [] }),
});

/** Serves invocations as Lambda's runtime does. The pool sends one at a time. */
const serve = (port: NonNullable<typeof parentPort>, data: EnvironmentData): void => {
  // The streams of a thread arrive at any time; a message arrives before those that follow it.
  for (const to of ["stdout", "stderr"] as const)
    process[to].write = (text: string | Uint8Array) => {
      for (const line of String(text).trimEnd().split("\n")) port.postMessage({ to, line } satisfies Written);
      return true;
    };
  const realNow = Date.now;
  replaceDate((now) => now() + offsetIn(data.clock));
  const loading = loadHandler(data);
  // A module that failed to load is reported by the first invocation.
  const tell = (): void => port.postMessage("started");
  void loading.then(tell, tell);

  const run = async ({ requestId, event, deadline }: Invocation): Promise<Outcome> => {
    let handler: Handler;
    try {
      handler = await loading;
    } catch (error) {
      return failure(error, true);
    }
    const context = {
      awsRequestId: requestId,
      callbackWaitsForEmptyEventLoop: true,
      functionName: data.functionName,
      functionVersion: "$LATEST",
      invokedFunctionArn: data.functionArn,
      logGroupName: `/aws/lambda/${data.functionName}`,
      logStreamName: "local",
      memoryLimitInMB: String(data.memory),
      getRemainingTimeInMillis: () => Math.max(0, deadline - realNow()),
    };
    try {
      const result = await handler(JSON.parse(event), context);
      return { status: "succeeded", payload: JSON.stringify(result) ?? "null" };
    } catch (error) {
      return failure(error, false);
    }
  };

  port.on(
    "message",
    (invocation: Invocation) => void run(invocation).then((outcome) => port.postMessage(outcome)),
  );
};

if (parentPort) serve(parentPort, workerData);
