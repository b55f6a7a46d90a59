import * as z from "zod/mini";
import { once } from "../../once.ts";
import type { Instant } from "../../entitlements/time.ts";

/**
 * Why the store gave no answer about a purchase. Made of a status and a word only, never of a message: the client's
 * messages hold the URL, and the URL holds the purchase token.
 */
export type Failure = {
  /** HTTP status of what was answered; null where nothing was. */
  readonly status: number | null;
  /** The store's own reason, or ours; null where there is none. */
  readonly reason: string | null;
} & (
  | { readonly outcome: "rejected" | "gone" | "credential-rejected" }
  | {
      readonly outcome: "unavailable";
      /** How long the store asked to wait, at most 60; null where it did not say. */
      readonly retryAfterSeconds: number | null;
    }
);

const LONGEST_WAIT_SECONDS = 60;

/** What Google says when the request's own words are wrong: the token is unknown, or of another kind, product or package. */
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
const QUOTA_REASON = /limit_?exceeded|quota_?exceeded|resource_?exhausted/i;

/** A reason is one word; what is not may be anything, a token too. */
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

/** Google's two forms of an error body, AIP-193 and its older one, and OAuth's (RFC 6749, 5.2). */
const errorBody = once(() =>
  z.object({
    error: z.union([
      z.pipe(
        z.string(),
        z.transform((reason) => ({ reason, location: null })),
      ),
      z.pipe(
        z.object({
          errors: z.optional(z.array(detail())),
          details: z.optional(z.array(detail())),
          status: z.optional(z.string()),
        }),
        z.transform(({ errors, details, status }) => ({
          reason:
            errors?.[0]?.reason ??
            details?.find(({ reason }) => reason !== undefined)?.reason ??
            status ??
            null,
          location: errors?.[0]?.location ?? null,
        })),
      ),
    ]),
  }),
);

interface Answered {
  readonly status: number;
  readonly reason: string | null;
  readonly location: string | null;
  readonly retryAfterSeconds: number | null;
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3). */
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

/** A 200 that is not of the documented shape. */
export const malformedAnswer: Failure = { ...unavailable("malformedAnswer"), status: 200 };

/** The same, of the token endpoint. */
export const malformedTokenAnswer: Failure = unavailable("malformedTokenAnswer");

/** Nobody could say what the credential is. */
export const unreadableCredential: Failure = unavailable("credentialUnavailable");

export const rejectedAs = (reason: string): Failure => ({ outcome: "rejected", status: null, reason });

export const credentialRejectedAs = (reason: string): Failure => ({
  outcome: "credential-rejected",
  status: null,
  reason,
});

/** What was answered to a failed request, null where nothing was; undefined where no request failed. */
const answeredTo = (error: unknown, now: Instant): Answered | null | undefined => {
  const parsed = failedRequest().safeParse(error);
  if (!parsed.success) return isTimeout(error) ? null : undefined;
  const { response } = parsed.data;
  if (response == null) return null;
  const body = errorBody().safeParse(response.data);
  const { reason, location } = body.success ? body.data.error : { reason: null, location: null };
  return {
    status: response.status,
    reason: reason !== null && WORD.test(reason) ? reason : null,
    location,
    retryAfterSeconds: retryAfter(response.headers.get("retry-after"), now),
  };
};

/** By name, as what ends a request may be of another realm. */
const nameOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "name" in error ? error.name : null;

const isTimeout = (error: unknown): boolean =>
  nameOf(error) === "TimeoutError" || nameOf(error) === "AbortError";

const isTransient = ({ status, reason }: Answered): boolean =>
  status === 408 ||
  status === 409 ||
  status === 429 ||
  status >= 500 ||
  (status === 403 && reason !== null && QUOTA_REASON.test(reason));

/**
 * Classifies a failed call of the Android Publisher API by Google's reason, and by the status where that says it alone.
 * What cannot be told for certain is unavailable, so that no purchase is refused and no alarm raised because of, say, a
 * proxy's own 404. Throws what is no failed call.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2
 */
export const failureOfCall = (error: unknown, now: Instant): Failure => {
  const answered = answeredTo(error, now);
  if (answered === undefined) throw error;
  if (answered === null) return unavailable(null);
  const { status, reason, location } = answered;
  if (isTransient(answered)) return unavailable(reason, answered);
  if (status === 410 || GONE_REASONS.has(reason)) return { outcome: "gone", status, reason };
  const aboutCredential = status === 401 || (status === 403 && reason !== null);
  if (aboutCredential || CONFIGURATION_REASONS.has(reason))
    return { outcome: "credential-rejected", status, reason };
  const aboutToken = location === "token" || reason?.startsWith("purchaseToken") === true;
  if ((status === 400 || status === 404) && (aboutToken || CALLER_REASONS.has(reason)))
    return { outcome: "rejected", status, reason };
  return unavailable(reason, answered);
};

/**
 * Classifies a failed exchange of the operator's credential for an access token. Whatever the token endpoint refuses is
 * the credential's fault, and so is a credential that cannot even be sent.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
export const failureOfTokenExchange = (error: unknown, now: Instant): Failure => {
  const answered = answeredTo(error, now);
  if (answered === undefined) {
    // The client reads a token answer without looking, and fails so on one that is no object.
    return nameOf(error) === "TypeError" ? malformedTokenAnswer : credentialRejectedAs("credentialUnusable");
  }
  if (answered === null) return unavailable(null);
  const { status, reason } = answered;
  if (isTransient(answered) || status < 400) return unavailable(reason, answered);
  return { outcome: "credential-rejected", status, reason };
};
