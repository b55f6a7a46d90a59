import { compare } from "../../../lib/order.ts";
import type { Account, Lineage } from "../shop/lineage.ts";
import { ServerApiError } from "./errors.ts";
import type { Shop } from "../shop/shop.ts";

/** An Apple Account's copy of an app, with everything that it bought. */
export interface Person {
  readonly account: Account;
  readonly lineages: readonly Lineage[];
}

/** An app as the Server API and the notifications name it. */
export const appFields = ({
  environment,
  bundleIdentifier,
  appAppleIdentifier,
}: Pick<Account, "environment" | "bundleIdentifier" | "appAppleIdentifier">) => ({
  environment,
  bundleId: bundleIdentifier,
  ...(environment === "Production" && { appAppleId: appAppleIdentifier }),
});

const IDENTIFIER = /^\d{1,20}$/;

/**
 * The person whom Apple's `anyTransactionId` names: the id or original id of a transaction, or the id of an app transaction.
 *
 * @throws ServerApiError if the identifier is malformed, unknown or of another app
 */
export const personOf = (shop: Shop, bundleIdentifier: string, identifier: string): Person => {
  if (!IDENTIFIER.test(identifier)) throw new ServerApiError("InvalidTransactionIdError");
  const [key] = [...shop.accountsWith(identifier), ...shop.accountsNamed(identifier)]
    .filter((each) => shop.account(each).bundleIdentifier === bundleIdentifier)
    // An app transaction's id may be of both environments; clients ask for production first.
    .toSorted((one, other) => compare(shop.account(one).environment, shop.account(other).environment));
  if (key === undefined) throw new ServerApiError("TransactionIdNotFoundError");
  return { account: shop.account(key), lineages: shop.lineagesOf(key) };
};
