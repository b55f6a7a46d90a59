import type { CustomerEntitlement } from "../contract/schemas.ts";
import { compare } from "../order.ts";
import { grantsAsOf, bestGrants, type Terms, type Grant } from "./grants.ts";
import type { Holding } from "./holding.ts";
import { momentAt, type Moment } from "./moment.ts";
import { productKindOf } from "./purchase.ts";
import { isoTime, type Instant } from "./time.ts";

const nullableTime = (instant: Instant | null): string | null => (instant === null ? null : isoTime(instant));

const present = (identifier: string, displayName: string | undefined, grant: Grant): CustomerEntitlement => {
  const { holding, line, status, active, startsAt, expiresAt } = grant;
  return {
    identifier,
    displayName: displayName ?? identifier,
    productIdentifier: line.productIdentifier,
    environment: holding.purchase.environment,
    status,
    active,
    startsAt: nullableTime(startsAt),
    expiresAt: nullableTime(expiresAt),
    revokedAt: nullableTime(status === "revoked" ? line.revokedAt : null),
    lastVerifiedAt: isoTime(line.verifiedAt),
    store: holding.purchase.store,
    productKind: productKindOf(line.nature),
    customerIdentifier: holding.customerIdentifier,
    willRenew: line.willRenew,
  };
};

/** Like {@link entitlementsAt}, but records in the moment which instants the answer depends on. */
export const entitlementsAsOf = (
  moment: Moment,
  holdings: readonly Holding[],
  terms: Terms,
): CustomerEntitlement[] =>
  [...bestGrants(grantsAsOf(moment, holdings, terms))]
    .sort(([a], [b]) => compare(a, b))
    .map(([identifier, grant]) => present(identifier, terms.catalog.displayNames.get(identifier), grant));

/**
 * Entitlements of the holdings at a moment, sorted by identifier: one entry for each entitlement that a purchase grants
 * or granted, with its best grant. Pure: the same arguments give the same bytes.
 */
export const entitlementsAt = (
  moment: Instant,
  holdings: readonly Holding[],
  terms: Terms,
): CustomerEntitlement[] => entitlementsAsOf(momentAt(moment), holdings, terms);
