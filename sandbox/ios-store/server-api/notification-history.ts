import * as z from "zod";
import { isInstant, type Instant } from "../../../lib/entitlements/time.ts";
import { PAGE, pageTokenOf, queryName, readPageToken } from "./page-token.ts";
import { isIdentifier, type Person } from "./persons.ts";
import { isTaken, RETENTION, sentAt, type SentPush } from "../notifications/push-history.ts";
import { sentFor, isAbout } from "../notifications/sent-notifications.ts";
import { ServerApiError, type ServerApiErrorName } from "./errors.ts";

/** @see https://developer.apple.com/documentation/appstoreservernotifications/notificationtype */
const NOTIFICATION_TYPES = [
  "CONSUMPTION_REQUEST",
  "DID_CHANGE_RENEWAL_PREF",
  "DID_CHANGE_RENEWAL_STATUS",
  "DID_FAIL_TO_RENEW",
  "DID_RENEW",
  "EXPIRED",
  "EXTERNAL_PURCHASE_TOKEN",
  "GRACE_PERIOD_EXPIRED",
  "METADATA_UPDATE",
  "MIGRATION",
  "OFFER_REDEEMED",
  "ONE_TIME_CHARGE",
  "PRICE_CHANGE",
  "PRICE_INCREASE",
  "REFUND",
  "REFUND_DECLINED",
  "REFUND_REVERSED",
  "RENEWAL_EXTENDED",
  "RENEWAL_EXTENSION",
  "RESCIND_CONSENT",
  "REVOKE",
  "SUBSCRIBED",
  "TEST",
] as const;

const instant = z.custom<Instant>(isInstant);
const wanted = z.object({
  startDate: instant,
  endDate: instant,
  notificationType: z.enum(NOTIFICATION_TYPES).nullish(),
  notificationSubtype: z.string().nullish(),
  transactionId: z.string().refine(isIdentifier).nullish(),
  onlyFailures: z.boolean().nullish(),
});
type Wanted = z.output<typeof wanted>;

const INVALID: Readonly<Record<keyof Wanted, ServerApiErrorName>> = {
  startDate: "InvalidStartDateError",
  endDate: "InvalidEndDateError",
  notificationType: "InvalidNotificationTypeError",
  notificationSubtype: "InvalidNotificationTypeError",
  transactionId: "InvalidTransactionIdError",
  onlyFailures: "GeneralBadRequestError",
};

/** @throws ServerApiError */
const wantedOf = (body: unknown, at: Instant): Wanted => {
  const parsed = wanted.safeParse(body);
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path[0];
    const name = Object.entries(INVALID).find(([each]) => each === field)?.[1];
    throw new ServerApiError(name ?? "GeneralBadRequestError");
  }
  const { startDate, endDate, notificationType, notificationSubtype, transactionId } = parsed.data;
  if (startDate >= endDate) throw new ServerApiError("StartDateAfterEndDateError");
  if (startDate < at - RETENTION) throw new ServerApiError("StartDateTooFarInPastError");
  if (notificationType != null && transactionId != null)
    throw new ServerApiError("MultipleFiltersSuppliedError");
  if (notificationType == null && notificationSubtype != null)
    throw new ServerApiError("InvalidNotificationTypeError");
  return parsed.data;
};

/**
 * Answers Get Notification History, oldest first.
 *
 * @param paginationToken null: the first page
 * @throws ServerApiError
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
 */
export const notificationHistory = (
  {
    body,
    paginationToken,
    bundleIdentifier,
    at,
  }: {
    readonly body: unknown;
    readonly paginationToken: string | null;
    readonly bundleIdentifier: string;
    readonly at: Instant;
  },
  history: readonly SentPush[],
  personOf: (transactionIdentifier: string) => Person,
) => {
  const request = wantedOf(body, at);
  const { startDate, endDate, notificationType, notificationSubtype, transactionId } = request;
  const person = transactionId == null ? null : personOf(transactionId);
  const sent = sentFor(bundleIdentifier, history);
  const name = queryName(bundleIdentifier, request);
  const after = paginationToken === null ? null : readPageToken(paginationToken, name);
  if (paginationToken !== null && after === null) throw new ServerApiError("InvalidPaginationTokenError");
  const before = sent.findIndex(({ envelope }) => envelope.notificationUUID === after);
  if (after !== null && before === -1) throw new ServerApiError("PaginationTokenExpiredError");
  const left = sent
    .slice(before + 1)
    .filter(
      ({ push, envelope }) =>
        sentAt(push) >= startDate &&
        sentAt(push) < endDate &&
        (notificationType == null || envelope.notificationType === notificationType) &&
        (notificationSubtype == null || envelope.subtype === notificationSubtype) &&
        (person === null || isAbout(person, envelope)) &&
        !(request.onlyFailures === true && isTaken(push)),
    );
  const page = left.slice(0, PAGE);
  const last = page.at(-1);
  const hasMore = left.length > page.length;
  return {
    ...(hasMore &&
      last !== undefined && { paginationToken: pageTokenOf(last.envelope.notificationUUID, name) }),
    hasMore,
    notificationHistory: page.map(({ push }) => push),
  };
};

/** The token of a test notification. */
export const testTokenOf = (notificationUUID: string, at: Instant): string => `${notificationUUID}_${at}`;

/**
 * Answers Get Test Notification Status.
 *
 * @throws ServerApiError if the token is malformed, or the first try has not ended
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-test-notification-status
 */
export const testNotification = (
  token: string,
  bundleIdentifier: string,
  history: readonly SentPush[],
): SentPush => {
  const uuid = /^([\da-f-]{36})_\d+$/.exec(token)?.[1];
  if (uuid === undefined) throw new ServerApiError("InvalidTestNotificationTokenError");
  const sent = sentFor(bundleIdentifier, history).find(({ envelope }) => envelope.notificationUUID === uuid);
  if (sent === undefined) throw new ServerApiError("TestNotificationNotFoundError");
  return sent.push;
};
