import type { Instant } from "../../../lib/entitlements/time.ts";
import { storeAppTransaction } from "../shop/payloads.ts";
import type { JwsSigner } from "../signing.ts";
import { ServerApiError } from "./errors.ts";
import type { Person } from "./persons.ts";

/**
 * Answers Get App Transaction Info.
 *
 * @throws ServerApiError if the person's app is older than app transaction ids
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info
 */
export const appTransactionInfo = ({ account }: Person, at: Instant, signer: JwsSigner) => {
  if (account.appTransactionIdentifier === null) throw new ServerApiError("AppTransactionDoesNotExistError");
  return { signedAppTransactionInfo: storeAppTransaction(account, at, signer) };
};
