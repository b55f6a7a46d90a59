import * as z from "zod/mini";
import { once } from "../../once.ts";
import type { Instant } from "../../entitlements/time.ts";
import { unansweredBecause } from "../../unanswered.ts";

/**
 * The store's failure: HTTP status and a one-word reason. Never a message: the client's messages contain the URL, and
 * the URL contains the purchase token.
 */
export type Failure = {
  /** HTTP status of the answer; null where there was none. */
  readonly status: number | null;
  /** The store's reason, or ours; null where there is none. */
  readonly reason: string | null;
} & (
  | { readonly outcome: "rejected" | "gone" | "credential-rejected" }
  | {
      readonly outcome: "unavailable";
      /** Seconds the store asked to wait, limited to 1 to 60; null where it did not say. */
      readonly retryAfterSeconds: number | null;
    }
);

const LONGEST_WAIT_SECONDS = 60;

/** Google's reasons for a bad request: the token is unknown, or of another kind, product or package. */
const CALLER_REASONS: ReadonlySet<string | null> = new Set([
  "invalid",
  "invalidValue",
  "notFound",
  "productNotOwnedByUser",
]);
const GONE_REASONS: ReadonlySet<string | null> = new Set([
  "purchaseTokenNoLongerValid",
  "subscriptionNoLongerAvailable",
  "subscriptionPurchaseNoLongerAvailable",
]);
const CONFIGURATION_REASONS: ReadonlySet<string | null> = new Set([
  "accessNotConfigured",
  "applicationNotFound",
  "authError",
  "forbidden",
  "insufficientPermissions",
  "invalid_grant",
  "permissionDenied",
  "projectNotLinked",
  "userInsufficientPermission",
]);
/**
 * Google has answered 400 `failedPrecondition` with this message, in place of 410, about a subscription that expired
 * long ago. Other failed preconditions do not have it.
 */
const NO_LONGER_AVAILABLE = /\bno longer available\b/i;
const PRECONDITION_REASON = /^failed_?precondition$/i;
const QUOTA_REASON = /limit_?exceeded|quota_?exceeded|resource_?exhausted/i;

/** A reason is one word; anything else is dropped, because it may contain a token. */
const WORD = /^[A-Za-z_]{1,48}$/;

const failedRequest = once(() =>
  z.object({
    config: z.looseObject({}),
    response: z.nullish(
      z.object({
        status: z.number(),
        data: z.unknown(),
        headers: z.custom<{ get(name: string): string | null }>(
          (value) =>
            typeof value === "object" && value !== null && "get" in value && typeof value.get === "function",
        ),
      }),
    ),
  }),
);

const detail = once(() => z.object({ reason: z.optional(z.string()), location: z.optional(z.string()) }));

/** Google's two error bodies (AIP-193 and the older one), and OAuth's (RFC 6749, 5.2). */
const errorBody = once(() =>
  z.object({
    error: z.union([
      z.pipe(
        z.string(),
        z.transform((reason) => ({ reason, location: null, isNoLongerAvailable: false })),
      ),
      z.pipe(
        z.object({
          errors: z.optional(z.array(detail())),
          details: z.optional(z.array(detail())),
          status: z.optional(z.string()),
          message: z.optional(z.string()),
        }),
        z.transform(({ errors, details, status, message }) => ({
          reason:
            errors?.[0]?.reason ??
            details?.find(({ reason }) => reason !== undefined)?.reason ??
            status ??
            null,
          location: errors?.[0]?.location ?? null,
          isNoLongerAvailable: NO_LONGER_AVAILABLE.test(message ?? ""),
        })),
      ),
    ]),
  }),
);

interface Answered {
  readonly status: number;
  readonly reason: string | null;
  readonly location: string | null;
  /** Whether the message says so; the message itself is not kept. */
  readonly isNoLongerAvailable: boolean;
  readonly retryAfterSeconds: number | null;
}

/** Parses `Retry-After`: seconds or an HTTP date (RFC 9110, 10.2.3). */
const retryAfter = (header: string | null, now: Instant): number | null => {
  if (header === null) return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - now) / 1000);
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 1), LONGEST_WAIT_SECONDS);
};

