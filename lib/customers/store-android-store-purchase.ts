import type { AndroidStoreConfiguration, Application } from "../applications/application.ts";
import { referenceText } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AndroidStoreSource, FactsOrigin } from "../freshness/refresh.ts";
import type { AndroidStore } from "../stores/android-store/android-store.ts";
import {
  provenPurchaseOf,
  type PendingAcknowledgement,
  type VerifiedPurchase,
} from "../stores/android-store/reading.ts";
import type { AcknowledgementQueue } from "./acknowledgement-queue.ts";
import type { FactStore } from "./fact-store.ts";
import type { Claim } from "./resolve-customer.ts";
import { storeFacts, type LearnOfMentioned, type StoringOutcome } from "./store-facts.ts";
import { isOfErased } from "./refresh-outcome.ts";
import { untoldPredecessors } from "./untold-predecessors.ts";
import type { VerifiedFacts } from "./verified-facts.ts";

export interface AndroidStorePurchases extends FactStore {
  readonly androidStore: Pick<AndroidStore, "lookUp" | "acknowledge">;
  readonly acknowledgements: Pick<AcknowledgementQueue, "remove">;
}

/** Source of an Android purchase. `askedAt`: the refresh is rescheduled from then; null: only new facts move it. */
export interface AndroidStoreQuestion extends Pick<FactsOrigin, "askAgainAt"> {
  readonly source: AndroidStoreSource;
  readonly askedAt: Instant | null;
}

const verifiedFactsOf = (verified: VerifiedPurchase, question: AndroidStoreQuestion): VerifiedFacts => ({
  environment: verified.purchase.environment,
  identities: [],
  purchases: [provenPurchaseOf(verified)],
  renewals: [],
  isPending: verified.isPending,
  acknowledgementDue: verified.acknowledgement,
  origin: { ...question, canRefresh: !verified.isClosed },
});

export const sourceOf = (
  { packageName }: Pick<AndroidStoreConfiguration, "packageName">,
  { purchaseToken, productKind }: Pick<AndroidStoreSource, "purchaseToken" | "productKind">,
): AndroidStoreSource => ({ store: "android-store", packageName, purchaseToken, productKind });

/** The purchase is queued by now, so a failure here loses no acknowledgement. */
const acknowledge = async (
  { androidStore, acknowledgements }: AndroidStorePurchases,
  application: Application,
  configuration: AndroidStoreConfiguration,
  pending: PendingAcknowledgement,
  dueSince: Instant,
): Promise<void> => {
  const { outcome } = await androidStore.acknowledge(configuration, pending);
  if (outcome === "due") return;
  await acknowledgements
    .remove({ application: application.identifier, purchase: pending.purchase, dueSince })
    .catch(() => undefined);
};

/** Stores a verified purchase, and acknowledges it where that is due. */
const storeAndAcknowledge = async (
  purchases: AndroidStorePurchases,
  application: Application,
  configuration: AndroidStoreConfiguration,
  facts: VerifiedFacts,
  claim: Claim | null,
  learn: LearnOfMentioned | null = null,
): Promise<StoringOutcome> => {
  const stored = await storeFacts(purchases, application, facts, claim, learn);
  const due = facts.acknowledgementDue;
  const dueSince =
    stored.outcome === "refused"
      ? stored.acknowledgementDueSince
      : (stored.customer?.acknowledgementDueSince ?? null);
  if (due !== null && dueSince !== null)
    await acknowledge(purchases, application, configuration, due, dueSince);
  return stored;
};

/**
 * Looks up and stores purchases that a verified one mentions and that are unknown here: without a claim, as if their
 * own notifications had arrived. If one of them belongs to an erased customer, only a credential's claim continues, or a
 * purchase that has an owner already.
 */
const learnOfPredecessors =
  (
    purchases: AndroidStorePurchases,
    application: Application,
    configuration: AndroidStoreConfiguration,
    verified: VerifiedPurchase,
    claim: Claim | null,
  ): LearnOfMentioned =>
  async (known) => {
    const predecessors = await untoldPredecessors(
      purchases,
      application,
      configuration,
      verified,
      claim,
      known,
    );
    const isOwned = known.purchases.has(referenceText(verified.purchase));
    for (const { purchaseToken, verified: predecessor } of predecessors) {
      const source = sourceOf(configuration, { purchaseToken, productKind: "subscription" });
      const facts = verifiedFactsOf(predecessor, { source, askedAt: null });
      await storeAndAcknowledge(purchases, application, configuration, facts, null).catch(
        (error: unknown) => {
          if (!(claim?.assertedBy === "credential" || isOwned) || !isOfErased(error)) throw error;
        },
      );
    }
    return predecessors.length > 0;
  };

/**
 * Reads the purchase that continues because its replacement was never paid. It adds no identity, and its own refresh
 * makes up for a failure.
 */
const readWhatGoesOn = async (
  purchases: AndroidStorePurchases,
  application: Application,
  configuration: AndroidStoreConfiguration,
  purchaseToken: string,
): Promise<void> => {
  const question = { purchaseToken, productKind: "subscription", productIdentifier: null } as const;
  const answer = await purchases.androidStore.lookUp(configuration, question);
  if (answer.outcome !== "verified") return;
  if (!configuration.environments.includes(answer.purchase.environment)) return;
  const source = sourceOf(configuration, question);
  await storeAndAcknowledge(
    purchases,
    application,
    configuration,
    verifiedFactsOf(answer, { source, askedAt: null }),
    null,
    learnOfPredecessors(purchases, application, configuration, answer, null),
  );
};

/**
 * Stores a verified Android-store purchase, and acknowledges it if the store waits for that and the purchase belongs to
 * an account, even if this request's link is refused. Older purchases that it mentions and that are unknown here are
 * looked up and stored first.
 *
 * @throws ServiceError as `storeFacts` does
 * @throws UnansweredLookUpError of an older purchase for which this one waits; then nothing is stored
 */
export const storeAndroidStorePurchase = async (
  purchases: AndroidStorePurchases,
  application: Application,
  configuration: AndroidStoreConfiguration,
  verified: VerifiedPurchase,
  question: AndroidStoreQuestion,
  claim: Claim | null,
): Promise<StoringOutcome> => {
  const stored = await storeAndAcknowledge(
    purchases,
    application,
    configuration,
    verifiedFactsOf(verified, question),
    claim,
    learnOfPredecessors(purchases, application, configuration, verified, claim),
  );
  if (verified.goesOn !== null)
    await readWhatGoesOn(purchases, application, configuration, verified.goesOn).catch(() => undefined);
  return stored;
};
