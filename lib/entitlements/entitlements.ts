import type { CustomerEntitlement, Environment } from "../contract/schemas.ts";
import { compare } from "../order.ts";
import { holdingOrder, type Holding } from "./holding.ts";
import { lineOrder, productKindOf } from "./purchase.ts";
import { isoTime, type Instant } from "./time.ts";
import { givesAccess, spansAt, timelineOf, type Span, type Terms } from "./timeline.ts";

/** Whether access may return by itself, once the payment succeeds or the pause ends. */
export const mayReturn = ({ status }: Span): boolean => status === "billing_retry" || status === "paused";

/** End of access, as a sort key. A revocation without a date sorts by the start, the latest time known. */
export const lastAccess = ({ status, line, expiresAt, startsAt }: Span): number =>
  status === "revoked" && line.revokedAt === null ? (startsAt ?? 0) : expiresAt;

const ENVIRONMENT_RANK: Record<Environment, number> = { production: 0, sandbox: 1, xcode: 2 };

/**
 * Negative where `a` precedes `b`: active first, then by environment. Among inactive spans, those that may return come
 * first, then those that a credential linked. Then lifetime, the later end, the later start, the smaller purchase key.
 * The rest makes the order total where one purchase has equal lines.
 */
const spanOrder = (a: Span, b: Span): number =>
  Number(givesAccess(b)) - Number(givesAccess(a)) ||
  ENVIRONMENT_RANK[a.holding.purchase.environment] - ENVIRONMENT_RANK[b.holding.purchase.environment] ||
  (givesAccess(a)
    ? 0
    : Number(mayReturn(b)) - Number(mayReturn(a)) ||
      Number(b.holding.assertedBy === "credential") - Number(a.holding.assertedBy === "credential")) ||
  compare(lastAccess(b), lastAccess(a)) ||
  compare(b.startsAt ?? -Infinity, a.startsAt ?? -Infinity) ||
  holdingOrder(a.holding, b.holding) ||
  compare(a.line.productIdentifier, b.line.productIdentifier) ||
  lineOrder(a.line, b.line);

export const bestSpans = (spans: readonly Span[]): ReadonlyMap<string, Span> => {
  const best = new Map<string, Span>();
  for (const span of spans)
    for (const identifier of span.product.grants) {
      const shown = best.get(identifier);
      if (shown === undefined || spanOrder(span, shown) < 0) best.set(identifier, span);
    }
  return best;
};

const nullableTime = (instant: Instant | null): string | null =>
  instant === null || instant === Infinity ? null : isoTime(instant);

const present = (identifier: string, displayName: string | undefined, span: Span): CustomerEntitlement => {
  const { holding, line, status, startsAt, expiresAt, willRenew, verifiedAt } = span;
  return {
    identifier,
    displayName: displayName ?? identifier,
    productIdentifier: line.productIdentifier,
    environment: holding.purchase.environment,
    status,
    active: givesAccess(span),
    startsAt: nullableTime(startsAt),
    expiresAt: nullableTime(expiresAt),
    revokedAt: nullableTime(status === "revoked" ? line.revokedAt : null),
    lastVerifiedAt: isoTime(verifiedAt),
    store: holding.purchase.store,
    productKind: productKindOf(line.nature),
    customerIdentifier: holding.customerIdentifier,
    willRenew,
  };
};

const answerAt = (moment: Instant, timeline: readonly Span[], { catalog }: Terms): CustomerEntitlement[] =>
  [...bestSpans(spansAt(moment, timeline))]
    .sort(([a], [b]) => compare(a, b))
    .map(([identifier, span]) => present(identifier, catalog.displayNames.get(identifier), span));

/** Entries of all that purchases grant or granted, sorted by identifier, each with its best span: always the same bytes. */
export const entitlementsAt = (
  moment: Instant,
  holdings: readonly Holding[],
  terms: Terms,
): CustomerEntitlement[] => answerAt(moment, timelineOf(holdings, terms), terms);

/** Boundaries at which {@link nextChangeAt} compares answers, for a bounded time. */
const BOUNDARIES_COMPARED = 50;

/**
 * Earliest instant after `moment` at which time alone changes the answer of {@link entitlementsAt}, `lastVerifiedAt`
 * aside; null: never. Where fifty boundaries of what is not shown come first, the next one, at which nothing changes.
 */
export const nextChangeAt = (moment: Instant, holdings: readonly Holding[], terms: Terms): Instant | null => {
  const timeline = timelineOf(holdings, terms);
  const toldAt = (at: Instant): string =>
    JSON.stringify(answerAt(at, timeline, terms).map((entry) => ({ ...entry, lastVerifiedAt: null })));
  const boundaries = [...new Set(timeline.flatMap(({ from, to }) => [from, to]))]
    .filter((at) => at > moment && at < Infinity)
    .sort((a, b) => a - b);
  const told = toldAt(moment);
  const changed = boundaries.slice(0, BOUNDARIES_COMPARED).find((at) => toldAt(at) !== told);
  return changed ?? boundaries[BOUNDARIES_COMPARED] ?? null;
};
