import { statedPurchases, type VerifiedFacts } from "../../../lib/customers/storing/verified-facts.ts";
import type { Holding } from "../../../lib/entitlements/timeline.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import type { ProvenPurchase, Purchase } from "../../../lib/entitlements/purchase.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { readOneTimeProduct } from "../../../lib/stores/android-store/one-time-product.ts";
import {
  provenPurchaseOf,
  selecting,
  type VerifiedPurchase,
} from "../../../lib/stores/android-store/reading.ts";
import { readSubscription } from "../../../lib/stores/android-store/subscription.ts";
import { appTransactionIdentityOf, purchasesOf } from "../../../lib/stores/ios-store/purchases.ts";
import type { StatedRenewalInfo } from "../../../lib/stores/ios-store/payloads.ts";
import { renewalsOf } from "../../../lib/stores/ios-store/purchases.ts";
import { isKeyless, type AndroidFact, type Fact, type ModelRequest } from "./stated-facts.ts";

/** The model's facts as the service verifies them. */

/** Google's answer as the service reads it. */
export const toReading = (fact: AndroidFact): VerifiedPurchase => {
  const reading = (fact.kind === "subscription" ? readSubscription : readOneTimeProduct)(fact.answer, {
    packageName: "com.example.trails",
    purchaseToken: fact.token,
    productIdentifier: null,
    answeredAt: fact.answeredAt,
  });
  if (reading === null || reading === "product-not-in-purchase")
    throw new Error("The answer cannot be read.");
  return fact.kind === "subscription" ? reading : selecting(reading, "one_time_product", fact.asked);
};

/** The facts as the service's proven purchases. */
const toPurchases = (facts: readonly Fact[]): ProvenPurchase[] => [
  ...purchasesOf(facts.flatMap((fact) => (fact.store === "ios-store" ? [fact] : []))),
  ...facts.flatMap((fact) => (fact.store === "android-store" ? [provenPurchaseOf(toReading(fact))] : [])),
];

/** The request as verified facts. */
export const toVerifiedFacts = (request: ModelRequest): VerifiedFacts => {
  const { environment, appTransaction, facts, renewals } = request;
  const identity = appTransactionIdentityOf([
    { environment, appTransactionId: appTransaction },
    ...facts.flatMap((fact) => (fact.store === "ios-store" ? [fact] : [])),
  ]);
  return {
    environment,
    identities: identity === null ? [] : [identity],
    purchases: toPurchases(facts),
    isChosenByClient: isKeyless(request),
    renewals: renewalsOf(renewals, []),
    isPending: facts.some((fact) => fact.store === "android-store" && toReading(fact).isPending),
    acknowledgementDue: null,
    origin: null,
  };
};

/** What the facts state, each purchase with those that it mentions. */
export const statedBy = (facts: readonly Fact[]): readonly Purchase[] =>
  statedPurchases({ purchases: toPurchases(facts), renewals: [] });

/** All facts joined at once. */
export const joinedFacts = (
  facts: readonly Fact[],
  renewals: readonly StatedRenewalInfo[] = [],
): Purchase[] => joinAll([...statedBy(facts), ...renewalsOf(renewals, [])]);

const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

export const heldBySomebody = (purchases: readonly Purchase[]): readonly Holding[] =>
  purchases.map((purchase) => ({ customerIdentifier: SOMEBODY, assertedBy: null, purchase }));
