import type { Catalog } from "../entitlements/catalog.ts";
import { heldAlike, holdingsOf, sameHoldings } from "../entitlements/holdings.ts";
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
import type { Link, StoredCustomer } from "../table/records.ts";
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

const byReference = (purchases: Iterable<Purchase>): Map<string, Purchase> =>
  new Map([...purchases].map((purchase) => [referenceText(purchase), purchase]));

/** What a request comes to: the customer as it shall be, and what has to be written; null where nothing has. */
export interface Plan {
  readonly customer: Omit<StoredCustomer, "version" | "aliasOf">;
  /** Since when the evidence's acknowledgement is due; null where none is. */
  readonly acknowledgementDueSince: Instant | null;
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
  /** The customer's: the survivor's, or a new one. */
  readonly identifier: CustomerId;
  readonly moment: Instant;
}): Plan => {
  const { application, catalog, evidence, known, survivor, absorbed, link, identifier, moment } = given;

  const due = evidence.acknowledgementDue;
  const purchases = joinAll(evidence.purchases).map((proven) => {
    const reference = referenceText(proven);
    const stored = known.purchases.get(reference);
    const purchase = withEvidence(stored?.purchase, proven);
    const dueSince = stored?.acknowledgementDueSince ?? null;
    const acknowledgementDueSince =
      due !== null && referenceText(due.purchase) === reference
        ? (dueSince ?? moment)
        : proven.verifiedAt > 0
          ? null
          : dueSince;
    const changed =
      stored === undefined ||
      !samePurchase(stored.purchase, purchase) ||
      stored.acknowledgementDueSince !== acknowledgementDueSince;
    return {
      reference,
      changed,
      dueBefore: dueSince,
      stored: {
        purchase,
        revision: stored?.revision ?? 0,
        acknowledgementDueSince,
        customer: stored?.customer ?? identifier,
      },
    };
  });

  const before = byReference([survivor, ...absorbed].flatMap((customer) => customer?.holdings ?? []));
  const holdings = holdingsOf(
    new Map([
      ...before,
      ...purchases.map(({ reference, stored }) => [reference, stored.purchase] as const),
    ]).values(),
    catalog,
  );
  const after = byReference(holdings);

  const customer = {
    identifier,
    createdAt: survivor?.createdAt ?? moment,
    link,
    holdings,
    hasPurchased:
      evidence.purchases.length > 0 ||
      [survivor, ...absorbed].some((customer) => customer?.hasPurchased === true),
  };
  const identities = evidence.identities.filter((_, index) => known.identities[index] === null);
  // What is held is replaced only together with the purchase it is taken from, whose revision proves that it is current.
  const written = purchases
    .filter(({ changed, reference }) => changed || !heldAlike(before.get(reference), after.get(reference)))
    .map(({ stored }) => stored);
  const acknowledgements = {
    due:
      due === null
        ? []
        : purchases
            .filter(({ dueBefore }) => dueBefore === null)
            .map(({ stored }) => stored.acknowledgementDueSince)
            .filter((since) => since !== null)
            .map((dueSince) => ({ ...due, application, dueSince })),
    done: purchases.flatMap(({ dueBefore, stored: { purchase, acknowledgementDueSince } }) =>
      dueBefore !== null && acknowledgementDueSince === null ? [{ purchase, dueSince: dueBefore }] : [],
    ),
  };
  const unchanged =
    survivor !== null &&
    absorbed.length === 0 &&
    identities.length === 0 &&
    written.length === 0 &&
    survivor.hasPurchased === customer.hasPurchased &&
    sameLink(survivor.link, link) &&
    sameHoldings(survivor.holdings, holdings);
  return {
    customer,
    acknowledgementDueSince:
      purchases.find(({ reference }) => due !== null && reference === referenceText(due.purchase))?.stored
        .acknowledgementDueSince ?? null,
    change: unchanged
      ? null
      : {
          application,
          before: survivor,
          after: customer,
          heldMeanwhile: holdingsOf(before.values(), catalog),
          absorbed,
          identities,
          purchases: written,
          acknowledgements,
          moment,
        },
  };
};
