import type { Instant } from "../../../lib/entitlements/time.ts";
import { SUBSCRIPTION_GROUP } from "../shop/app-store.ts";
import { latestOf } from "../shop/lineage.ts";
import { signedDateOf, storeRenewalInfo, storeTransaction } from "../shop/payloads.ts";
import { appFields, type Person } from "./persons.ts";
import { STATUSES } from "../shop/renewal-info.ts";
import type { JwsSigner } from "../signing.ts";

/**
 * Answers Get All Subscription Statuses.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-all-subscription-statuses
 */
export const subscriptionStatuses = ({ account, lineages }: Person, at: Instant, signer: JwsSigner) => {
  const lastTransactions = lineages.flatMap((lineage) => {
    if (lineage.subscription === null) return [];
    const signedDate = signedDateOf(lineage, at);
    return [
      {
        originalTransactionId: lineage.originalTransactionIdentifier,
        status: STATUSES[lineage.subscription.standing.kind],
        signedTransactionInfo: storeTransaction(account, lineage, latestOf(lineage), signedDate, signer),
        signedRenewalInfo: storeRenewalInfo(account, lineage, signedDate, signer),
      },
    ];
  });
  return {
    ...appFields(account),
    data:
      lastTransactions.length === 0
        ? []
        : [{ subscriptionGroupIdentifier: SUBSCRIPTION_GROUP, lastTransactions }],
  };
};
