import * as z from "zod/mini";
import { parseJson } from "../../../bounded-text.ts";
import { HOUR } from "../../../duration.ts";
import type { Instant } from "../../../entitlements/time.ts";
import { once } from "../../../once.ts";
import { retryTime } from "../../../pause.ts";
import { unavailable, type StoreFailure } from "../../store-client.ts";

/** `unknown`: the App Store knows no such transaction of this app in this environment. */
export type Failure = StoreFailure<"unknown">;

/**
 * Apple's error codes: `<status><number>`. Codes named retryable are temporary. An account that the App Store does not
 * know has no purchases, so the outcome is `unknown`; an app that it does not know is a configuration error.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/error-codes
 */
const ERRORS: ReadonlyMap<number, readonly [outcome: Failure["outcome"], reason: string]> = new Map([
  [4000005, ["unavailable", "InvalidRequestRevision"]],
  [4000006, ["unknown", "InvalidTransactionId"]],
  [4000008, ["unknown", "InvalidOriginalTransactionId"]],
  [4000012, ["unavailable", "StartDateTooFarInPast"]],
  [4000013, ["unavailable", "StartDateAfterEndDate"]],
  [4000014, ["unavailable", "InvalidPaginationToken"]],
  [4000017, ["unavailable", "PaginationTokenExpired"]],
  [4040001, ["unknown", "AccountNotFound"]],
  [4040002, ["unavailable", "AccountNotFoundRetryable"]],
  [4040003, ["credential-rejected", "AppNotFound"]],
  [4040004, ["unavailable", "AppNotFoundRetryable"]],
  [4040005, ["unknown", "OriginalTransactionIdNotFound"]],
  [4040006, ["unavailable", "OriginalTransactionIdNotFoundRetryable"]],
  [4040010, ["unknown", "TransactionIdNotFound"]],
  [4040019, ["unknown", "AppTransactionDoesNotExist"]],
  [4290000, ["unavailable", "RateLimitExceeded"]],
  [5000000, ["unavailable", "GeneralInternal"]],
  [5000001, ["unavailable", "GeneralInternalRetryable"]],
]);

/** App Store Connect's reasons for a 403: missing permissions of the key, or unsigned agreements. */
const PERMISSION = /FORBIDDEN|AUTHORIZED|PERMISSION/i;

/** A reason is one word; anything else is dropped, because it may quote the request. */
const WORD = /^[A-Za-z_.]{1,64}$/;

/** Error body of the App Store Server API, or the one of App Store Connect. */
const errorBody = once(() =>
  z.object({
    errorCode: z.optional(z.int()),
    errors: z.optional(z.array(z.object({ code: z.string() }))),
  }),
);

/** Longest wait that the store can ask for. */
const LONGEST_WAIT = HOUR;

/** An identifier that no transaction has. */
export const impossibleTransaction: Failure = {
  outcome: "unknown",
  status: null,
  reason: "InvalidTransactionId",
};

/**
 * Failure of an answer that is not a 200, by Apple's error code, or by the status where that suffices. Anything uncertain
 * is `unavailable`: a proxy's own 404 makes no purchase unknown. `body`: null where it could not be read.
 */
export const failureOf = (
  status: number,
  retryAfter: string | null,
  body: string | null,
  now: Instant,
): Failure => {
  const { errorCode = null, errors } = errorBody().safeParse(parseJson(body)).data ?? {};
  const code = errorCode !== null && Math.floor(errorCode / 10_000) === status ? errorCode : null;
  const named = errors?.[0]?.code ?? "";
  const word = WORD.test(named) ? named : null;
  const [known, name] = ERRORS.get(code ?? 0) ?? [];
  const reason = name ?? (code === null ? word : String(code));
  const forbidden = status === 403 && (code !== null || (word !== null && PERMISSION.test(word)));
  const outcome = status === 401 || forbidden ? "credential-rejected" : (known ?? "unavailable");
  return outcome === "unavailable"
    ? unavailable(reason, status, retryTime(retryAfter, now, LONGEST_WAIT))
    : { outcome, status, reason };
};
