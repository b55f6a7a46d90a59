import { catalogOf } from "../../../entitlements/catalog.ts";
import { entitlementsAt } from "../../../entitlements/entitlements.ts";
import { joinAll } from "../../../entitlements/join.ts";
import type { Purchase } from "../../../entitlements/purchase.ts";
import type { Instant } from "../../../entitlements/time.ts";
import type { Terms } from "../../../entitlements/timeline.ts";
import { customerId } from "../../../identifiers.ts";

/** States of a purchase by its store. The journal names them. */
export const STATES = [
  /** Nobody has asked yet, or the answer could not be used. */
  "unasked",
  "active",
  "grace",
  "retry",
  "paused",
  "ended",
  "refunded",
  "pending",
  "dropped",
  "unknown",
  "unconfigured",
  /** It is of an environment that the run or the manifest leaves out. */
  "excluded",
  "unverified",
] as const;
export type State = (typeof STATES)[number];

const BY_STATUS = {
  active: "active",
  grace_period: "grace",
  billing_retry: "retry",
  paused: "paused",
  expired: "ended",
  revoked: "refunded",
} as const satisfies Record<string, State>;

export const givesAccess = (state: State): boolean => state === "active" || state === "grace";

export interface Verdict {
  readonly state: State;
  /** Whether the catalog maps any of its products. */
  readonly isMapped: boolean;
}

/** Terms under which every product of the purchases grants one entitlement, mapped or not. */
const mappingAll = (purchases: readonly Purchase[], { catalog, renewalLeeway }: Terms): Terms => {
  const products = purchases.flatMap(({ store, lines }) =>
    lines.map((line) => ({
      basePlanIdentifier: null,
      purchaseOptionIdentifier: null,
      accessDuration: null,
      ...catalog.productOf(store, line),
      store,
      productIdentifier: line.productIdentifier,
      grants: ["access"],
    })),
  );
  return { renewalLeeway, catalog: catalogOf(new Map(), products) };
};

/** A purchase as its facts tell, by the same rules as the service's answers. */
export const verdictOf = (facts: readonly Purchase[], terms: Terms, moment: Instant): Verdict => {
  const purchases = joinAll(facts);
  const isMapped = purchases.some(({ store, lines }) =>
    lines.some((line) => terms.catalog.productOf(store, line) !== undefined),
  );
  const holdings = purchases.map((purchase) => ({
    customerIdentifier: customerId(""),
    assertedBy: null,
    purchase,
  }));
  const [entitlement] = entitlementsAt(moment, holdings, mappingAll(purchases, terms));
  return { state: entitlement === undefined ? "pending" : BY_STATUS[entitlement.status], isMapped };
};
