import { Logger } from "@aws-lambda-powertools/logger";

/** One JSON object per line; the environment names the service. Never pass it request content. */
export const logger = new Logger();

const DEEPEST_CAUSE = 4;

/** A stack frame: a place in the code, with no message text. */
const FRAME = /^ {4}at [\w.<>[\]$ #]*\(?(?:file:\/\/|node:|\/)[\w./@+-]*:\d+:\d+\)?$/;

interface SafeError {
  readonly name: string;
  readonly code?: string | number;
  /** Top frame of its stack. */
  readonly at?: string;
  readonly cause?: SafeError;
}

/** An error as it may be logged: messages of libraries quote their input, such as tokens in URLs or values of items. */
export const safely = (error: unknown, depth = 0): SafeError => {
  if (!(error instanceof Error)) return { name: typeof error };
  const code: unknown = "code" in error ? error.code : undefined;
  const at = (error.stack ?? "").split("\n").find((line) => FRAME.test(line));
  return {
    name: error.name,
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(at !== undefined && { at: at.trim().slice("at ".length) }),
    ...(error.cause !== undefined && depth < DEEPEST_CAUSE && { cause: safely(error.cause, depth + 1) }),
  };
};

/** Logs failures that stop neither a run nor a request. */
export const logging =
  (level: "warn" | "error", message: string) =>
  (error: unknown): void =>
    logger[level](message, { error: safely(error) });
