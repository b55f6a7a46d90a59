import { reportedHoldings, type ReportedCustomer } from "../../lib/administration/reports/account-report.ts";
import type { Catalog } from "../../lib/entitlements/catalog.ts";
import { bestSpans, lastAccess, mayReturn } from "../../lib/entitlements/entitlements.ts";
import {
  type Holding,
  givesAccess,
  spansAt,
  timelineOf,
  type Span,
  type Terms,
} from "../../lib/entitlements/timeline.ts";
import { eventName } from "../../lib/entitlements/join.ts";
import { lineName, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";

const nameOf = ({ store, key }: Purchase): string => `${store} purchase ${key}`;

/** The rule of `spanOrder` that puts one span before another, in words. */
const advantage = (winner: Span, loser: Span): string => {
  const { environment } = winner.holding.purchase;
  const isActive = givesAccess(winner);
  if (isActive !== givesAccess(loser)) return "is active";
  if (environment !== loser.holding.purchase.environment) return `is of ${environment}`;
  if (!isActive && mayReturn(winner) && !mayReturn(loser)) return "may come back by itself";
  if (!isActive && winner.holding.assertedBy !== loser.holding.assertedBy)
    return "was linked by a credential";
  if (lastAccess(winner) !== lastAccess(loser))
    return lastAccess(winner) === Infinity ? "never ends" : "ends later";
  if (winner.startsAt !== loser.startsAt) return "started later";
  return "comes first by its key";
};

const endText = (moment: Instant, { line, expiresAt, verifiedAt }: Span): string => {
  if (expiresAt <= moment)
    return verifiedAt < expiresAt
      ? `past its end at ${isoTime(expiresAt)}: the store said that it renews, and nothing since`
      : `past its end at ${isoTime(expiresAt)}: the store still retries the payment`;
  if (expiresAt < Infinity) return `until ${isoTime(expiresAt)}`;
  const lasting = line.nature === "auto_renewable" || line.nature === "non_consumable";
  return lasting ? "for ever" : "for ever (its product has no accessDuration)";
};

/** Apple's reasons: https://developer.apple.com/documentation/appstoreserverapi/expirationintent */
const INTENTS: ReadonlyMap<number | null, string> = new Map([
  [1, ": the customer had turned the renewal off"],
  [2, ": the payment failed"],
  [3, ": the customer did not agree to a higher price"],
  [4, ": the product was no longer for sale"],
]);

const standingText = ({ status, line, expiresAt, holding }: Span): string => {
  const since = status === "revoked" ? line.revokedAt : status === "expired" ? expiresAt : null;
  if (since === null || since === Infinity) return status;
  const { renewal } = holding.purchase;
  const isNamed = status === "expired" && renewal?.periodEndsAt === line.endsAt;
  const because = isNamed ? INTENTS.get(renewal?.expirationIntent ?? null) : undefined;
  return `${status} since ${isoTime(since)}${because ?? ""}`;
};

const spanText = (moment: Instant, entitlement: string, span: Span, winner: Span): string => {
  const own = givesAccess(span)
    ? `grants ${entitlement} ${endText(moment, span)}`
    : `grants no access: ${entitlement} is ${standingText(span)}`;
  if (winner === span) return own;
  const shown =
    winner.holding === span.holding ? "another line of this purchase" : nameOf(winner.holding.purchase);
  return `${own}; the answer shows ${shown}, which ${advantage(winner, span)}`;
};

/** Why the catalog gives a line nothing; null: it maps the line. */
const whyUnmapped = ({ store }: Purchase, line: Line, catalog: Catalog): string | null => {
  const { productIdentifier, basePlanIdentifier, purchaseOptionIdentifier } = line;
  const product = catalog.productOf(store, line);
  if (product === undefined)
    return `grants nothing: the catalog has no ${store} product ${productIdentifier}${basePlanIdentifier === null ? "" : `, nor its base plan ${basePlanIdentifier}`}${purchaseOptionIdentifier === null ? "" : `, nor its purchase option ${purchaseOptionIdentifier}`}`;
  return line.rented && product.accessDuration === null
    ? "grants nothing: it is rented, and the catalog gives its product no accessDuration"
    : null;
};

const whyNothing = (
  moment: Instant,
  purchase: Purchase,
  line: Line,
  catalog: Catalog,
  spans: readonly Span[],
): string => {
  const { productIdentifier, startsAt } = line;
  const { replacedBy, replacedAt, selectedProducts } = purchase;
  if (replacedBy !== null && replacedAt === null) return `grants nothing: replaced by purchase ${replacedBy}`;
  if (selectedProducts?.includes(productIdentifier) === false)
    return `grants nothing: not among the products that were asked for (${selectedProducts.join(", ") || "none"})`;
  const deciding = spans.find((span) => eventName(span.line) === eventName(line))?.line;
  if (purchase.store === "ios-store" && deciding !== undefined && lineName(deciding) !== lineName(line))
    return `is the same purchase as transaction ${deciding.transactionIdentifier}, which decides`;
  if (startsAt !== null && startsAt > moment) return `grants nothing yet: starts at ${isoTime(startsAt)}`;
  const unmapped = whyUnmapped(purchase, line, catalog);
  if (unmapped !== null) return unmapped;
  return line.nature === "auto_renewable"
    ? "grants nothing: it never ran, as it was refunded before its start, or an upgrade came first"
    : "grants nothing yet: it begins when the pass before it ends";
};

const whyNoLines = ({ lines, replacedBy, verifiedAt }: Purchase): readonly string[] => {
  if (lines.length > 0) return [];
  const reason =
    verifiedAt === 0
      ? "known only because another purchase names it"
      : "pending: the store says that nothing of it is owned yet";
  return [
    `grants nothing: ${reason}`,
    ...(replacedBy === null ? [] : [`replaced by purchase ${replacedBy}`]),
  ];
};

export const explain = (moment: Instant, customers: readonly ReportedCustomer[], terms: Terms) => {
  const holdings = customers.map((customer) => reportedHoldings([customer]));
  const timeline = timelineOf(holdings.flat(), terms);
  const now = spansAt(moment, timeline);
  const best = bestSpans(now);
  const timelines = Map.groupBy(timeline, ({ holding }) => holding);

  /** `status` null: the line grants nothing. `expiresAt` null: it has no end, or grants nothing. `why` is of each grant. */
  const explainLine = (holding: Holding, line: Line) => {
    const ofPurchase = timelines.get(holding) ?? [];
    const span = now.find((one) => one.holding === holding && lineName(one.line) === lineName(line));
    if (span === undefined) {
      const why = whyNothing(moment, holding.purchase, line, terms.catalog, ofPurchase);
      return { line, status: null, expiresAt: null, grants: Array.of<string>(), why: [why] };
    }
    return {
      line,
      status: span.status,
      expiresAt: span.expiresAt === Infinity ? null : span.expiresAt,
      grants: span.product.grants,
      why: span.product.grants.map((entitlement) =>
        spanText(moment, entitlement, span, best.get(entitlement) ?? span),
      ),
    };
  };

  return customers.map((customer, index) => ({
    customer,
    purchases: (holdings[index] ?? []).map((holding) => ({
      purchase: holding.purchase,
      /** Reasons for the purchase as a whole; empty if its lines explain everything. */
      why: whyNoLines(holding.purchase),
      lines: holding.purchase.lines.map((line) => explainLine(holding, line)),
      spans: timelines.get(holding) ?? [],
    })),
  }));
};
export type ExplainedCustomer = ReturnType<typeof explain>[number];
export type ExplainedPurchase = ExplainedCustomer["purchases"][number];
