import type { AndroidStoreConfiguration, Application } from "../applications/application.ts";
import { referenceText } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AndroidStore } from "../stores/android-store/android-store.ts";
import {
  provenPurchaseOf,
  type PendingAcknowledgement,
  type VerifiedPurchase,
} from "../stores/android-store/reading.ts";
import type { AndroidStoreSource, FactsOrigin } from "./ask.ts";
import { isOfErased } from "./ask-outcome.ts";
import type { AskQueues } from "./ask-queue.ts";
import type { FactStore } from "./fact-store.ts";
import type { ToAcknowledge } from "./plan-customer-change.ts";
import type { Claim } from "./resolve-customer.ts";
import { storeFacts, type LearnOfMentioned, type StoringOutcome } from "./store-facts.ts";
import { unknownPredecessor } from "./unknown-predecessor.ts";
import type { VerifiedFacts } from "./verified-facts.ts";

export interface AndroidStorePurchases extends FactStore {
  readonly androidStore: Pick<AndroidStore, "lookUp" | "acknowledge">;
  readonly asks: Pick<AskQueues, "acknowledged">;
}

/** How Google was asked. `askedAt`: the question is answered; null: only new facts set the next one. */
export interface AndroidStoreQuestion extends Pick<FactsOrigin, "isNotified"> {
  readonly source: AndroidStoreSource;
  readonly askedAt: Instant | null;
}

/** Whether the store's acknowledgement was made; null: none was to be made. */
export type Stored = StoringOutcome & { readonly isAcknowledged: boolean | null };

const verifiedFactsOf = (verified: VerifiedPurchase, question: AndroidStoreQuestion): VerifiedFacts => ({
  environment: verified.purchase.environment,
  identities: [],
  purchases: [provenPurchaseOf(verified)],
  renewals: [],
  isPending: verified.isPending,
  acknowledgementDue: verified.acknowledgement,
  origin: { ...question, canAsk: !verified.isClosed },
});

export const sourceOf = (
  { packageName }: Pick<AndroidStoreConfiguration, "packageName">,
  { purchaseToken, productKind }: Pick<AndroidStoreSource, "purchaseToken" | "productKind">,
): AndroidStoreSource => ({ store: "android-store", packageName, purchaseToken, productKind });

/** The acknowledgement is pending in the table by now, so a failure here loses nothing. */
const acknowledge = async (
  { androidStore, asks }: AndroidStorePurchases,
  application: Application,
  configuration: AndroidStoreConfiguration,
  pending: PendingAcknowledgement,
  { asked, askOnceAcknowledged }: ToAcknowledge,
): Promise<boolean> => {
  const { outcome } = await androidStore.acknowledge(configuration, pending);
  if (outcome === "due") return false;
  const source = sourceOf(configuration, pending);
  await asks.acknowledged(application.identifier, asked, source, askOnceAcknowledged).catch(() => undefined);
  return true;
};

/** Stores a verified purchase, and acknowledges it where that is due. */
const storeAndAcknowledge = async (
  purchases: AndroidStorePurchases,
  application: Application,
  configuration: AndroidStoreConfiguration,
  facts: VerifiedFacts,
  claim: Claim | null,
  learn: LearnOfMentioned | null = null,
): Promise<Stored> => {
  const stored = await storeFacts(purchases, application, facts, claim, learn);
  const { acknowledgementDue: due } = facts;
  const { toAcknowledge } = stored;
  if (due === null || toAcknowledge === null) return { ...stored, isAcknowledged: null };
  const isAcknowledged = await acknowledge(purchases, application, configuration, due, toAcknowledge);
  return { ...stored, isAcknowledged };
};

/**
 * Looks up and stores a purchase that a verified one replaces and that is unknown here: without a claim, as if its own
 * notification had arrived. If it belongs to an erased customer, only a credential's claim continues, or a purchase that
 * has an owner already.
 */
const learnOfPredecessor =
  (
    purchases: AndroidStorePurchases,
    application: Application,
    configuration: AndroidStoreConfiguration,
    verified: VerifiedPurchase,
    claim: Claim | null,
  ): LearnOfMentioned =>
  async (known) => {
    const found = await unknownPredecessor(purchases.androidStore, configuration, verified, known);
    if (found === null) return false;
    const source = sourceOf(configuration, { ...found, productKind: "subscription" });
    const facts = verifiedFactsOf(found.verified, { source, askedAt: null });
    const isOwned = known.purchases.has(referenceText(verified.purchase));
    await storeAndAcknowledge(purchases, application, configuration, facts, null).catch((error: unknown) => {
      if (!(claim?.assertedBy === "credential" || isOwned) || !isOfErased(error)) throw error;
    });
    return true;
  };

/**
 * Reads the purchase that continues because its replacement was never paid. It adds no identity, and its own question
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
    learnOfPredecessor(purchases, application, configuration, answer, null),
  );
};

/**
 * Stores a verified Android-store purchase, and acknowledges it if the store waits for that and the purchase belongs to
 * an account, even if this request's link is refused. An older purchase that it replaces and that is unknown here is
 * looked up and stored first.
 *
 * @throws ServiceError as `storeFacts` does
 */
export const storeAndroidStorePurchase = async (
  purchases: AndroidStorePurchases,
  application: Application,
  configuration: AndroidStoreConfiguration,
  verified: VerifiedPurchase,
  question: AndroidStoreQuestion,
  claim: Claim | null,
): Promise<Stored> => {
  const stored = await storeAndAcknowledge(
    purchases,
    application,
    configuration,
    verifiedFactsOf(verified, question),
    claim,
    learnOfPredecessor(purchases, application, configuration, verified, claim),
  );
  if (verified.goesOn !== null)
    await readWhatGoesOn(purchases, application, configuration, verified.goesOn).catch(() => undefined);
  return stored;
};
