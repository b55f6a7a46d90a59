import { createHash } from "node:crypto";
import { decodeJwt } from "jose";
import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import { compare } from "../../lib/order.ts";
import { instant } from "../fields.ts";
import { pageToken, Refused, type Answer, type Call } from "../routes.ts";
import { appFields, isTaken, RETENTION, sentAt, type SentPush } from "./notifications.ts";
import { latestOf } from "./shop/lineage.ts";
import { signedPayloadsOf, statusOf, SUBSCRIPTION_GROUP } from "./shop/payloads.ts";
import type { Shop } from "./shop/shop.ts";
import type { JwsSigner } from "./signing.ts";

/**
 * Codes of the App Store Server API's errors. The first three digits are the status.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/error-codes
 */
const CODES = {
  GeneralBadRequestError: 4_000_000,
  InvalidRequestRevisionError: 4_000_005,
  InvalidTransactionIdError: 4_000_006,
  StartDateTooFarInPastError: 4_000_012,
  StartDateAfterEndDateError: 4_000_013,
  InvalidPaginationTokenError: 4_000_014,
  TransactionIdNotFoundError: 4_040_010,
  AppTransactionDoesNotExistError: 4_040_019,
} as const;

export const errorAnswer = (errorCode: number, errorMessage = "An error occurred."): Answer => ({
  status: Math.floor(errorCode / 10_000),
  body: { errorCode, errorMessage },
});

const refused = (name: keyof typeof CODES): Refused => new Refused(errorAnswer(CODES[name], name));

const PAGE_SIZE = 20;

const positioned = z.strictObject({ after: z.string(), query: z.string() });

/** Page tokens of one query. */
const pageTokensOf = (...parts: readonly unknown[]) => {
  const query = createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 12);
  return {
    tokenOf: (after: string): string => pageToken.of({ after, query }),
    /** Result after which the page begins; null: the token belongs to another query. */
    read: (text: string): string | null => {
      const { data } = positioned.safeParse(pageToken.read(text));
      return data?.query === query ? data.after : null;
    },
  };
};

const pageOf = <Result>(remaining: readonly Result[]) => {
  const page = remaining.slice(0, PAGE_SIZE);
  return { page, last: page.at(-1), hasMore: remaining.length > page.length };
};

const IDENTIFIER = /^\d{1,20}$/;

export type Person = ReturnType<typeof personOf>;

/**
 * The person whom Apple's `anyTransactionId` names: the id or original id of a transaction, or the id of an app transaction.
 *
 * @throws Refused if the identifier is malformed, unknown or of another app
 */
export const personOf = (
  shop: Shop,
  bundleIdentifier: string,
  identifier: string,
  { at, signer }: { readonly at: Instant; readonly signer: JwsSigner },
) => {
  if (!IDENTIFIER.test(identifier)) throw refused("InvalidTransactionIdError");
  const [key] = shop
    .accountsNamed(identifier)
    .filter((each) => shop.account(each).bundleIdentifier === bundleIdentifier)
    // An app transaction's id may be of both environments; clients ask for production first.
    .toSorted((one, other) => compare(shop.account(one).environment, shop.account(other).environment));
  if (key === undefined) throw refused("TransactionIdNotFoundError");
  const account = shop.account(key);
  const lineages = shop.lineagesOf(key);
  return { identifier, account, lineages, signed: signedPayloadsOf(account, at, signer, "store") };
};

/** @see https://developer.apple.com/documentation/appstoreserverapi/get-all-subscription-statuses */
export const subscriptionStatuses = ({ account, lineages, signed }: Person) => {
  const lastTransactions = lineages.flatMap((lineage) =>
    lineage.subscription === null
      ? []
      : {
          originalTransactionId: lineage.originalTransactionIdentifier,
          status: statusOf(lineage.subscription),
          signedTransactionInfo: signed.transaction(lineage, latestOf(lineage)),
          signedRenewalInfo: signed.renewalInfo(lineage),
        },
  );
  const group = { subscriptionGroupIdentifier: SUBSCRIPTION_GROUP, lastTransactions };
  return { ...appFields(account), data: lastTransactions.length === 0 ? [] : [group] };
};

/**
 * The last changes first, as the service asks: the store has neither Apple's other order nor its filters.
 *
 * @throws Refused
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history
 */
export const transactionHistory = ({ identifier, account, lineages, signed }: Person, { query }: Call) => {
  const { sort, revision = null, ...others } = Object.fromEntries(query);
  if (sort !== "DESCENDING" || Object.keys(others).length > 0) throw refused("GeneralBadRequestError");
  const tokens = pageTokensOf(identifier);
  const after = revision === null ? "Infinity" : tokens.read(revision);
  if (after === null) throw refused("InvalidRequestRevisionError");
  const remaining = lineages
    .flatMap((lineage) =>
      lineage.transactions.map((transaction) => ({
        lineage,
        transaction,
        revision: transaction.revision ?? 0,
      })),
    )
    .filter((each) => each.revision < Number(after))
    .toSorted((one, other) => other.revision - one.revision);
  const { page, last, hasMore } = pageOf(remaining);
  return {
    ...appFields(account),
    revision: tokens.tokenOf(last === undefined ? after : String(last.revision)),
    hasMore,
    signedTransactions: page.map(({ lineage, transaction }) => signed.transaction(lineage, transaction)),
  };
};

/** @see https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info */
export const appTransactionInfo = ({ account, signed }: Person) => {
  if (account.appTransactionIdentifier === null) throw refused("AppTransactionDoesNotExistError");
  return { signedAppTransactionInfo: signed.appTransaction() };
};

/** Strict: the store does not have Apple's filters by type and by transaction. */
const wanted = z.strictObject({
  startDate: instant,
  endDate: instant,
  onlyFailures: z.boolean().nullish(),
});

const wantedOf = (body: unknown, at: Instant): z.output<typeof wanted> => {
  const { data } = wanted.safeParse(body);
  if (data === undefined) throw refused("GeneralBadRequestError");
  if (data.startDate >= data.endDate) throw refused("StartDateAfterEndDateError");
  if (data.startDate < at - RETENTION) throw refused("StartDateTooFarInPastError");
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
  const tokens = pageTokensOf(bundleIdentifier, request);
  const after = paginationToken === null ? null : tokens.read(paginationToken);
  const before = sent.findIndex(({ notificationUUID }) => notificationUUID === after);
  if (paginationToken !== null && before === -1) throw refused("InvalidPaginationTokenError");
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
    ...(hasMore && last !== undefined && { paginationToken: tokens.tokenOf(last.notificationUUID) }),
    hasMore,
    notificationHistory: page.map(({ push }) => push),
  };
};
