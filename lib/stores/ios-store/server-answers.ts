import * as z from "zod/mini";
import { parseJson } from "../../bounded-text.ts";
import { HOUR } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { retryTime } from "../../pause.ts";
import { unavailable, type StoreFailure } from "../store-client.ts";
import { isGraceStatus } from "./payloads.ts";

/** Compact JWS, as the store signed them; not verified yet. */
export interface SignedFacts {
  readonly signedTransactions: readonly string[];
  readonly signedRenewalInfos: readonly string[];
  /** Those with a status that says that a billing grace period runs. */
  readonly signedInGrace?: readonly string[];
}

/** Unknown fields are tolerated everywhere. */
const jws = once(() => z.string().check(z.minLength(1)));
/** The last page needs none, and may have an empty one. */
const pageName = once(() => z.nullish(z.string()));

const statuses = once(() =>
  z.object({
    data: z.array(
      z.object({
        lastTransactions: z.array(
          z.object({
            signedTransactionInfo: jws(),
            signedRenewalInfo: z.nullish(jws()),
            status: z.optional(z.unknown()),
          }),
        ),
      }),
    ),
  }),
);

const oneAppTransaction = once(() => z.object({ signedAppTransactionInfo: jws() }));

const history = once(() =>
  z.object({ signedTransactions: z.array(jws()), hasMore: z.boolean(), revision: pageName() }),
);

const notifications = once(() =>
  z.object({
    notificationHistory: z.array(z.object({ signedPayload: jws() })),
    hasMore: z.boolean(),
    paginationToken: pageName(),
  }),
);

type Page<Content> = Content & { /** Null: this is the last one. */ readonly next: string | null };

/** Content with the name of the next page; null where the store names none, or again the one just read. */
const paged = <Content>(
  content: Content,
  hasMore: boolean,
  named: string | null | undefined,
  page: string | null,
): Page<Content> | null => {
  if (!hasMore) return { ...content, next: null };
  return named === page || !named ? null : { ...content, next: named };
};

/**
 * @returns null where the answer is malformed, here and below
 * @see https://developer.apple.com/documentation/appstoreserverapi/statusresponse
 */
export const readStatuses = (answer: unknown): SignedFacts | null => {
  const { data } = statuses().safeParse(answer);
  if (data === undefined) return null;
  const last = data.data.flatMap(({ lastTransactions }) => lastTransactions);
  const infosOf = (some: typeof last) => some.flatMap(({ signedRenewalInfo }) => signedRenewalInfo ?? []);
  const signedInGrace = infosOf(last.filter(({ status }) => isGraceStatus(status)));
  return {
    signedTransactions: last.map(({ signedTransactionInfo }) => signedTransactionInfo),
    signedRenewalInfos: infosOf(last),
    ...(signedInGrace.length > 0 && { signedInGrace }),
  };
};

/** @see https://developer.apple.com/documentation/appstoreserverapi/apptransactioninforesponse */
export const readAppTransaction = (answer: unknown): string | null =>
  oneAppTransaction().safeParse(answer).data?.signedAppTransactionInfo ?? null;

/** @see https://developer.apple.com/documentation/appstoreserverapi/historyresponse */
export const readHistory = (
  answer: unknown,
  page: string | null,
): Page<Pick<SignedFacts, "signedTransactions">> | null => {
  const { data } = history().safeParse(answer);
  if (data === undefined) return null;
  const { signedTransactions, hasMore, revision } = data;
  return paged({ signedTransactions }, hasMore, revision, page);
};

/** @see https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponse */
export const readNotifications = (answer: unknown, page: string | null) => {
  const { data } = notifications().safeParse(answer);
  if (data === undefined) return null;
  const signedPayloads: readonly string[] = data.notificationHistory.map(
    ({ signedPayload }) => signedPayload,
  );
  return paged({ signedPayloads }, data.hasMore, data.paginationToken, page);
};

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
    ? unavailable(reason, status, retryTime(retryAfter, now, HOUR))
    : { outcome, status, reason };
};
