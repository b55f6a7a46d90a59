import { decodeJwt } from "jose";
import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { instant } from "../../fields.ts";
import { isTaken, RETENTION, sentAt, type SentPush } from "../notifications/pushes.ts";
import { serverApiRefusal } from "./faults.ts";
import { pageOf, pageTokenOf, queryName, readPageToken } from "./pages.ts";

/** Strict: the store does not have Apple's filters by type and by transaction. */
const wanted = z.strictObject({
  startDate: instant,
  endDate: instant,
  onlyFailures: z.boolean().nullish(),
});

/** @throws Refused */
const wantedOf = (body: unknown, at: Instant): z.output<typeof wanted> => {
  const { data } = wanted.safeParse(body);
  if (data === undefined) throw serverApiRefusal("GeneralBadRequestError");
  if (data.startDate >= data.endDate) throw serverApiRefusal("StartDateAfterEndDateError");
  if (data.startDate < at - RETENTION) throw serverApiRefusal("StartDateTooFarInPastError");
  return data;
};

const app = z.object({ bundleId: z.string() }).optional();
const envelope = z.object({
  notificationUUID: z.string(),
  data: app,
  appData: app,
  summary: app,
  externalPurchaseToken: app,
});

/** Decodes a notification without verifying it: the store signed it itself. */
const opened = (push: SentPush) => {
  const { notificationUUID, ...parts } = envelope.parse(decodeJwt(push.signedPayload));
  const { bundleId } = Object.values(parts).find((part) => part !== undefined) ?? {};
  return { push, notificationUUID, bundleId };
};

/**
 * Oldest first.
 *
 * @param paginationToken null: the first page
 * @throws Refused
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
 */
export const notificationHistory = (
  body: unknown,
  paginationToken: string | null,
  bundleIdentifier: string,
  history: readonly SentPush[],
  at: Instant,
) => {
  const request = wantedOf(body, at);
  const sent = history.map(opened).filter(({ bundleId }) => bundleId === bundleIdentifier);
  const name = queryName(bundleIdentifier, request);
  const after = paginationToken === null ? null : readPageToken(paginationToken, name);
  const before = sent.findIndex(({ notificationUUID }) => notificationUUID === after);
  if (paginationToken !== null && before === -1) throw serverApiRefusal("InvalidPaginationTokenError");
  const remaining = sent
    .slice(before + 1)
    .filter(
      ({ push }) =>
        sentAt(push) >= request.startDate &&
        sentAt(push) < request.endDate &&
        !(request.onlyFailures === true && isTaken(push)),
    );
  const { page, last, hasMore } = pageOf(remaining);
  return {
    ...(hasMore && last !== undefined && { paginationToken: pageTokenOf(last.notificationUUID, name) }),
    hasMore,
    notificationHistory: page.map(({ push }) => push),
  };
};
