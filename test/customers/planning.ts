import type {
  KnownFacts,
  Link,
  StoredCustomer,
  StoredPurchase,
} from "../../lib/customers/storing/records.ts";
import {
  planCustomerChange,
  type Merge,
  type Plan,
  type PlanState,
} from "../../lib/customers/storing/plan-customer-change.ts";
import { referenceText, type Purchase } from "../../lib/entitlements/purchase.ts";
import { accountId, customerId } from "../../lib/identifiers.ts";
import { anApplication } from "../../testing/support/application.ts";
import { aCatalog, aLine, aPurchase, DAY, NOW } from "../../testing/support/stores/purchases.ts";

export const OLD = customerId("old");
const LINK: Link = { account: accountId("user-1"), assertedBy: "credential", linkedAt: NOW - DAY };

/** A purchase as {@link OLD}'s, in its third revision. */
export const stored = (purchase: Purchase, changes: Partial<StoredPurchase> = {}): StoredPurchase => ({
  purchase,
  revision: 3,
  customer: OLD,
  acknowledgement: null,
  ask: null,
  bundleOrPackage: null,
  ...changes,
});

/** {@link OLD}, linked a day ago, with no purchase left. */
export const aCustomer = (changes: Partial<StoredCustomer> = {}): StoredCustomer => ({
  identifier: OLD,
  environment: "production",
  createdAt: NOW - DAY,
  version: 7,
  link: LINK,
  holdings: [],
  hasPurchased: true,
  absorbed: [],
  unsettled: false,
  aliasOf: null,
  survivorVersion: 0,
  ...changes,
});

/** Stored facts: these purchases, and nothing erased. */
export const knownFacts = (purchases: readonly StoredPurchase[]): KnownFacts => ({
  erasedPurchases: new Set(),
  erasedIdentity: false,
  identities: [],
  purchases: new Map(purchases.map((one) => [referenceText(one.purchase), one])),
});

export type Given = Omit<Partial<Merge>, "purchases"> & {
  /** The request's facts; `{}`: none. */
  readonly facts?: Partial<Pick<Merge, "purchases"> & PlanState["facts"]>;
  readonly known?: readonly StoredPurchase[];
};

/** The plan for a request at {@link NOW}; its identities are new. */
export const plan = ({
  facts: given = {},
  known = [],
  identities = [],
  survivor = null,
  ...others
}: Given): Plan => {
  const { purchases = [], ...facts } = given;
  const state: PlanState = {
    application: anApplication({ catalog: aCatalog() }),
    facts: { environment: "production", acknowledgementDue: null, origin: null, ...facts },
    known: { ...knownFacts(known), identities: identities.map(() => null) },
    moment: NOW,
  };
  return planCustomerChange(state, {
    identities,
    purchases,
    survivor,
    absorbed: [],
    link: survivor?.link ?? null,
    identifier: survivor?.identifier ?? customerId("new"),
    liftsErasures: false,
    ...others,
  });
};

/** The store's answer about an active Android subscription. */
export const android = (purchase: Parameters<typeof aPurchase>[0] = {}): Purchase =>
  aPurchase({
    store: "android-store",
    lines: [aLine({ transactionIdentifier: null, verifiedAt: NOW })],
    ...purchase,
  });
