import * as z from "zod/mini";
import { once } from "../../../once.ts";
import { isGraceStatus } from "../renewal-info.ts";

/** Compact JWS, as the store signed them; not verified yet. */
export interface SignedFacts {
  readonly signedTransactions: readonly string[];
  readonly signedRenewalInfos: readonly string[];
  /** Those with a status that says that a billing grace period runs. */
  readonly signedInGrace?: readonly string[];
}

export interface TransactionPage {
  readonly signedTransactions: readonly string[];
  /** Revision that asks for the next page; null: this is the last one. */
  readonly next: string | null;
}

export interface NotificationPage {
  readonly signedPayloads: readonly string[];
  /** Token that asks for the next page; null: this is the last one. */
  readonly next: string | null;
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

const oneTransaction = once(() => z.object({ signedTransactionInfo: jws() }));

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

/** Name of the next page; undefined where the store names none, or again the one just read. */
const nextPage = (
  hasMore: boolean,
  named: string | null | undefined,
  page: string | null,
): string | null | undefined => {
  if (!hasMore) return null;
  return named === page || !named ? undefined : named;
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

/** @see https://developer.apple.com/documentation/appstoreserverapi/transactioninforesponse */
export const readTransaction = (answer: unknown): SignedFacts | null => {
  const { data } = oneTransaction().safeParse(answer);
  return data === undefined
    ? null
    : { signedTransactions: [data.signedTransactionInfo], signedRenewalInfos: [] };
};

/** @see https://developer.apple.com/documentation/appstoreserverapi/apptransactioninforesponse */
export const readAppTransaction = (answer: unknown): string | null =>
  oneAppTransaction().safeParse(answer).data?.signedAppTransactionInfo ?? null;

/** @see https://developer.apple.com/documentation/appstoreserverapi/historyresponse */
export const readHistory = (answer: unknown, page: string | null): TransactionPage | null => {
  const { data } = history().safeParse(answer);
  const next = data && nextPage(data.hasMore, data.revision, page);
  return next === undefined ? null : { signedTransactions: data?.signedTransactions ?? [], next };
};

/** @see https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponse */
export const readNotifications = (answer: unknown, page: string | null): NotificationPage | null => {
  const { data } = notifications().safeParse(answer);
  const next = data && nextPage(data.hasMore, data.paginationToken, page);
  const signedPayloads = (data?.notificationHistory ?? []).map(({ signedPayload }) => signedPayload);
  return next === undefined ? null : { signedPayloads, next };
};
