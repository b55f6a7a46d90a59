import type { Instant } from "../../../lib/entitlements/time.ts";
import { SUBSCRIPTION_GROUP } from "../shop/app-store.ts";
import { latestOf } from "../shop/lineage.ts";
import { signedDateOf, storeRenewalInfo, storeTransaction } from "../shop/payloads.ts";
import { appFields, type Person } from "./persons.ts";
import { STATUSES } from "../shop/renewal-info.ts";
import { ServerApiError } from "./errors.ts";
import type { JwsSigner } from "../signing.ts";

const KNOWN: ReadonlySet<string> = new Set(Object.values(STATUSES).map(String));

/**
 * Answers Get All Subscription Statuses.
 *
 * @throws ServerApiError
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-all-subscription-statuses
 */
export const subscriptionStatuses = (
  { account, lineages }: Person,
  query: URLSearchParams,
  at: Instant,
  signer: JwsSigner,
) => {
  const wanted = query.getAll("status");
  if (wanted.some((status) => !KNOWN.has(status))) throw new ServerApiError("InvalidStatusError");
  const lastTransactions = lineages.flatMap((lineage) => {
    if (lineage.subscription === null) return [];
    const status = STATUSES[lineage.subscription.standing.kind];
    if (wanted.length > 0 && !wanted.includes(String(status))) return [];
    const signedDate = signedDateOf(lineage, at);
    return [
      {
        originalTransactionId: lineage.originalTransactionIdentifier,
        status,
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
