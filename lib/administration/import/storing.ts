import type { AndroidStoreConfiguration, Application } from "../../applications/application.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { CustomerTable } from "../../customers/storing/fact-store.ts";
import { customersOf, isErased, type AndroidStoreSource } from "../../customers/storing/records.ts";
import {
  type AndroidStorePurchases,
  storeAndroidStorePurchase,
} from "../../customers/storing/store-android-store-purchase.ts";
import { storeFacts } from "../../customers/storing/store-facts.ts";
import { statedPurchases, type VerifiedFacts } from "../../customers/storing/verified-facts.ts";
import { entitlementsAt } from "../../entitlements/entitlements.ts";
import { joinAll } from "../../entitlements/join.ts";
import {
  type IdentityReference,
  type Purchase,
  type PurchaseReference,
  referenceText,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { Terms } from "../../entitlements/timeline.ts";
import { customerId, type AccountId } from "../../identifiers.ts";
import { provenPurchaseOf, type VerifiedPurchase } from "../../stores/android-store/reading.ts";
import type { AnsweredLineage, Linked, State, Stored } from "./join.ts";

const BY_STATUS = {
  active: "active",
  grace_period: "grace",
  billing_retry: "retry",
  paused: "paused",
  expired: "ended",
  revoked: "refunded",
} as const satisfies Record<string, State>;

/** The terms, with every product granting one entitlement, mapped or not. */
const mappingAll = ({ catalog, renewalLeeway }: Terms): Terms => ({
  renewalLeeway,
  catalog: {
    ...catalog,
    productOf: (store, line) => ({
      basePlanIdentifier: null,
      purchaseOptionIdentifier: null,
      accessDuration: null,
      ...catalog.productOf(store, line),
      store,
      productIdentifier: line.productIdentifier,
      grants: ["access"],
    }),
  },
});

/** A purchase's state by the rules of the service's answers, and whether the catalog maps any of its products. */
export const verdictOf = (
  facts: readonly Purchase[],
  terms: Terms,
  moment: Instant,
): Pick<AnsweredLineage, "state" | "isMapped"> => {
  const purchases = joinAll(facts);
  const isMapped = purchases.some(({ store, lines }) =>
    lines.some((line) => terms.catalog.productOf(store, line) !== undefined),
  );
  const nobody = { customerIdentifier: customerId(""), assertedBy: null };
  const holdings = purchases.map((purchase) => ({ ...nobody, purchase }));
  const [entitlement] = entitlementsAt(moment, holdings, mappingAll(terms));
  return { state: entitlement === undefined ? "pending" : BY_STATUS[entitlement.status], isMapped };
};

const ifErased = (error: unknown): "erased" => {
  if (error instanceof ServiceError && error.code === "CUSTOMER_NOT_FOUND") return "erased";
  throw error;
};

const storedAs = ({ outcome }: { readonly outcome: "stored" | "refused" }): Stored =>
  outcome === "refused" ? "conflict" : "stored";

/**
 * Stores by the use cases of the service: the purchases first, without an account, and the links once all of a person is
 * known, so that the order of the rows decides nothing.
 */
export const storingIn = (store: AndroidStorePurchases, application: Application) => ({
  appStoreFacts: async (facts: VerifiedFacts): Promise<Stored> =>
    storeFacts(store, application, facts, null).then(storedAs, ifErased),

  androidPurchase: async (
    configuration: AndroidStoreConfiguration,
    verified: VerifiedPurchase,
    source: AndroidStoreSource,
  ): Promise<Stored> => {
    const context = { ports: store, application, configuration };
    const question = { source, askedAt: verified.purchase.verifiedAt };
    return storeAndroidStorePurchase(context, verified, question, null).then(storedAs, ifErased);
  },

  /** Links the customer of a stored purchase that nobody has. */
  link: async (purchase: PurchaseReference, account: AccountId): Promise<Linked> => {
    const known = await store.table.findFacts(application.identifier, [], [purchase], store.now());
    const stored = known.purchases.get(referenceText(purchase));
    // It was erased since it was stored.
    if (stored === undefined) return "erased";
    // They name its customer, and state nothing new.
    const facts = {
      environment: purchase.environment,
      identities: [],
      purchases: [{ purchase: stored.purchase, mentioned: [], identity: null }],
      renewals: [],
      acknowledgementDue: null,
      origin: null,
    };
    const claim = { account, assertedBy: "credential", isImported: true } as const;
    return storeFacts(store, application, facts, claim).then(
      ({ outcome }) => (outcome === "refused" ? "elsewhere" : "linked"),
      ifErased,
    );
  },
});
export type Storing = ReturnType<typeof storingIn>;

/** Says what {@link storingIn} would do, and writes nothing. */
export const previewOf = (
  table: Pick<CustomerTable, "findFacts" | "findCustomers">,
  { identifier }: Application,
  now: () => Instant,
): Storing => {
  /** Accounts of the customers that are known; null: an erasure reserves some of it. */
  const accountsOf = async (
    identities: readonly IdentityReference[],
    purchases: readonly PurchaseReference[],
  ): Promise<ReadonlySet<AccountId> | null> => {
    const known = await table.findFacts(identifier, identities, purchases, now());
    if (isErased(known)) return null;
    const { living } = await table.findCustomers(identifier, customersOf(known));
    return new Set([...living.values()].flatMap(({ link }) => link?.account ?? []));
  };
  const storedAfter = (accounts: ReadonlySet<AccountId> | null): Stored =>
    accounts === null ? "erased" : accounts.size > 1 ? "conflict" : "stored";
  return {
    appStoreFacts: async (facts) => accountsOf(facts.identities, statedPurchases(facts)).then(storedAfter),
    androidPurchase: async (_, verified) => {
      const { purchase, mentioned } = provenPurchaseOf(verified);
      return accountsOf([], [purchase, ...mentioned]).then(storedAfter);
    },
    link: async (purchase, account) => {
      const accounts = await accountsOf([], [purchase]);
      if (accounts === null) return "erased";
      return [...accounts].every((one) => one === account) ? "linked" : "elsewhere";
    },
  };
};
