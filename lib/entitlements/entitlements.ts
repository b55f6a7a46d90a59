import type { CustomerEntitlement, Environment, Status } from "../contract/schemas.ts";
import type { CustomerId } from "../identifiers.ts";
import type { Catalog, CatalogProduct } from "./catalog.ts";
import { lineOrder, productKindOf, type Line, type Purchase } from "./purchase.ts";
import { isoTime, plusPeriod, type Instant } from "./time.ts";

/** A purchase and the customer who has it. */
export interface Holding {
  readonly customerIdentifier: CustomerId;
  readonly purchase: Purchase;
}

/** One line of one purchase, as it stands at a moment. */
export interface Grant {
  readonly holding: Holding;
  readonly line: Line;
  readonly product: CatalogProduct;
  readonly status: Status;
  readonly active: boolean;
  readonly expiresAt: Instant | null;
}

const ENVIRONMENT_RANK: Record<Environment, number> = { production: 0, sandbox: 1, xcode: 2 };

/** The lines that a purchase gives at all: nothing once it is replaced; of a one-time purchase those asked for. */
export const grantingLines = ({ lines, selectedProducts, replacedBy }: Purchase): readonly Line[] => {
  if (replacedBy !== null) return [];
  if (selectedProducts === null) return lines;
  return lines.filter((line) => selectedProducts.includes(line.productIdentifier));
};

/**
 * In an iOS lineage one subscription line follows another: each ends where the next one starts, whatever it was first
 * promised. Android's answer states every line's own end.
 */
const inSuccession = (purchase: Purchase): readonly Line[] => {
  const lines = grantingLines(purchase);
  if (purchase.store !== "ios-store") return lines;
  const sorted = [...lines].sort(lineOrder);
  return sorted.map((line, index) => {
    const next = sorted[index + 1];
    if (line.nature !== "auto_renewable" || next?.startsAt == null || line.endsAt === null) return line;
    return { ...line, endsAt: Math.min(line.endsAt, next.startsAt) };
  });
};

const endOf = (line: Line, product: CatalogProduct): Instant | null => {
  if (line.endsAt !== null || line.nature === "auto_renewable" || product.accessDuration === null)
    return line.endsAt;
  return plusPeriod(line.startsAt ?? line.verifiedAt, product.accessDuration);
};

/** Access is half-open: it is there at its start and gone at its end. Ends are final before standings are asked. */
const statusAt = (moment: Instant, line: Line, expiresAt: Instant | null): Status => {
  if (line.standing === "revoked" || (line.revokedAt !== null && line.revokedAt <= moment)) return "revoked";
  switch (line.standing) {
    case "expired":
    case "paused":
    case "billing_retry":
      return line.standing;
    case "grace_period":
    case "entitled":
      if (expiresAt !== null && expiresAt <= moment) return "expired";
      return line.standing === "entitled" ? "active" : "grace_period";
  }
};

/** Every grant of the holdings that has begun at the moment, mapped or not being decided by the catalog. */
export const grantsAt = (moment: Instant, holdings: Iterable<Holding>, catalog: Catalog): Grant[] => {
  const grants: Grant[] = [];
  for (const holding of holdings) {
    const { purchase } = holding;
    for (const line of inSuccession(purchase)) {
      if (line.startsAt !== null && line.startsAt > moment) continue;
      const product = catalog.productOf(purchase.store, line.productIdentifier, line.basePlanIdentifier);
      if (product === undefined) continue;
      const expiresAt = endOf(line, product);
      const status = statusAt(moment, line, expiresAt);
      const active = status === "active" || status === "grace_period";
      grants.push({ holding, line, product, status, active, expiresAt });
    }
  }
  return grants;
};

const compare = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Negative where `a` is to be shown before `b`: active, then environment, then lifetime, then the later end, then the
 * later start, then the smaller purchase key. What follows makes the order total where one purchase has equal lines.
 */
export const grantOrder = (a: Grant, b: Grant): number =>
  Number(b.active) - Number(a.active) ||
  ENVIRONMENT_RANK[a.holding.purchase.environment] - ENVIRONMENT_RANK[b.holding.purchase.environment] ||
  compare(b.expiresAt ?? Infinity, a.expiresAt ?? Infinity) ||
  compare(b.line.startsAt ?? -Infinity, a.line.startsAt ?? -Infinity) ||
  compare(a.holding.purchase.key, b.holding.purchase.key) ||
  compare(a.holding.purchase.store, b.holding.purchase.store) ||
  compare(a.line.productIdentifier, b.line.productIdentifier) ||
  lineOrder(a.line, b.line);

const nullableTime = (instant: Instant | null): string | null => (instant === null ? null : isoTime(instant));

const present = (identifier: string, displayName: string | undefined, grant: Grant): CustomerEntitlement => {
  const { holding, line, status, active, expiresAt } = grant;
  return {
    identifier,
    displayName: displayName ?? identifier,
    productIdentifier: line.productIdentifier,
    environment: holding.purchase.environment,
    status,
    active,
    startsAt: nullableTime(line.startsAt),
    expiresAt: nullableTime(expiresAt),
    revokedAt: nullableTime(status === "revoked" ? line.revokedAt : null),
    lastVerifiedAt: isoTime(line.verifiedAt),
    store: holding.purchase.store,
    productKind: productKindOf(line.nature),
    customerIdentifier: holding.customerIdentifier,
    willRenew: line.willRenew,
  };
};

/**
 * What the holdings entitle to at a moment: one entry for each entitlement that a purchase gives or gave, the best
 * grant of each, sorted by identifier. Pure: the same arguments give the same bytes.
 */
export const entitlementsAt = (
  moment: Instant,
  holdings: Iterable<Holding>,
  catalog: Catalog,
): CustomerEntitlement[] => {
  const best = new Map<string, Grant>();
  for (const grant of grantsAt(moment, holdings, catalog)) {
    for (const identifier of grant.product.grants) {
      const shown = best.get(identifier);
      if (shown === undefined || grantOrder(grant, shown) < 0) best.set(identifier, grant);
    }
  }
  return [...best]
    .sort(([a], [b]) => compare(a, b))
    .map(([identifier, grant]) => present(identifier, catalog.displayNames.get(identifier), grant));
};