const unavailable = (reason: string | null, answered?: Answered): Failure => ({
  outcome: "unavailable",
  status: answered?.status ?? null,
  reason,
  retryAfterSeconds: answered?.retryAfterSeconds ?? null,
});

/** A 200 that does not have the documented shape. */
export const malformedAnswer: Failure = { ...unavailable("malformedAnswer"), status: 200 };

/** A malformed answer of the token endpoint. */
export const malformedTokenAnswer: Failure = unavailable("malformedTokenAnswer");

/** The credential could not be read. */
export const unreadableCredential: Failure = unavailable("credentialUnavailable");

export const rejectedAs = (reason: string): Failure => ({ outcome: "rejected", status: null, reason });

export const credentialRejectedAs = (reason: string): Failure => ({
  outcome: "credential-rejected",
  status: null,
  reason,
});

/** Answer to a failed request; null: there was none; undefined: the error is not a failed request. */
const answeredTo = (error: unknown, now: Instant): Answered | null | undefined => {
  const parsed = failedRequest().safeParse(error);
  if (!parsed.success) return isTimeout(error) ? null : undefined;
  const { response } = parsed.data;
  if (response == null) return null;
  const body = errorBody().safeParse(response.data);
  const { reason, location, isNoLongerAvailable } = body.success
    ? body.data.error
    : { reason: null, location: null, isNoLongerAvailable: false };
  return {
    status: response.status,
    reason: reason !== null && WORD.test(reason) ? reason : null,
    location,
    isNoLongerAvailable,
    retryAfterSeconds: retryAfter(response.headers.get("retry-after"), now),
  };
};

/** By name instead of `instanceof`: the error of an aborted request may come from another realm. */
const nameOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "name" in error ? error.name : null;

const isTimeout = (error: unknown): boolean =>
  nameOf(error) === "TimeoutError" || nameOf(error) === "AbortError";

const isGone = ({ status, reason, isNoLongerAvailable }: Answered): boolean =>
  status === 410 ||
  GONE_REASONS.has(reason) ||
  (status === 400 && PRECONDITION_REASON.test(reason ?? "") && isNoLongerAvailable);

/** Whether a request that failed like this may succeed later: timeouts, conflicts, quotas, faults of the server. */
export const isTransient = ({ status, reason }: Pick<Answered, "status" | "reason">): boolean =>
  status === 408 ||
  status === 409 ||
  status === 429 ||
  status >= 500 ||
  (status === 403 && reason !== null && QUOTA_REASON.test(reason));

/**
 * Classifies a failed call of the Android Publisher API by Google's reason, or by the status where that suffices.
 * Anything uncertain is `unavailable`, so that a proxy's own 404, for example, refuses no purchase and raises no alarm.
 * Rethrows an error that is not a failed call.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2
 */
export const failureOfCall = (error: unknown, now: Instant): Failure => {
  const answered = answeredTo(error, now);
  if (answered === undefined) throw error;
  if (answered === null) return unavailable(unansweredBecause(error));
  const { status, reason, location } = answered;
  if (isTransient(answered)) return unavailable(reason, answered);
  if (isGone(answered)) return { outcome: "gone", status, reason };
  const aboutCredential = status === 401 || (status === 403 && reason !== null);
  if (aboutCredential || CONFIGURATION_REASONS.has(reason))
    return { outcome: "credential-rejected", status, reason };
  const aboutToken = location === "token" || reason?.startsWith("purchaseToken") === true;
  if ((status === 400 || status === 404) && (aboutToken || CALLER_REASONS.has(reason)))
    return { outcome: "rejected", status, reason };
  return unavailable(reason, answered);
};

/**
 * Classifies a failed exchange of the operator's credential for an access token. A refusal by the token endpoint is the
 * credential's fault, and so is a credential that cannot even be sent.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
export const failureOfTokenExchange = (error: unknown, now: Instant): Failure => {
  const answered = answeredTo(error, now);
  if (answered === undefined) {
    // The client does not validate the token answer, and throws a TypeError where it is not an object.
    return nameOf(error) === "TypeError" ? malformedTokenAnswer : credentialRejectedAs("credentialUnusable");
  }
  if (answered === null) return unavailable(unansweredBecause(error));
  const { status, reason } = answered;
  if (isTransient(answered) || status < 400) return unavailable(reason, answered);
  return { outcome: "credential-rejected", status, reason };
};
