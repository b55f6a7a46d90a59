import { v7 as uuid } from "uuid";
import { unlinkCustomer } from "../../lib/administration/operations.ts";
import type { Application } from "../../lib/applications/application.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import type { FactStore } from "../../lib/customers/fact-store.ts";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import { storeFacts } from "../../lib/customers/store-facts.ts";
import type { VerifiedFacts } from "../../lib/customers/verified-facts.ts";
import { catalogOf, type Catalog } from "../../lib/entitlements/catalog.ts";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import type { ProvenPurchase } from "../../lib/entitlements/proven-purchase.ts";
import { renewedPurchase, type Nature, type Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import {
  accountId,
  applicationId,
  customerId,
  purchaseKey,
  type ApplicationId,
} from "../../lib/identifiers.ts";
import { readOneTimeProduct } from "../../lib/stores/android-store/one-time-product.ts";
import { provenPurchaseOf } from "../../lib/stores/android-store/reading.ts";
import { readSubscription } from "../../lib/stores/android-store/subscription.ts";
import { purchasesOf } from "../../lib/stores/ios-store/purchases.ts";
import type { Transaction } from "../../lib/stores/ios-store/transaction.ts";
import { bury } from "../../lib/table/burial.ts";
import { createCustomerTable } from "../../lib/table/customers.ts";
import type { Table } from "../../lib/table/table.ts";
import { writeCustomerChange } from "../../lib/table/write-customer-change.ts";
import { operationsOn } from "../../operator/composition.ts";
import { DAY } from "../support/purchases.ts";
import type {
  AndroidFact,
  Fact,
  IosFact,
  IosRenewal,
  ModelCatalog,
  ModelProduct,
  ModelRequest,
  ModelTerms,
} from "../support/reference-model.ts";

const sold = (
  store: ModelProduct["store"],
  product: string,
  grants: readonly string[],
  more: Partial<ModelProduct> = {},
): ModelProduct => ({ store, product, basePlan: null, purchaseOption: null, grants, access: null, ...more });

/** The proofs' products. `coins` are sold in both stores and are not mapped. */
export const CATALOG: ModelCatalog = {
  names: { premium: "Premium", maps: "Maps" },
  products: [
    sold("ios-store", "monthly", ["premium"]),
    sold("ios-store", "yearly", ["premium", "pro"]),
    sold("ios-store", "basic", ["basics"]),
    sold("ios-store", "map", ["maps"]),
    sold("ios-store", "forever", ["premium"]),
    sold("ios-store", "season", ["maps"], { access: { months: 1, days: 0 } }),
    sold("ios-store", "day", ["pro"], { access: { months: 0, days: 1 } }),
    sold("android-store", "premium", ["premium", "pro"], { basePlan: "yearly" }),
    sold("android-store", "premium", ["premium"]),
    sold("android-store", "basic", ["basics"]),
    sold("android-store", "maps", ["maps"]),
    sold("android-store", "hint", ["pro"], { access: { months: 0, days: 2 } }),
    sold("android-store", "day", ["premium"], { access: { months: 1, days: 1 } }),
    sold("android-store", "film", ["maps"]),
    sold("android-store", "film", ["maps"], { purchaseOption: "rent", access: { months: 0, days: 2 } }),
  ],
};

export const toCatalog = ({ names, products }: ModelCatalog): Catalog =>
  catalogOf(
    new Map(Object.entries(names)),
    products.map(({ store, product, basePlan, purchaseOption, grants, access }) => ({
      store,
      productIdentifier: product,
      basePlanIdentifier: basePlan,
      purchaseOptionIdentifier: purchaseOption,
      grants,
      accessDuration: access === null ? null : { months: access.months, milliseconds: access.days * DAY },
    })),
  );

export const anApplication = (
  identifier: string,
  transfers: ModelTerms["transfers"] = "refuse",
  renewalLeeway = 0,
): Application => ({
  identifier: applicationId(identifier),
  name: "Trails",
  iosStore: [],
  androidStore: [],
  catalog: toCatalog(CATALOG),
  transfers,
  renewalLeeway,
});

const NATURES: Record<IosFact["type"], Nature> = {
  subscription: "auto_renewable",
  "non-renewing": "non_renewing",
  "non-consumable": "non_consumable",
  consumable: "consumable",
};

/** The fact as the service's verified transaction. */
export const toTransaction = (
  fact: IosFact,
  { bundle = "com.example.trails" }: { bundle?: string } = {},
): Transaction => ({
  transactionIdentifier: fact.transaction,
  originalTransactionIdentifier: fact.original,
  productIdentifier: fact.product,
  bundleIdentifier: bundle,
  appTransactionIdentifier: fact.appTransaction,
  previousOriginalTransactionIdentifier: fact.previous,
  subscriptionGroupIdentifier: fact.group,
  webOrderLineItemIdentifier: fact.webOrder,
  nature: NATURES[fact.type],
  purchasedAt: fact.start,
  originalPurchasedAt: fact.originalStart,
  expiresAt: fact.end,
  quantity: fact.quantity,
  revokedAt: fact.revokedAt,
  revokedMilliPercent: fact.revokedShare,
  isUpgraded: fact.upgraded,
  environment: fact.environment,
  signedAt: fact.signedAt,
  xcodeCertificate: fact.certificate,
});

/** The fact as Google's answer. */
const toAnswer = (fact: AndroidFact): unknown =>
  fact.kind === "subscription"
    ? {
        subscriptionState: `SUBSCRIPTION_STATE_${fact.state}`,
        startTime: fact.start === null ? undefined : isoTime(fact.start),
        lineItems: fact.lines.map(({ product, basePlan, expiry, paid, renews, leaves }) => ({
          productId: product,
          expiryTime: isoTime(expiry),
          ...(paid && { latestSuccessfulOrderId: "GPA.1" }),
          ...(basePlan !== null && { offerDetails: { basePlanId: basePlan } }),
          autoRenewingPlan: { autoRenewEnabled: renews },
          ...(leaves === "replaced" && { deferredItemReplacement: { productId: "another" } }),
          ...(leaves === "removed" && { deferredItemRemoval: {} }),
        })),
        ...(fact.replaces !== null && { linkedPurchaseToken: fact.replaces }),
        ...(fact.expired !== null && { outOfAppPurchaseContext: { expiredPurchaseToken: fact.expired } }),
        ...(fact.obfuscated !== null && {
          externalAccountIdentifiers: { obfuscatedExternalAccountId: fact.obfuscated },
        }),
        ...(fact.environment === "sandbox" && { testPurchase: {} }),
      }
    : {
        purchaseStateContext: { purchaseState: fact.state },
        ...(fact.completedAt !== null && { purchaseCompletionTime: isoTime(fact.completedAt) }),
        productLineItem: fact.products.map(
          ({ product, purchaseOption, rented, consumed, quantity, unrefunded }) => ({
            productId: product,
            productOfferDetails: {
              ...(purchaseOption !== null && { purchaseOptionId: purchaseOption }),
              ...(rented && { rentOfferDetails: {} }),
              quantity,
              ...(unrefunded !== null && { refundableQuantity: unrefunded }),
              consumptionState: consumed
                ? "CONSUMPTION_STATE_CONSUMED"
                : "CONSUMPTION_STATE_YET_TO_BE_CONSUMED",
            },
          }),
        ),
        ...(fact.obfuscated !== null && { obfuscatedExternalAccountId: fact.obfuscated }),
        ...(fact.environment === "sandbox" && { testPurchaseContext: {} }),
      };

/** Google's answer as the service reads it. */
export const toReading = (fact: AndroidFact) => {
  const reading = (fact.kind === "subscription" ? readSubscription : readOneTimeProduct)(toAnswer(fact), {
    packageName: "com.example.trails",
    purchaseToken: fact.token,
    productIdentifier: fact.kind === "one-time" ? fact.asked : null,
    answeredAt: fact.answeredAt,
  });
  if (reading === null || reading === "product-not-in-purchase")
    throw new Error("The answer cannot be read.");
  return reading;
};

/** The facts as the service's proven purchases. */
export const toPurchases = (facts: readonly Fact[]): ProvenPurchase[] => [
  ...purchasesOf(facts.flatMap((fact) => (fact.store === "ios-store" ? [toTransaction(fact)] : []))),
  ...facts.flatMap((fact) => (fact.store === "android-store" ? [provenPurchaseOf(toReading(fact))] : [])),
];

/** The renewal info as a fact of its lineage. */
export const toRenewal = ({ environment, lineage, ...info }: IosRenewal): Purchase =>
  renewedPurchase(
    { store: "ios-store", environment, key: purchaseKey(lineage) },
    {
      periodEndsAt: info.renewalDate,
      willRenew: info.renews,
      renewsInto: null,
      graceEndsAt: info.graceEnd,
      isInBillingRetry: info.inRetry,
      expirationIntent: null,
      signedAt: info.signedAt,
    },
  );

const toVerifiedFacts = ({ environment, appTransaction, facts, renewals }: ModelRequest): VerifiedFacts => {
  const named = [
    appTransaction,
    ...facts.map((fact) => (fact.store === "ios-store" ? fact.appTransaction : null)),
  ];
  const value = named.find((identifier) => identifier !== null);
  return {
    environment,
    identities:
      value == null || environment === "xcode"
        ? []
        : [{ store: "ios-store", kind: "app-transaction", environment, value }],
    purchases: toPurchases(facts),
    renewals: renewals.map(toRenewal),
    acknowledgementDue: null,
  };
};

/** The service's answer to a request, or the code of its refusal. */
export type WorldAnswer =
  | { readonly outcome: "nobody" }
  | {
      readonly outcome: "stored";
      readonly customer: string;
      entitlements(moment: number): CustomerEntitlement[];
    }
  | { readonly outcome: "refused"; readonly code: string };

/** One application on a table, at moments that the test chooses. */
export interface World {
  readonly application: ApplicationId;
  submit(request: ModelRequest, moment: number): Promise<WorldAnswer>;
  /** An operator's unlinking; false when the customer has no link. */
  unlink(customer: string, moment: number): Promise<boolean>;
  account(
    account: string,
    moment: number,
  ): Promise<{ readonly customers: readonly string[]; readonly entitlements: CustomerEntitlement[] }>;
}

/** Customer identifiers in the order of creation. */
export const countedIdentifiers = () => {
  let made = 0;
  return () => {
    made += 1;
    return customerId(`00000000-0000-7000-8000-${made.toString(16).padStart(12, "0")}`);
  };
};

export const aWorld = (
  table: Table,
  application: Application,
  {
    pause = () => Promise.resolve(),
    newCustomerIdentifier = countedIdentifiers(),
    claimsPerAccount = 20,
  }: Partial<Pick<FactStore, "pause" | "newCustomerIdentifier" | "claimsPerAccount">> = {},
): World => {
  const customers = createCustomerTable(table, pause);
  return {
    application: application.identifier,
    submit: async (request, moment) => {
      const store: FactStore = {
        table: customers,
        write: (change) => writeCustomerChange(table, change),
        bury: (...remains) => bury(table, ...remains),
        newCustomerIdentifier,
        pause,
        now: () => moment,
        claimsPerAccount,
      };
      const claim =
        request.claim === null
          ? null
          : { account: accountId(request.claim.account), assertedBy: request.claim.by };
      try {
        const stored = await storeFacts(store, application, toVerifiedFacts(request), claim);
        if (stored.outcome === "refused") return { outcome: "refused", code: stored.code };
        const { customer } = stored;
        if (customer === null) return { outcome: "nobody" };
        const holdings = customer.holdings.map((purchase) => ({
          customerIdentifier: customer.identifier,
          assertedBy: null,
          purchase,
        }));
        return {
          outcome: "stored",
          customer: customer.identifier,
          entitlements: (moment) => entitlementsAt(moment, holdings, application),
        };
      } catch (error) {
        if (error instanceof ServiceError) return { outcome: "refused", code: error.code };
        throw error;
      }
    },
    unlink: async (customer, moment) => {
      const done = await unlinkCustomer(
        operationsOn(table, {
          now: () => moment,
          pause,
          waitForIndex: () => Promise.resolve(),
          newEntry: uuid,
        }),
        application.identifier,
        customerId(customer),
        { by: "an operator", reason: "a proof" },
      );
      return done?.outcome === "unlinked";
    },
    account: async (account, moment) => {
      const answer = await readAccountEntitlements(
        {
          directory: {
            byIdentifier: () => Promise.resolve(application),
            byBundle: () => Promise.resolve(application),
            byPackage: () => Promise.resolve(application),
          },
          table: customers,
          now: () => moment,
        },
        application.identifier,
        accountId(account),
      );
      return { customers: answer.customerIdentifiers, entitlements: answer.entitlements };
    },
  };
};
