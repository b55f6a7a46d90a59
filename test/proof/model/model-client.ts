import type { Application, TransferPolicy } from "../../../lib/applications/application.ts";
import { ServiceError } from "../../../lib/contract/errors.ts";
import type { CustomerEntitlement, Store } from "../../../lib/contract/schemas.ts";
import { customersOf, eachOnce } from "../../../lib/customers/storing/records.ts";
import type { FactStore } from "../../../lib/customers/storing/fact-store.ts";
import {
  storeFacts,
  type LearnOfMentioned,
  type ResolvedCustomer,
} from "../../../lib/customers/storing/store-facts.ts";
import { unknownPredecessor } from "../../../lib/customers/storing/store-android-store-purchase.ts";
import { statedPurchases } from "../../../lib/customers/storing/verified-facts.ts";
import type { CatalogProduct } from "../../../lib/entitlements/catalog.ts";
import { entitlementsAt } from "../../../lib/entitlements/entitlements.ts";
import { accountId, applicationId, customerId } from "../../../lib/identifiers.ts";
import { aCatalog, aProduct, period } from "../../../testing/support/stores/purchases.ts";
import { toReading, toVerifiedFacts } from "./as-verified.ts";
import { lookUpAmong, receptionOf } from "./reception.ts";
import type { ModelRequest } from "./stated-facts.ts";
import { anApplication, inBothStores } from "../../../testing/support/application.ts";
import { createWorld } from "../../../testing/support/world.ts";

const sold = (
  store: Store,
  productIdentifier: string,
  grants: readonly string[],
  more: Partial<CatalogProduct> = {},
): CatalogProduct => aProduct({ store, productIdentifier, grants, ...more });

const lasting = (duration: string) => ({ accessDuration: period(duration) });
const option = (purchaseOptionIdentifier: string, duration: string) => ({
  purchaseOptionIdentifier,
  ...lasting(duration),
});

/** The proofs' products. `coins` are sold in both stores and are not mapped. */
export const CATALOG = aCatalog(
  [
    sold("ios-store", "monthly", ["premium"]),
    sold("ios-store", "yearly", ["premium", "pro"]),
    sold("ios-store", "basic", ["basics"]),
    sold("ios-store", "map", ["maps"]),
    sold("ios-store", "forever", ["premium"]),
    sold("ios-store", "season", ["maps"], lasting("P1M")),
    sold("ios-store", "day", ["pro"], lasting("P1D")),
    sold("android-store", "premium", ["premium", "pro"], { basePlanIdentifier: "yearly" }),
    sold("android-store", "premium", ["premium"]),
    sold("android-store", "basic", ["basics"]),
    sold("android-store", "maps", ["maps"]),
    sold("android-store", "hint", ["pro"], lasting("P2D")),
    sold("android-store", "day", ["premium"], lasting("P1M1D")),
    sold("android-store", "day", ["maps"], option("buy", "P3D")),
    sold("android-store", "day", ["premium", "maps"], option("rent", "P5D")),
    sold("android-store", "film", ["maps"]),
    sold("android-store", "film", ["maps"], option("rent", "P2D")),
  ],
  { premium: "Premium", maps: "Maps" },
);

/** An application that sells the proofs' products in both stores. */
export const modelApplication = (
  identifier: string,
  { transfers, leeway }: { readonly transfers?: TransferPolicy; readonly leeway?: number } = {},
  name = "com.example.trails",
): Application =>
  anApplication({
    identifier: applicationId(identifier),
    catalog: CATALOG,
    ...inBothStores(name),
    ...(transfers !== undefined && { transfers }),
    ...(leeway !== undefined && { renewalLeeway: leeway }),
  });

/** The service's answer to a request, or the code of its refusal. */
export type ServiceAnswer =
  | { readonly outcome: "nobody" }
  | {
      readonly outcome: "stored";
      readonly customer: string;
      /** Customers of the request's other persons. */
      readonly others: readonly string[];
      entitlements(moment: number): CustomerEntitlement[];
    }
  | { readonly outcome: "refused"; readonly code: string };

