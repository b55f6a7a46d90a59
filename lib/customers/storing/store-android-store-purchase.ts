import type { AndroidStoreConfiguration, Application } from "../../applications/application.ts";
import { ServiceError } from "../../contract/errors.ts";
import { SECOND } from "../../duration.ts";
import { isRevoked, productKindOf, referenceText } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type {
  AndroidPurchaseRequest,
  AndroidStore,
  AndroidStoreAnswer,
} from "../../stores/android-store/android-store.ts";
import { isTransient } from "../../stores/android-store/failure.ts";
import {
  purchaseKeyOfToken,
  purchasesOfToken,
  provenPurchaseOf,
  reportOf,
  type VerifiedPurchase,
} from "../../stores/android-store/reading.ts";
import type { StoreFailure } from "../../stores/store-client.ts";
import type { AskQueues, FactsOrigin } from "../asking/ask.ts";
import type { AndroidStoreSource, KnownFacts } from "./records.ts";
import type { FactStore, Claim } from "./fact-store.ts";
import { orIfErased, storeFacts, type LearnOfMentioned, type StoringOutcome } from "./store-facts.ts";
import type { VerifiedFacts } from "./verified-facts.ts";

export interface AndroidStorePurchases extends FactStore {
  readonly androidStore: Pick<AndroidStore, "lookUp" | "acknowledge">;
  readonly asks: Pick<AskQueues, "acknowledged">;
}

export interface PackageContext {
  readonly ports: AndroidStorePurchases;
  readonly application: Application;
  readonly configuration: AndroidStoreConfiguration;
}

/** How Google was asked. `askedAt`: the question is answered; null: only new facts set the next one. */
type AndroidStoreQuestion = Pick<FactsOrigin, "source" | "askedAt" | "isNotified">;

/** Whether the store's acknowledgement was made; null: none was to be made. */
type Stored = StoringOutcome & { readonly isAcknowledged: boolean | null };

export const sourceOf = (
  { packageName }: Pick<AndroidStoreConfiguration, "packageName">,
  { purchaseToken, productKind }: Pick<AndroidStoreSource, "purchaseToken" | "productKind">,
): AndroidStoreSource => ({ store: "android-store", packageName, purchaseToken, productKind });

/** HTTP statuses for a purchase that the store does not know, or says it has dropped. */
export const UNKNOWN_STATUSES: ReadonlySet<number | null> = new Set([404, 410]);

/**
 * Looks up a purchase. If all of a stored one-time purchase is voided and Google no longer knows its token, which is
 * of one order, the answer is the stored purchase, revoked. `fullyVoidedAt` null: not all is voided.
 */
export const lookUpVoided = async (
  { ports: { androidStore, table, now }, application, configuration }: PackageContext,
  request: AndroidPurchaseRequest,
  fullyVoidedAt: Instant | null,
): Promise<AndroidStoreAnswer> => {
  const answer = await androidStore.lookUp(configuration, request);
  if (answer.outcome !== "rejected" && answer.outcome !== "gone") return answer;
  if (fullyVoidedAt === null || !UNKNOWN_STATUSES.has(answer.status)) return answer;
  const verifiedAt = now();
  const references = purchasesOfToken(request.purchaseToken);
  const known = await table.findFacts(application.identifier, [], references, verifiedAt);
  const stored = [...known.purchases.values()].find(({ purchase: { lines } }) => lines.length > 0)?.purchase;
  if (stored?.lines.every(({ nature }) => productKindOf(nature) === "one_time_product") !== true)
    return answer;
  const revokedAt = Math.min(fullyVoidedAt, verifiedAt);
  const revoked = { standing: "revoked", revokedAt, revokedSince: revokedAt, refundedQuantity: 0 } as const;
  const lines = stored.lines.map((line) => ({ ...line, ...revoked, verifiedAt }));
  // A repeated void changes nothing.
  const purchase = stored.lines.every(isRevoked) ? stored : { ...stored, lines, verifiedAt };
  return { outcome: "verified", ...reportOf(purchase), isClosed: true };
};

/**
 * Whether the fault may be this purchase's alone: its answer cannot be parsed, or refuses the request for an unknown
 * reason. Without a reason, it may be a proxy's own answer.
 */
export const isOfThisPurchase = ({ outcome, status, reason }: StoreFailure): boolean =>
  status === 200 ||
  (outcome === "unavailable" &&
    status !== null &&
    status >= 400 &&
    reason !== null &&
    !isTransient({ status, reason }));

/** The Android store did not answer a look-up, or refused the credential. */
export class UnansweredLookUpError extends ServiceError {
  readonly answer: StoreFailure;

  constructor(answer: StoreFailure, now: Instant) {
    if (answer.outcome === "credential-rejected") super("STORE_REJECTED_CREDENTIAL");
    else if (answer.retryAt === null) super("STORE_UNAVAILABLE");
    else super("STORE_UNAVAILABLE", { retryAfterSeconds: Math.ceil((answer.retryAt - now) / SECOND) });
    this.answer = answer;
  }
}

