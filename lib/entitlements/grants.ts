import type { Environment, Status } from "../contract/schemas.ts";
import { compare } from "../order.ts";
import { placedAccesses } from "./access.ts";
import type { Catalog, CatalogProduct } from "./catalog.ts";
import { holdingOrder, type Holding } from "./holding.ts";
import { momentAt, CLOCK_TOLERANCE_MILLISECONDS, type Moment } from "./moment.ts";
import { lineOrder, type Line } from "./purchase.ts";
import { statusAt } from "./status.ts";
import type { Instant } from "./time.ts";

export const grantsAccess = (status: Status): boolean => status === "active" || status === "grace_period";

/** Terms by which an application's purchases grant entitlements. */
export interface Terms {
  readonly catalog: Catalog;
  /** Milliseconds for which a subscription that was to renew stays active after its end while the store is silent. */
  readonly renewalLeeway: number;
}

/** One line of a purchase, as it stands at a moment. */
export interface Grant {
  readonly holding: Holding;
  readonly line: Line;
  readonly product: CatalogProduct;
  readonly status: Status;
  readonly active: boolean;
  /** Null: not known. */
  readonly startsAt: Instant | null;
  /** End of access; null: none. A revoked line ends at the revocation at the latest, where the store dates it. */
  readonly expiresAt: Instant | null;
}

/**
 * Start of the line; null where an iOS period starts after its end, because it is known only from a copy restored
 * later.
 */
const beganOf = ({ event, startsAt, endsAt }: Line): Instant | null =>
  event !== null && startsAt !== null && startsAt > (endsAt ?? Infinity) ? null : startsAt;

export const grantsAsOf = (
  moment: Moment,
  holdings: readonly Holding[],
  { catalog, renewalLeeway }: Terms,
): Grant[] =>
  placedAccesses(moment, holdings, catalog).flatMap((access): Grant[] => {
    const { holding, line, product, begins, ends } = access;
    if (line.startsAt !== null && !moment.hasCome(begins - CLOCK_TOLERANCE_MILLISECONDS)) return [];
    const status = statusAt(moment, access, renewalLeeway);
    const active = grantsAccess(status);
    const expiresAt =
      status === "revoked" && line.revokedAt !== null ? Math.min(ends ?? Infinity, line.revokedAt) : ends;
    const startsAt = beganOf(line);
    const isAhead = startsAt !== null && begins < startsAt && !moment.hasCome(startsAt);
    return [{ holding, line, product, status, active, startsAt: isAhead ? null : startsAt, expiresAt }];
  });

/** Grants of the holdings that have begun by the moment. */
export const grantsAt = (moment: Instant, holdings: readonly Holding[], terms: Terms): Grant[] =>
  grantsAsOf(momentAt(moment), holdings, terms);

const RETURNING: ReadonlySet<Status> = new Set(["billing_retry", "paused"]);

/** Whether access may return by itself, once the payment succeeds or the pause ends. */
export const mayReturn = ({ status }: Grant): boolean => RETURNING.has(status);

/** End of access, as a sort key. A revocation without a date sorts by the start, the latest time known. */
export const lastAccess = ({ status, line, expiresAt }: Grant): number =>
  status === "revoked" && line.revokedAt === null ? (line.startsAt ?? 0) : (expiresAt ?? Infinity);

const ENVIRONMENT_RANK: Record<Environment, number> = { production: 0, sandbox: 1, xcode: 2 };

/**
 * Negative where `a` precedes `b`: active first, then by environment. Among inactive grants, those that may return come
 * first, then those that a credential linked. Then lifetime, the later end, the later start, the smaller purchase key.
 * The rest makes the order total where one purchase has equal lines.
 */
const grantOrder = (a: Grant, b: Grant): number =>
  Number(b.active) - Number(a.active) ||
  ENVIRONMENT_RANK[a.holding.purchase.environment] - ENVIRONMENT_RANK[b.holding.purchase.environment] ||
  (a.active
    ? 0
    : Number(mayReturn(b)) - Number(mayReturn(a)) ||
      Number(b.holding.assertedBy === "credential") - Number(a.holding.assertedBy === "credential")) ||
  compare(lastAccess(b), lastAccess(a)) ||
  compare(b.line.startsAt ?? -Infinity, a.line.startsAt ?? -Infinity) ||
  holdingOrder(a.holding, b.holding) ||
  compare(a.line.productIdentifier, b.line.productIdentifier) ||
  lineOrder(a.line, b.line);

/** Best grant by entitlement identifier. */
export const bestGrants = (grants: readonly Grant[]): ReadonlyMap<string, Grant> => {
  const best = new Map<string, Grant>();
  for (const grant of grants) {
    for (const identifier of grant.product.grants) {
      const shown = best.get(identifier);
      if (shown === undefined || grantOrder(grant, shown) < 0) best.set(identifier, grant);
    }
  }
  return best;
};