/** Customer identifiers in the order of creation. */
const countedIdentifiers = () => {
  let made = 0;
  return () => {
    made += 1;
    return customerId(`00000000-0000-7000-8000-${made.toString(16).padStart(12, "0")}`);
  };
};

/** Sends the reference model's requests to one application, at moments that the test chooses. */
export const modelClient = (
  table: Parameters<typeof createWorld>[0],
  application: Application,
  options: Parameters<typeof createWorld>[1] = {},
) => {
  const world = createWorld(table, {
    pause: () => Promise.resolve(),
    newCustomerIdentifier: countedIdentifiers(),
    ...options,
    application,
  });
  const customers = world.factStore.table;
  const storedAs = ({ identifier, holdings, others = [] }: ResolvedCustomer): ServiceAnswer => ({
    outcome: "stored",
    customer: identifier,
    others: others.map((other) => other.identifier),
    entitlements: (moment) =>
      entitlementsAt(
        moment,
        holdings.map((purchase) => ({ customerIdentifier: identifier, assertedBy: null, purchase })),
        application,
      ),
  });
  /** Facts of several customers contradict each other. */
  const ownerOf = async (request: ModelRequest, moment: number): Promise<ServiceAnswer> => {
    const { identities, ...facts } = toVerifiedFacts(request);
    const stated = statedPurchases({ ...facts, renewals: [] });
    const known = await customers.findFacts(application.identifier, identities, stated, moment);
    const { living } = await customers.findCustomers(application.identifier, customersOf(known));
    const [owner, ...others] = eachOnce(living);
    if (owner === undefined) return { outcome: "nobody" };
    return others.length > 0 ? { outcome: "refused", code: "IDENTITY_CONFLICT" } : storedAs(owner);
  };
  /** Learns what a link of one of Google's purchases learns first. */
  const learningFrom = (request: ModelRequest, store: FactStore): LearnOfMentioned | null => {
    const [fact] = request.facts;
    const [configuration] = application.androidStore;
    if (fact?.store !== "android-store" || configuration === undefined) return null;
    const ports = { androidStore: { lookUp: lookUpAmong(request.answers) } };
    return async (known) => {
      const found = await unknownPredecessor({ ports, configuration }, toReading(fact), known);
      if (found === null) return false;
      const facts = request.answers.filter(({ token }) => token === found.purchaseToken);
      await storeFacts(store, application, toVerifiedFacts({ ...request, facts }), null);
      return true;
    };
  };
  return {
    application: application.identifier,
    submit: async (request: ModelRequest, moment: number): Promise<ServiceAnswer> => {
      const claim =
        request.claim === null
          ? null
          : { account: accountId(request.claim.account), assertedBy: request.claim.by };
      try {
        const store = world.at(moment).factStore;
        const facts = toVerifiedFacts(request);
        const stored = await storeFacts(store, application, facts, claim, learningFrom(request, store));
        if (stored.outcome === "refused") return { outcome: "refused", code: stored.code };
        return stored.customer === null ? { outcome: "nobody" } : storedAs(stored.customer);
      } catch (error) {
        if (error instanceof ServiceError) return { outcome: "refused", code: error.code };
        throw error;
      }
    },
    /** Receives a notification by its use case, with the customer that its facts have then. */
    receive: async (notification: ModelRequest, moment: number) => {
      const receive = receptionOf(world.at(moment).factStore, world.directory, application);
      const received = await receive(notification);
      return { ...received, answer: await ownerOf(notification, moment) };
    },
    /** An operator's unlinking; false when the customer has no link. */
    unlink: async (customer: string, moment: number): Promise<boolean> => {
      const done = await world.at(moment).unlink({ identifier: customerId(customer) });
      return done?.outcome === "unlinked";
    },
    account: async (account: string, moment: number) => {
      const answer = await world.at(moment).read(account);
      return { customers: answer.customerIdentifiers, entitlements: answer.entitlements };
    },
  };
};
export type ModelClient = ReturnType<typeof modelClient>;
