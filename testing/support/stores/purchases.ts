import type { Line, Purchase, ProvenPurchase } from "../../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../../lib/entitlements/renewal.ts";
import { catalogOf, type Catalog, type CatalogProduct } from "../../../lib/entitlements/catalog.ts";
import { entitlementsAt as entitlementsByTerms } from "../../../lib/entitlements/entitlements.ts";
import type { Holding } from "../../../lib/entitlements/timeline.ts";
import { parsePeriod, type Instant, type Period } from "../../../lib/entitlements/time.ts";
import { purchaseKey, accountId, customerId } from "../../../lib/identifiers.ts";
import type { PendingAcknowledgement } from "../../../lib/stores/android-store/reading.ts";
import type { ReportedCustomer } from "../../../lib/administration/reports/account-report.ts";

export const DAY = 86_400_000;
/** The current moment of the tests. */
export const NOW: Instant = Date.UTC(2026, 5, 15, 12);

export const period = (text: string): Period => {
  const parsed = parsePeriod(text);
  if (parsed === null) throw new Error(`${text} is not a period`);
  return parsed;
};

/** A line of an active monthly subscription. */
export const aLine = (line: Partial<Line> = {}): Line => ({
  transactionIdentifier: "1",
  // Each transaction id is an event of its own unless a test says otherwise.
  event: line.transactionIdentifier === null ? null : `event ${line.transactionIdentifier ?? "1"}`,
  productIdentifier: "monthly",
  basePlanIdentifier: null,
  purchaseOptionIdentifier: null,
  nature: "auto_renewable",
  standing: "entitled",
  startsAt: NOW - 10 * DAY,
  purchasedAt: line.startsAt ?? null,
  endsAt: NOW + 20 * DAY,
  revokedAt: null,
  revokedSince: line.revokedAt ?? null,
  quantity: 1,
  refundedQuantity: 0,
  rented: false,
  willRenew: null,
  verifiedAt: NOW - 1000,
  ...line,
});

export const aPurchase = ({
  key,
  ...purchase
}: Partial<Omit<Purchase, "key">> & { key?: string } = {}): Purchase => {
  const lines = purchase.lines ?? [aLine()];
  return {
    store: "ios-store",
    environment: "production",
    key: purchaseKey(key ?? "1"),
    selectedProducts: null,
    replacedBy: null,
    replacedAt: null,
    renewal: null,
    verifiedAt: Math.max(0, ...lines.map((line) => line.verifiedAt)),
    ...purchase,
    lines,
  };
};

/** A renewal info of {@link aLine}'s period: it renews. */
export const aRenewal = (renewal: Partial<Renewal> = {}): Renewal => ({
  periodEndsAt: NOW + 20 * DAY,
  willRenew: true,
  renewsInto: "monthly",
  graceEndsAt: null,
  isInBillingRetry: false,
  expirationIntent: null,
  signedAt: NOW - 1000,
  status: null,
  ...renewal,
});

/** A purchase as a store has proven it. */
export const proven = (
  purchase: Purchase,
  { mentioned = [], identity = null }: Partial<Omit<ProvenPurchase, "purchase">> = {},
): ProvenPurchase => ({ purchase, mentioned, identity });

/** The pending acknowledgement of an Android subscription. */
export const anAcknowledgement = (purchase: Purchase): PendingAcknowledgement => ({
  purchase,
  packageName: "com.example.trails",
  purchaseToken: "the-token",
  productKind: "subscription",
  productIdentifier: "monthly",
  deadline: NOW + 3 * DAY,
});

export const aProduct = (product: Partial<CatalogProduct> = {}): CatalogProduct => ({
  store: "ios-store",
  productIdentifier: "monthly",
  basePlanIdentifier: null,
  purchaseOptionIdentifier: null,
  grants: ["premium"],
  accessDuration: null,
  ...product,
});

export const aCatalog = (
  products: readonly CatalogProduct[] = [aProduct()],
  displayNames: Readonly<Record<string, string>> = { premium: "Premium" },
): Catalog => catalogOf(new Map(Object.entries(displayNames)), products);

/** The entitlements by a catalog, without a renewal leeway unless a test gives one. */
export const entitlementsAt = (
  moment: Instant,
  holdings: readonly Holding[],
  catalog: Catalog,
  renewalLeeway = 0,
) => entitlementsByTerms(moment, holdings, { catalog, renewalLeeway });

/** A customer of an operator's report, whom a client has claimed. */
export const aReportedCustomer = (
  purchases: readonly Purchase[],
  changes: Partial<ReportedCustomer> = {},
): ReportedCustomer => ({
  customerIdentifier: customerId("0198c0de-0000-7000-8000-0000000000cc"),
  link: { account: accountId("user-1"), assertedBy: "client", linkedAt: NOW },
  createdAt: NOW,
  aliases: [],
  identities: [],
  purchases,
  asking: new Map(),
  ...changes,
});
