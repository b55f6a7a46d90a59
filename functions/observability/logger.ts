import { Logger } from "@aws-lambda-powertools/logger";

/**
 * Structured logs, one JSON object a line; the service's name is the environment's. Nothing of a request's content is
 * ever given to it.
 */
export const logger = new Logger();

const DEEPEST_CAUSE = 4;

/** A line of a stack, which is a place and nothing that a message could hold. */
const FRAME = /^ {4}at [\w.<>[\]$ #]*\(?(?:file:\/\/|node:|\/)[\w./@+-]*:\d+:\d+\)?$/;

interface SafeError {
  readonly name: string;
  readonly code?: string | number;
  /** Where it was thrown. */
  readonly at?: string;
  readonly cause?: SafeError;
}

/**
 * An error as it may be logged: its name, its code and where it was thrown. Messages of libraries are left out, for
 * they quote what they were given: tokens in addresses, values of items.
 */
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