type LookingUp = Pick<PackageContext, "configuration"> & {
  readonly ports: { readonly androidStore: Pick<AndroidStore, "lookUp"> };
};

interface LookedUp {
  readonly purchaseToken: string;
  readonly verified: VerifiedPurchase;
}

/** Looks up a subscription. Null: the store does not answer about it, or its environment is not accepted. */
const lookUpSubscription = async (
  { ports, configuration }: LookingUp,
  purchaseToken: string,
): Promise<LookedUp | null> => {
  const question = { purchaseToken, productKind: "subscription", productIdentifier: null } as const;
  const verified = await ports.androidStore.lookUp(configuration, question);
  return verified.outcome === "verified" && configuration.environments.includes(verified.purchase.environment)
    ? { purchaseToken, verified }
    : null;
};

/**
 * The predecessor that a verified purchase names and that is not stored: only it connects the two with a customer. One
 * look-up; null: none is unknown, or the store does not answer about it.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionPurchaseV2
 * `linkedPurchaseToken`
 */
export const unknownPredecessor = async (
  context: LookingUp,
  { purchase, predecessors }: VerifiedPurchase,
  { purchases, erasedPurchases }: KnownFacts,
): Promise<LookedUp | null> => {
  const purchaseToken = predecessors.find((token) => {
    const reference = referenceText({ ...purchase, key: purchaseKeyOfToken(token) });
    return !purchases.has(reference) && !erasedPurchases.has(reference);
  });
  return purchaseToken === undefined ? null : lookUpSubscription(context, purchaseToken);
};

const storeAndAcknowledge = async (
  { ports, application, configuration }: PackageContext,
  verified: VerifiedPurchase,
  question: AndroidStoreQuestion,
  claim: Claim | null,
  learn: LearnOfMentioned | null,
): Promise<Stored> => {
  const { acknowledgement: due, isPending, isClosed } = verified;
  const facts: VerifiedFacts = {
    environment: verified.purchase.environment,
    identities: [],
    purchases: [provenPurchaseOf(verified)],
    renewals: [],
    isPending,
    acknowledgementDue: due,
    origin: { ...question, canAsk: !isClosed },
  };
  const stored = await storeFacts(ports, application, facts, claim, learn);
  if (due === null || stored.toAcknowledge === null) return { ...stored, isAcknowledged: null };
  const { outcome } = await ports.androidStore.acknowledge(configuration, due);
  if (outcome !== "acknowledged") return { ...stored, isAcknowledged: false };
  // It is pending in the table by now, so a failure here loses nothing.
  const { asked, askOnceAcknowledged } = stored.toAcknowledge;
  await ports.asks
    .acknowledged(application.identifier, asked, sourceOf(configuration, due), askOnceAcknowledged)
    .catch(() => undefined);
  return { ...stored, isAcknowledged: true };
};

/** Stores a subscription without a claim, as its own notification would. */
const storeLookedUp = (
  context: PackageContext,
  { purchaseToken, verified }: LookedUp,
  learn: LearnOfMentioned | null,
): Promise<Stored> => {
  const source = sourceOf(context.configuration, { purchaseToken, productKind: "subscription" });
  return storeAndAcknowledge(context, verified, { source, askedAt: null }, null, learn);
};

/** Stores an unknown predecessor first. An erased one stops a request that has neither a credential's claim nor an owner. */
const learnOfPredecessor =
  (context: PackageContext, verified: VerifiedPurchase, claim: Claim | null): LearnOfMentioned =>
  async (known) => {
    const found = await unknownPredecessor(context, verified, known);
    if (found === null) return false;
    const isOwned = known.purchases.has(referenceText(verified.purchase));
    const storing = storeLookedUp(context, found, null);
    const goesOn = claim?.assertedBy === "credential" || isOwned;
    await (goesOn ? orIfErased(storing, () => null) : storing);
    return true;
  };

/** Reads the purchase that goes on because its replacement was never paid. Its own question makes up for a failure. */
const readWhatGoesOn = async (context: PackageContext, purchaseToken: string): Promise<void> => {
  const found = await lookUpSubscription(context, purchaseToken);
  if (found !== null) await storeLookedUp(context, found, learnOfPredecessor(context, found.verified, null));
};

/**
 * Stores a verified purchase, and acknowledges it if the store waits for that and it belongs to an account, even if
 * this link is refused. An unknown purchase that it replaces is looked up and stored first.
 *
 * @throws ServiceError as `storeFacts` does
 */
export const storeAndroidStorePurchase = async (
  context: PackageContext,
  verified: VerifiedPurchase,
  question: AndroidStoreQuestion,
  claim: Claim | null,
): Promise<Stored> => {
  const learn = learnOfPredecessor(context, verified, claim);
  const stored = await storeAndAcknowledge(context, verified, question, claim, learn);
  if (verified.goesOn !== null) await readWhatGoesOn(context, verified.goesOn).catch(() => undefined);
  return stored;
};
