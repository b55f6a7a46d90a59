import type { ErrorCode, ErrorIssue } from "./contract.ts";

/**
 * The service's own code, or one of this client's: `UNREACHABLE` (no connection, or no answer in time) or
 * `UNEXPECTED_ANSWER` (something between here and the service answered).
 */
export type FailureCode = ErrorCode | "UNREACHABLE" | "UNEXPECTED_ANSWER";

/** A request that was refused, or not answered. It never holds the API key or the request's content. */
export class EntitlementsError extends Error {
  readonly code: FailureCode;
  /** HTTP status; null: there was no answer. */
  readonly status: number | null;
  /** With `INVALID_REQUEST`: the fields that are wrong. */
  readonly issues: readonly ErrorIssue[];
  /** Milliseconds after which the same request may succeed; null: the service did not say. */
  readonly retryAfter: number | null;

  constructor(
    code: FailureCode,
    message: string,
    details: {
      readonly status?: number | null;
      readonly issues?: readonly ErrorIssue[];
      readonly retryAfter?: number | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = "EntitlementsError";
    this.code = code;
    this.status = details.status ?? null;
    this.issues = details.issues ?? [];
    this.retryAfter = details.retryAfter ?? null;
  }

  /** Whether the same request may succeed later. Every request is safe to repeat. */
  get isTemporary(): boolean {
    if (this.code === "STORE_REJECTED_CREDENTIAL") return false;
    return this.status === null ? this.code === "UNREACHABLE" : this.status === 429 || this.status >= 500;
  }
}
