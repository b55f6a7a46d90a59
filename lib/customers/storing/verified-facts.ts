import type { Application, IosStoreConfiguration } from "../../applications/application.ts";
import type { Environment } from "../../contract/schemas.ts";
import {
  referenceText,
  type IdentityReference,
  type ProvenPurchase,
  type Purchase,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { PendingAcknowledgement } from "../../stores/android-store/reading.ts";
import type { AppTransaction, StatedRenewalInfo, Transaction } from "../../stores/ios-store/payloads.ts";
import { appTransactionIdentityOf, purchasesOf, renewalsOf } from "../../stores/ios-store/purchases.ts";
import type { FactsOrigin } from "../asking/ask.ts";
import { CLAIMS_PER_ACCOUNT, CLAIMS_WITHOUT_IDENTITY, type Claim, type FactStore } from "./fact-store.ts";
import type { FoundCustomers, KnownFacts, StoredCustomer } from "./records.ts";

/** Facts about one person that a store has verified in one request. Nothing else reaches the table. */
export interface VerifiedFacts {
  readonly environment: Environment;
  /** Identities other than purchases: every purchase is an identity of its own. */
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly ProvenPurchase[];
  /** Whether a client without a credential chose what comes together (`personsIn`); unset: no. */
  readonly isChosenByClient?: boolean;
  /** Renewal infos, each as a fact of its lineage (`renewedPurchase`). They name nobody. */
  readonly renewals: readonly Purchase[];
  /** Whether the payment of the request's purchase is pending, or unknown where the store did not answer; unset: no. */
  readonly isPending?: boolean;
  readonly acknowledgementDue: PendingAcknowledgement | null;
  /** Null: no store can be asked about these facts, so their questions stay as they are. */
  readonly origin: FactsOrigin | null;
}

interface IosStorePayloads {
  readonly environment: Environment;
  readonly transactions: readonly Transaction[];
  readonly renewalInfos: readonly StatedRenewalInfo[];
  readonly appTransaction?: AppTransaction;
  /** Time at which Apple was asked; null: it was not. */
  readonly askedAt: Instant | null;
}

/** Facts that verified payloads state. Without a key of the App Store Server API, Apple cannot be asked again. */
export const iosStoreFacts = (
  { bundleIdentifier, serverApi }: IosStoreConfiguration,
  { environment, transactions, renewalInfos, appTransaction, askedAt }: IosStorePayloads,
): VerifiedFacts => {
  const naming = appTransaction === undefined ? transactions : [appTransaction, ...transactions];
  const identity = appTransactionIdentityOf(naming);
  return {
    environment,
    identities: identity === null ? [] : [identity],
    purchases: purchasesOf(transactions),
    renewals: renewalsOf(renewalInfos, transactions),
    acknowledgementDue: null,
    origin: { source: { store: "ios-store", bundleIdentifier }, canAsk: serverApi !== null, askedAt },
  };
};

type Stated = Pick<VerifiedFacts, "purchases" | "renewals">;

/** All purchases of the facts, with those that are only mentioned (a replaced token), and renewal infos. */
export const statedPurchases = ({ purchases, renewals }: Stated): readonly Purchase[] => [
  ...purchases.flatMap(({ purchase, mentioned }) => [purchase, ...mentioned]),
  ...renewals,
];

/** Whether they are renewal infos alone. */
export const namesNobody = ({ identities, purchases }: VerifiedFacts): boolean =>
  identities.length + purchases.length === 0;

/** Facts that name a person, and renewal infos of lineages that they neither prove nor mention. Null: none. */
export const divideFacts = (
  facts: VerifiedFacts,
): { readonly own: VerifiedFacts | null; readonly others: VerifiedFacts | null } => {
  const proven = new Set(statedPurchases({ ...facts, renewals: [] }).map(referenceText));
  const isProven = (renewal: Purchase): boolean => proven.has(referenceText(renewal));
  const others = facts.renewals.filter((renewal) => !isProven(renewal));
  return {
    own: namesNobody(facts) ? null : { ...facts, renewals: facts.renewals.filter(isProven) },
    others: others.length === 0 ? null : { ...facts, identities: [], purchases: [], renewals: others },
  };
};

/** Claims of its account below which a claim with these facts is made. Xcode's ids name nobody. */
export const claimsLimit = (
  { claimsPerAccount = CLAIMS_PER_ACCOUNT }: Pick<FactStore, "claimsPerAccount">,
  { identities, environment }: Pick<VerifiedFacts, "identities" | "environment">,
): number =>
  identities.length > 0 || environment === "xcode"
    ? claimsPerAccount
    : Math.min(CLAIMS_WITHOUT_IDENTITY, claimsPerAccount);

export interface FactContext {
  readonly store: FactStore;
  readonly application: Application;
  readonly facts: VerifiedFacts;
  readonly claim: Claim | null;
}

export interface StateContext extends FactContext {
  readonly moment: Instant;
  readonly known: KnownFacts;
  readonly living: FoundCustomers["living"];
  readonly owners: readonly StoredCustomer[];
}
