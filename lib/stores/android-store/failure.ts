import * as z from "zod/mini";
import { once } from "../../once.ts";
import { MINUTE } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { unansweredBecause } from "../../unanswered.ts";
import { retryTime } from "../../pause.ts";
import { credentialRejected, unavailable, type StoreFailure } from "../store-client.ts";

/**
 * - `rejected`: the store does not know the token, or the token is of another kind, product or package.
 * - `gone`: the store has dropped the purchase, which ended long ago.
 */
export type Failure = StoreFailure<"rejected" | "gone">;

/** Google's reasons. */
const OUTCOMES: Readonly<Record<Exclude<Failure["outcome"], "unavailable">, ReadonlySet<string | null>>> = {
  rejected: new Set(["invalid", "invalidValue", "notFound", "productNotOwnedByUser"]),
  gone: new Set([
    "purchaseTokenNoLongerValid",
    "subscriptionNoLongerAvailable",
    "subscriptionPurchaseNoLongerAvailable",
  ]),
  "credential-rejected": new Set([
    "accessNotConfigured",
    "applicationNotFound",
    "authError",
    "forbidden",
    "insufficientPermissions",
    "invalid_grant",
    "permissionDenied",
    "projectNotLinked",
    "userInsufficientPermission",
  ]),
};
/** Google has answered 400 `failedPrecondition` with this message, in place of 410; other preconditions do not have it. */
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
      z.string(),
      z.object({
        errors: z.optional(z.array(detail())),
        details: z.optional(z.array(detail())),
        status: z.optional(z.string()),
        message: z.optional(z.string()),
      }),
    ]),
  }),
);

const statedIn = (body: unknown) => {
  const error = errorBody().safeParse(body).data?.error ?? {};
  if (typeof error === "string") return { reason: error };
  const [first] = error.errors ?? [];
  const named = error.details?.find(({ reason }) => reason !== undefined);
  const reason = first?.reason ?? named?.reason ?? error.status;
  return { reason, location: first?.location, message: error.message };
};

export const malformedTokenAnswer = unavailable("malformedTokenAnswer");

/** Answer to a failed request; null: there was none; undefined: the error is not a failed request. */
const answeredTo = (error: unknown, now: Instant) => {
  const { data } = failedRequest().safeParse(error);
  if (data === undefined) return unansweredBecause(error) === "timeout" ? null : undefined;
  const { response } = data;
  if (response == null) return null;
  const { reason = "", location = "", message = "" } = statedIn(response.data);
  return {
    status: response.status,
    reason: WORD.test(reason) ? reason : null,
    location,
    /** Never part of a failure. */
    message,
    retryAt: retryTime(response.headers.get("retry-after"), now, MINUTE),
  };
};

type Answered = NonNullable<ReturnType<typeof answeredTo>>;

/** Whether a request that failed like this may succeed later: timeouts, conflicts, quotas, faults of the server. */
export const isTransient = ({ status, reason }: Pick<Answered, "status" | "reason">): boolean =>
  status === 408 ||
  status === 409 ||
  status === 429 ||
  status >= 500 ||
  (status === 403 && reason !== null && QUOTA_REASON.test(reason));

const outcomeOf = (answered: Answered): Failure["outcome"] => {
  const { status, reason, location, message } = answered;
  if (isTransient(answered)) return "unavailable";
  const isExpired =
    status === 400 && PRECONDITION_REASON.test(reason ?? "") && NO_LONGER_AVAILABLE.test(message);
  if (status === 410 || isExpired || OUTCOMES.gone.has(reason)) return "gone";
  const isAboutCredential = status === 401 || (status === 403 && reason !== null);
  if (isAboutCredential || OUTCOMES["credential-rejected"].has(reason)) return "credential-rejected";
  const isAboutToken = location === "token" || reason?.startsWith("purchaseToken") === true;
  return (status === 400 || status === 404) && (isAboutToken || OUTCOMES.rejected.has(reason))
    ? "rejected"
    : "unavailable";
};

/**
 * Failure of a call of the Android Publisher API, by Google's reason, or by the status where that suffices. Anything
 * uncertain is `unavailable`: a proxy's own 404 refuses no purchase. Rethrows an error that is not a failed call.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2
 */
export const failureOfCall = (error: unknown, now: Instant): Failure => {
  const answered = answeredTo(error, now);
  if (answered === undefined) throw error;
  if (answered === null) return unavailable(unansweredBecause(error));
  const { status, reason, retryAt } = answered;
  const outcome = outcomeOf(answered);
  return outcome === "unavailable" ? unavailable(reason, status, retryAt) : { outcome, status, reason };
};

/** The client does not validate the token answer, and throws a TypeError where it is not an object. By name: another realm's. */
const isTypeError = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "name" in error && error.name === "TypeError";

/**
 * Failure of an exchange of the operator's credential for an access token. A refusal is the credential's fault, and so is
 * a credential that cannot even be sent.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
export const failureOfTokenExchange = (error: unknown, now: Instant): StoreFailure => {
  const answered = answeredTo(error, now);
  if (answered === undefined)
    return isTypeError(error) ? malformedTokenAnswer : credentialRejected("credentialUnusable");
  if (answered === null) return unavailable(unansweredBecause(error));
  const { status, reason, retryAt } = answered;
  if (isTransient(answered) || status < 400) return unavailable(reason, status, retryAt);
  return { outcome: "credential-rejected", status, reason };
};
