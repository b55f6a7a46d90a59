import * as z from "zod/mini";
import { parseJson } from "../../../bounded-text.ts";
import { SECOND } from "../../../duration.ts";
import type { Instant } from "../../../entitlements/time.ts";
import { once } from "../../../once.ts";
import { unansweredBecause } from "../../../unanswered.ts";

/** The store's failure: HTTP status and a one-word reason. Never holds a message, token, key or JWS. */
export type Failure = {
  /** HTTP status of the answer; null where there was none. */
  readonly status: number | null;
  /** Apple's name or code for the error, or our own; null where there is none. */
  readonly reason: string | null;
} & (
  | { readonly outcome: "unknown" | "credential-rejected" }
  | {
      readonly outcome: "unavailable";
      /** Time before which the store wants no further request, from a second to an hour ahead; null: none named. */
      readonly retryAt: Instant | null;
    }
);

/** An answer that is not a 200. */
export interface RefusedAnswer {
  readonly status: number;
  /** The `Retry-After` header; null where there is none. */
  readonly retryAfter: string | null;
  /** Text of the body; null where it could not be read. */
  readonly body: string | null;
}

/**
 * Apple's error codes: `<status><number>`. Codes named retryable are temporary. An account that the App Store does not
 * know has no purchases, so the outcome is `unknown`; an app that it does not know is a configuration error.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/error-codes
 */
const ERRORS: ReadonlyMap<number, { readonly outcome: Failure["outcome"]; readonly reason: string }> =
  new Map([
    [4000005, { outcome: "unavailable", reason: "InvalidRequestRevision" }],
    [4000006, { outcome: "unknown", reason: "InvalidTransactionId" }],
    [4000008, { outcome: "unknown", reason: "InvalidOriginalTransactionId" }],
    [4000012, { outcome: "unavailable", reason: "StartDateTooFarInPast" }],
    [4000013, { outcome: "unavailable", reason: "StartDateAfterEndDate" }],
    [4000014, { outcome: "unavailable", reason: "InvalidPaginationToken" }],
    [4000017, { outcome: "unavailable", reason: "PaginationTokenExpired" }],
    [4040001, { outcome: "unknown", reason: "AccountNotFound" }],
    [4040002, { outcome: "unavailable", reason: "AccountNotFoundRetryable" }],
    [4040003, { outcome: "credential-rejected", reason: "AppNotFound" }],
    [4040004, { outcome: "unavailable", reason: "AppNotFoundRetryable" }],
    [4040005, { outcome: "unknown", reason: "OriginalTransactionIdNotFound" }],
    [4040006, { outcome: "unavailable", reason: "OriginalTransactionIdNotFoundRetryable" }],
    [4040010, { outcome: "unknown", reason: "TransactionIdNotFound" }],
    [4040019, { outcome: "unknown", reason: "AppTransactionDoesNotExist" }],
    [4290000, { outcome: "unavailable", reason: "RateLimitExceeded" }],
    [5000000, { outcome: "unavailable", reason: "GeneralInternal" }],
    [5000001, { outcome: "unavailable", reason: "GeneralInternalRetryable" }],
  ]);

/** App Store Connect's reasons for a 403: missing permissions of the key, or unsigned agreements. */
const PERMISSION = /FORBIDDEN|AUTHORIZED|PERMISSION/i;

/** A reason is one word; anything else is dropped, because it may quote the request. */
const WORD = /^[A-Za-z_.]{1,64}$/;

/** Error body of the App Store Server API, and the one of App Store Connect. */
const errorBody = once(() =>
  z.union([
    z.pipe(
      z.object({ errorCode: z.int() }),
      z.transform(({ errorCode }) => ({ code: errorCode, word: null })),
    ),
    z.pipe(
      z.object({ errors: z.array(z.object({ code: z.string() })) }),
      z.transform(({ errors }) => ({ code: null, word: errors[0]?.code ?? null })),
    ),
  ]),
);

interface StatedError {
  /** Apple's error code, where it is one of this status. */
  readonly code: number | null;
  readonly word: string | null;
}

const statedError = ({ status, body }: RefusedAnswer): StatedError => {
  const read = errorBody().safeParse(parseJson(body));
  if (!read.success) return { code: null, word: null };
  const { code, word } = read.data;
  return {
    code: code !== null && Math.floor(code / 10_000) === status ? code : null,
    word: word !== null && WORD.test(word) ? word : null,
  };
};

const LONGEST_WAIT_MILLISECONDS = 3600 * SECOND;
/** Smaller numbers are seconds to wait, larger ones times in seconds: as a time this is in 2001, as a wait 31 years. */
const EARLIEST_SECONDS = 1e9;
/** Larger numbers are times in milliseconds: as such this is in 1973, in seconds the year 5138. */
const EARLIEST_MILLISECONDS = 1e11;

const timeOf = (number: number, now: Instant): Instant => {
  if (number >= EARLIEST_MILLISECONDS) return number;
  return (number >= EARLIEST_SECONDS ? 0 : now) + number * SECOND;
};

/**
 * Parses `Retry-After`. Apple writes milliseconds since 1970; others seconds to wait, or an HTTP date (RFC 9110, 10.2.3).
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits
 */
const retryTime = (header: string | null, now: Instant): Instant | null => {
  if (header === null) return null;
  const isDate = /^[A-Z][a-z]+, /.test(header);
  const time = /^\d+$/.test(header) ? timeOf(Number(header), now) : isDate ? Date.parse(header) : NaN;
  return Number.isNaN(time) ? null : Math.min(Math.max(time, now + SECOND), now + LONGEST_WAIT_MILLISECONDS);
};

const unavailable = (reason: string | null): Failure => ({
  outcome: "unavailable",
  retryAt: null,
  status: null,
  reason,
});

/** No complete answer in time, because of this error. */
export const noAnswer = (error: unknown): Failure => unavailable(unansweredBecause(error));

/** A 200 that does not have the documented shape, or is too large. */
export const malformedAnswer: Failure = { ...unavailable("malformedAnswer"), status: 200 };

/** The key could not be read. */
export const unreadableKey: Failure = unavailable("credentialUnavailable");

/** An identifier that no transaction has. */
export const impossibleTransaction: Failure = {
  outcome: "unknown",
  status: null,
  reason: "InvalidTransactionId",
};

export const keyRejectedAs = (reason: string): Failure => ({
  outcome: "credential-rejected",
  status: null,
  reason,
});

/**
 * Classifies an answer that is not a 200, by Apple's error code, or by the status where that suffices. Anything uncertain
 * is `unavailable`, so that a proxy's own 404, for example, makes no purchase unknown.
 */
export const failureOf = (answer: RefusedAnswer, now: Instant): Failure => {
  const { status } = answer;
  const { code, word } = statedError(answer);
  const known = code === null ? undefined : ERRORS.get(code);
  const reason = known?.reason ?? (code === null ? word : String(code));
  const forbidden = status === 403 && (code !== null || (word !== null && PERMISSION.test(word)));
  const outcome = status === 401 || forbidden ? "credential-rejected" : (known?.outcome ?? "unavailable");
  return outcome === "unavailable"
    ? { outcome, retryAt: retryTime(answer.retryAfter, now), status, reason }
    : { outcome, status, reason };
};
