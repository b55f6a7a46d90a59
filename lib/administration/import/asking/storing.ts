import type { AndroidStoreConfiguration, Application } from "../../../applications/application.ts";
import { ServiceError } from "../../../contract/errors.ts";
import { isErased, type CustomerTable, type KnownFacts } from "../../../customers/storing/customer-table.ts";
import type { FactStore } from "../../../customers/storing/fact-store.ts";
import {
  storeAndroidStorePurchase,
  type AndroidStorePurchases,
} from "../../../customers/storing/store-android-store-purchase.ts";
import { storeFacts } from "../../../customers/storing/store-facts.ts";
import { statedPurchases, type VerifiedFacts } from "../../../customers/storing/verified-facts.ts";
import type { AndroidStoreSource } from "../../../customers/asking/ask.ts";
import { referenceText, type PurchaseReference } from "../../../entitlements/purchase.ts";
import type { Instant } from "../../../entitlements/time.ts";
import type { AccountId } from "../../../identifiers.ts";
import { provenPurchaseOf, type VerifiedPurchase } from "../../../stores/android-store/reading.ts";
import type { Linked, Stored } from "../journal.ts";

/**
 * Where an import puts what the stores say: first the purchases, without an account, then the links, once all of a person
 * is known. So the order of the rows decides nothing.
 */
export interface Storing {
  appStoreFacts(facts: VerifiedFacts): Promise<Stored>;
  androidPurchase(
    configuration: AndroidStoreConfiguration,
    verified: VerifiedPurchase,
    source: AndroidStoreSource,
  ): Promise<Stored>;
  /** Links the customer of a stored purchase that nobody has. */
  link(purchase: PurchaseReference, account: AccountId): Promise<Linked>;
}

const ifErased =
  <Outcome>(outcome: Outcome) =>
  (error: unknown): Outcome => {
    if (error instanceof ServiceError && error.code === "CUSTOMER_NOT_FOUND") return outcome;
    throw error;
  };

const storedAs = ({ outcome }: { readonly outcome: "stored" | "refused" }): Stored =>
  outcome === "refused" ? "conflict" : "stored";

/** A stored purchase as facts that name its customer, and state nothing new. */
const restated = (purchase: PurchaseReference, known: KnownFacts): VerifiedFacts | null => {
  const stored = known.purchases.get(referenceText(purchase));
  return stored === undefined
    ? null
    : {
        environment: purchase.environment,
        identities: [],
        purchases: [{ purchase: stored.purchase, mentioned: [], identity: null }],
        renewals: [],
        acknowledgementDue: null,
        origin: null,
      };
};

/** Stores and links in the table, by the same use cases as the service. */
export const storingIn = (store: FactStore & AndroidStorePurchases, application: Application): Storing => ({
  appStoreFacts: async (facts) =>
    storeFacts(store, application, facts, null).then(storedAs, ifErased<Stored>("erased")),
  androidPurchase: async (configuration, verified, source) => {
    const { verifiedAt: askedAt } = verified.purchase;
    return storeAndroidStorePurchase(
      { ports: store, application, configuration },
      verified,
      { source, askedAt },
      null,
    ).then(storedAs, ifErased<Stored>("erased"));
  },
  link: async (purchase, account) => {
    const known = await store.table.findFacts(application.identifier, [], [purchase], store.now());
    const facts = restated(purchase, known);
    // It was erased since it was stored.
    if (facts === null) return "erased";
    const claim = { account, assertedBy: "credential", isImported: true } as const;
    return storeFacts(store, application, facts, claim).then(
      ({ outcome }) => (outcome === "refused" ? "elsewhere" : "linked"),
      ifErased<Linked>("erased"),
    );
  },
});

/** Says what {@link storingIn} would do, and writes nothing. */
export const previewOf = (
  table: Pick<CustomerTable, "findFacts" | "findCustomers">,
  application: Application,
  now: () => Instant,
): Storing => {
  const accountsOf = async (facts: Pick<VerifiedFacts, "identities" | "purchases" | "renewals">) => {
    const { identifier } = application;
    const known = await table.findFacts(identifier, facts.identities, statedPurchases(facts), now());
    const owners = [
      ...known.identities.flatMap((identity) => identity?.customer ?? []),
      ...[...known.purchases.values()].map(({ customer }) => customer),
    ];
    const { living } = await table.findCustomers(identifier, owners);
    return {
      isErased: isErased(known),
      accounts: new Set([...living.values()].flatMap(({ link }) => link?.account ?? [])),
    };
  };
  const preview = async (facts: Parameters<typeof accountsOf>[0]): Promise<Stored> => {
    const found = await accountsOf(facts);
    if (found.isErased) return "erased";
    return found.accounts.size > 1 ? "conflict" : "stored";
  };
  return {
    appStoreFacts: preview,
    androidPurchase: async (_, verified) =>
      preview({ identities: [], purchases: [provenPurchaseOf(verified)], renewals: [] }),
    link: async (purchase, account) => {
      const known = await table.findFacts(application.identifier, [], [purchase], now());
      if (isErased(known)) return "erased";
      const facts = restated(purchase, known);
      if (facts === null) return "linked";
      const { accounts } = await accountsOf(facts);
      return [...accounts].every((one) => one === account) ? "linked" : "elsewhere";
    },
  };
};
