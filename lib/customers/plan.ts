import type { Catalog } from "../entitlements/catalog.ts";
import { holdingsOf } from "../entitlements/holdings.ts";
import {
  joinAll,
  joinPurchases,
  referenceText,
  samePurchase,
  verifiedAs,
  type Purchase,
} from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import type { CustomerChange } from "../table/customer-change.ts";
import type { KnownFacts } from "../table/customers.ts";
import type { Link, StoredCustomer, StoredPurchase } from "../table/records.ts";
import type { Evidence } from "./evidence.ts";

/**
 * A store's answer that says again what is stored is a replay when it comes this soon: asking twice writes once, and
 * "last verified" is never shown more than this much too old.
 */
export const SAME_ANSWER_MILLISECONDS = 60_000;

const withEvidence = (stored: Purchase | undefined, evidence: Purchase): Purchase => {
  if (stored === undefined) return evidence;
  const joined = joinPurchases(stored, evidence);
  const age = joined.verifiedAt - stored.verifiedAt;
  const saysTheSame =
    stored.store === "android-store" &&
    age < SAME_ANSWER_MILLISECONDS &&
    samePurchase(verifiedAs(joined, 0), verifiedAs(stored, 0));
  return saysTheSame ? stored : joined;
};

const sameLink = (a: Link | null, b: Link | null): boolean =>
  a?.account === b?.account && a?.assertedBy === b?.assertedBy && a?.linkedAt === b?.linkedAt;

const sameHoldings = (a: readonly Purchase[], b: readonly Purchase[]): boolean =>
  a.length === b.length &&
  a.every((purchase, index) => b[index] !== undefined && sameLines(purchase, b[index]));

/** Of a held purchase only its lines are stored. */
const sameLines = (a: Purchase, b: Purchase): boolean => {
  const onlyLines = { selectedProducts: null, replacedBy: null, verifiedAt: 0 } as const;
  return samePurchase({ ...a, ...onlyLines }, { ...b, ...onlyLines });
};

/** What a request comes to: the customer as it shall be, and what has to be written; null where nothing has. */
export interface Plan {
  readonly customer: Omit<StoredCustomer, "version" | "aliasOf">;
  readonly change: CustomerChange | null;
}

/**
 * Joins the evidence with what is stored, and says what has to be written. Pure: the same state and evidence give the
 * same plan, and a plan that is applied leaves nothing to plan.
 */
export const planChange = (given: {
  readonly application: ApplicationId;
  readonly catalog: Catalog;
  readonly evidence: Evidence;
  readonly known: KnownFacts;
  readonly survivor: StoredCustomer | null;
  readonly absorbed: readonly StoredCustomer[];
  readonly link: Link | null;
  /** The identifier of the customer if it is new. */
  readonly newIdentifier: CustomerId;
  readonly moment: Instant;
}): Plan => {
  const { application, catalog, evidence, known, survivor, absorbed, link, newIdentifier, moment } = given;

  const due = evidence.acknowledgementDue;
  const purchases = joinAll(evidence.purchases).map((proven) => {
    const stored = known.purchases.get(referenceText(proven));
    const purchase = withEvidence(stored?.purchase, proven);
    const dueSince = stored?.acknowledgementDueSince ?? null;
    const acknowledgementDueSince =
      due !== null && referenceText(due) === referenceText(purchase)
        ? (dueSince ?? moment)
        : proven.verifiedAt > 0
          ? null
          : dueSince;
    const next: StoredPurchase = { purchase, acknowledgementDueSince, customer: newIdentifier };
    const changed =
      stored === undefined ||
      !samePurchase(stored.purchase, purchase) ||
      stored.acknowledgementDueSince !== acknowledgementDueSince;
    return { next, isNew: stored === undefined, changed };
  });

  const held = new Map(
    [survivor, ...absorbed].flatMap((customer) =>
      (customer?.holdings ?? []).map((purchase) => [referenceText(purchase), purchase]),
    ),
  );
  for (const { next } of purchases) held.set(referenceText(next.purchase), next.purchase);
  const holdings = holdingsOf(held.values(), catalog);

  const customer = {
    identifier: survivor?.identifier ?? newIdentifier,
    createdAt: survivor?.createdAt ?? moment,
    link,
    holdings,
  };
  const identities = evidence.identities.filter((_, index) => known.identities[index] === null);
  const changed = purchases.filter((purchase) => purchase.changed);
  const unchanged =
    survivor !== null &&
    absorbed.length === 0 &&
    identities.length === 0 &&
    changed.length === 0 &&
    sameLink(survivor.link, link) &&
    sameHoldings(survivor.holdings, holdings);
  return {
    customer,
    change: unchanged
      ? null
      : {
          application,
          before: survivor,
          after: customer,
          absorbed,
          identities,
          purchases: changed.map(({ next, isNew }) => ({ stored: next, isNew })),
        },
  };
};
