import { compare } from "../../../lib/order.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { Call } from "../../routes.ts";
import { appFields } from "../notifications/notifications.ts";
import { SUBSCRIPTION_GROUP } from "../shop/app-store.ts";
import { latestOf } from "../shop/lineage.ts";
import { signedPayloadsOf, statusOf } from "../shop/payloads.ts";
import type { Shop } from "../shop/shop.ts";
import type { JwsSigner } from "../signing.ts";
import { serverApiRefusal } from "./faults.ts";
import { pageOf, pageTokenOf, queryName, readPageToken } from "./pages.ts";

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
  if (!IDENTIFIER.test(identifier)) throw serverApiRefusal("InvalidTransactionIdError");
  const [key] = shop
    .accountsNamed(identifier)
    .filter((each) => shop.account(each).bundleIdentifier === bundleIdentifier)
    // An app transaction's id may be of both environments; clients ask for production first.
    .toSorted((one, other) => compare(shop.account(one).environment, shop.account(other).environment));
  if (key === undefined) throw serverApiRefusal("TransactionIdNotFoundError");
  const account = shop.account(key);
  const lineages = shop.lineagesOf(key);
  const sold = lineages.flatMap((lineage) =>
    lineage.transactions.map((transaction) => ({ lineage, transaction })),
  );
  return { identifier, account, lineages, sold, signed: signedPayloadsOf(account, at, signer, "store") };
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
export const transactionHistory = ({ identifier, account, sold, signed }: Person, { query }: Call) => {
  const { sort, revision = null, ...others } = Object.fromEntries(query);
  if (sort !== "DESCENDING" || Object.keys(others).length > 0)
    throw serverApiRefusal("GeneralBadRequestError");
  const name = queryName(identifier);
  const after = revision === null ? "Infinity" : readPageToken(revision, name);
  if (after === null) throw serverApiRefusal("InvalidRequestRevisionError");
  const remaining = sold
    .map((each) => ({ ...each, revision: each.transaction.revision ?? 0 }))
    .filter((each) => each.revision < Number(after))
    .toSorted((one, other) => other.revision - one.revision);
  const { page, last, hasMore } = pageOf(remaining);
  return {
    ...appFields(account),
    revision: pageTokenOf(last === undefined ? after : String(last.revision), name),
    hasMore,
    signedTransactions: page.map(({ lineage, transaction }) => signed.transaction(lineage, transaction)),
  };
};

/**
 * An original id names the transaction with that id, or else the first of its lineage.
 *
 * @throws Refused if the identifier is an app transaction's
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-transaction-info
 */
export const transactionInfo = ({ identifier, sold, signed }: Person) => {
  const named =
    sold.find(({ transaction }) => transaction.transactionIdentifier === identifier) ??
    sold.find(({ lineage }) => lineage.originalTransactionIdentifier === identifier);
  if (named === undefined) throw serverApiRefusal("TransactionIdNotFoundError");
  return { signedTransactionInfo: signed.transaction(named.lineage, named.transaction) };
};

/** @see https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info */
export const appTransactionInfo = ({ account, signed }: Person) => {
  if (account.appTransactionIdentifier === null) throw serverApiRefusal("AppTransactionDoesNotExistError");
  return { signedAppTransactionInfo: signed.appTransaction() };
};
