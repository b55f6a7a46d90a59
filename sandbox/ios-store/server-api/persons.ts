import { compare } from "../../../lib/order.ts";
import type { Account, Lineage } from "../shop/lineage.ts";
import { ServerApiError } from "./errors.ts";
import type { Shop } from "../shop/shop.ts";

/** An Apple Account's copy of an app, with everything that it bought. */
export interface Person {
  readonly account: Account;
  readonly lineages: readonly Lineage[];
}

/** An app as the Server API names it. */
export const appFields = ({ environment, bundleIdentifier, appAppleIdentifier }: Account) => ({
  environment,
  bundleId: bundleIdentifier,
  ...(environment === "Production" && { appAppleId: appAppleIdentifier }),
});

const IDENTIFIER = /^\d{1,20}$/;

export const isIdentifier = (value: string): boolean => IDENTIFIER.test(value);

export const hasTransaction = (
  { originalTransactionIdentifier, transactions }: Lineage,
  identifier: string,
): boolean =>
  originalTransactionIdentifier === identifier ||
  transactions.some(({ transactionIdentifier }) => transactionIdentifier === identifier);

const personOf = (shop: Shop, bundleIdentifier: string, keys: readonly string[]): Person | undefined =>
  keys
    .map((key) => ({ account: shop.account(key), lineages: shop.lineagesOf(key) }))
    .filter(({ account }) => account.bundleIdentifier === bundleIdentifier)
    // An app transaction's id may be of both environments; clients ask for production first.
    .toSorted((one, other) => compare(one.account.environment, other.account.environment))[0];

const requireIdentifier = (identifier: string): void => {
  if (!isIdentifier(identifier)) throw new ServerApiError("InvalidTransactionIdError");
};

/**
 * The person whom Apple's `transactionId` names.
 *
 * @throws ServerApiError if the identifier is malformed, unknown or of another app
 */
export const personOfTransaction = (shop: Shop, bundleIdentifier: string, identifier: string): Person => {
  requireIdentifier(identifier);
  const person = personOf(shop, bundleIdentifier, shop.accountsWith(identifier));
  if (person === undefined) throw new ServerApiError("TransactionIdNotFoundError");
  return person;
};

/**
 * The person whom Apple's `anyTransactionId` names: the id or original id of a transaction, or the id of an app transaction.
 *
 * @throws ServerApiError if the identifier is malformed, unknown or of another app
 */
export const personOfAnyTransaction = (shop: Shop, bundleIdentifier: string, identifier: string): Person => {
  requireIdentifier(identifier);
  const person =
    personOf(shop, bundleIdentifier, shop.accountsWith(identifier)) ??
    personOf(shop, bundleIdentifier, shop.accountsNamed(identifier));
  if (person === undefined) throw new ServerApiError("TransactionIdNotFoundError");
  return person;
};
