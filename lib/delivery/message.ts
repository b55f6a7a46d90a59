import type { Instant } from "../entitlements/time.ts";

/** The service's name for destinations: the `User-Agent` of webhooks and the `Source` of events. */
export const SENDER = "customer-entitlements";

export interface Message {
  /** The same at each attempt, so that a receiver recognizes a repetition. Visible ASCII without a dot. */
  readonly identifier: string;
  readonly type: string;
  readonly timestamp: Instant;
  readonly data: unknown;
}

/**
 * Why a message was not delivered. `address`: the URL or an address of its name is not allowed. `name`: it does not
 * resolve. `connect`: no connection, or it broke before an answer. `tls`: no TLS, or no valid certificate. `timeout`:
 * no answer in time. `protocol`: no HTTP, or beyond the limits. `status`: an answer that is no success.
 */
export type FailureReason = "address" | "name" | "connect" | "tls" | "timeout" | "protocol" | "status";

/** Outcome of one attempt to send a message. It quotes neither the URL nor the answer. */
export type SendOutcome =
  | { readonly outcome: "delivered" }
  /** The destination wants no further message. */
  | { readonly outcome: "gone" }
  | {
      readonly outcome: "failed";
      readonly because: FailureReason;
      /** HTTP status of the answer; null where there was none. */
      readonly status: number | null;
      /** Time before which the destination wants no further attempt, at most 24 hours ahead; null: none named. */
      readonly retryAt: Instant | null;
    };

export const failedBecause = (
  because: FailureReason,
  status: number | null = null,
  retryAt: Instant | null = null,
): SendOutcome => ({ outcome: "failed", because, status, retryAt });

/** Time limit of an attempt, in milliseconds: name, connection, TLS and the whole answer. */
export const ATTEMPT_MILLISECONDS = 15_000;
