import type { ReportedCustomer } from "../../lib/customers/account-report.ts";
import type { Status } from "../../lib/contract/schemas.ts";
import type { Catalog } from "../../lib/entitlements/catalog.ts";
import { grantOrder, grantsAt, type Grant, type Holding } from "../../lib/entitlements/entitlements.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";

/** A line as it stands at a moment, and what it gives or why it gives nothing. */
export interface ExplainedLine {
  readonly line: Line;
  /** Null where the line gives nothing. */
  readonly status: Status | null;
  /** The end of access; null: none, or the line gives nothing. */
  readonly expiresAt: Instant | null;
  readonly why: readonly string[];
}

export interface ExplainedPurchase {
  readonly purchase: Purchase;
  /** What concerns the whole purchase; empty where its lines say all. */
  readonly why: readonly string[];
  readonly lines: readonly ExplainedLine[];
}

export interface ExplainedCustomer {
  readonly customer: ReportedCustomer;
  readonly purchases: readonly ExplainedPurchase[];
}

const nameOf = ({ store, key }: Purchase): string => `${store} purchase ${key}`;

/** Names a line within its purchase: a grant's line may end earlier than the stored one. */
const lineName = ({ transactionIdentifier, productIdentifier, basePlanIdentifier, startsAt }: Line): string =>
  JSON.stringify([transactionIdentifier, productIdentifier, basePlanIdentifier, startsAt]);

const bestOf = (grants: readonly Grant[]): ReadonlyMap<string, Grant> => {
  const best = new Map<string, Grant>();
  for (const grant of grants.toSorted(grantOrder))
    for (const entitlement of grant.product.grants) if (!best.has(entitlement)) best.set(entitlement, grant);
  return best;
};

/** By which of the rules of {@link grantOrder} one grant comes before another. */
const advantage = (winner: Grant, loser: Grant): string => {
  const { environment } = winner.holding.purchase;
  if (winner.active !== loser.active) return "is active";
  if (environment !== loser.holding.purchase.environment) return `is of ${environment}`;
  if (winner.expiresAt !== loser.expiresAt) return winner.expiresAt === null ? "never ends" : "ends later";
  if (winner.line.startsAt !== loser.line.startsAt) return "started later";
  return "comes first by its key";
};

const endText = ({ line, expiresAt }: Grant): string => {
  if (expiresAt !== null) return `until ${isoTime(expiresAt)}`;
  const lasting = line.nature === "auto_renewable" || line.nature === "non_consumable";
  return lasting ? "for ever" : "for ever (its product has no accessDuration)";
};

const standingText = ({ status, line, expiresAt }: Grant): string => {
  const since = status === "revoked" ? line.revokedAt : status === "expired" ? expiresAt : null;
  return since === null ? status : `${status} since ${isoTime(since)}`;
};

const grantText = (entitlement: string, grant: Grant, winner: Grant): string => {
  if (winner !== grant) {
    const shown =
      winner.holding === grant.holding ? "another line of this purchase" : nameOf(winner.holding.purchase);
    return `${entitlement} comes from ${shown} instead, which ${advantage(winner, grant)}`;
  }
  return grant.active
    ? `grants ${entitlement} ${endText(grant)}`
    : `grants no access: ${entitlement} is ${standingText(grant)}`;
};

const whyNothing = (moment: Instant, purchase: Purchase, line: Line, catalog: Catalog): string => {
  const { productIdentifier, basePlanIdentifier, startsAt } = line;
  if (purchase.replacedBy !== null) return `grants nothing: replaced by purchase ${purchase.replacedBy}`;
  if (purchase.selectedProducts?.includes(productIdentifier) === false)
    return `grants nothing: not among the products that were asked for (${purchase.selectedProducts.join(", ") || "none"})`;
  if (startsAt !== null && startsAt > moment) return `grants nothing yet: starts at ${isoTime(startsAt)}`;
  if (catalog.productOf(purchase.store, productIdentifier, basePlanIdentifier) === undefined)
    return `grants nothing: the catalog has no ${purchase.store} product ${productIdentifier}${basePlanIdentifier === null ? "" : `, nor its base plan ${basePlanIdentifier}`}`;
  return "grants nothing";
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

/** Says of each purchase of an account, line by line, what it grants at the moment, or why it does not. */
export const explain = (
  moment: Instant,
  customers: readonly ReportedCustomer[],
  catalog: Catalog,
): readonly ExplainedCustomer[] => {
  const holdings = customers.map(({ customerIdentifier, purchases }) =>
    purchases.map((purchase): Holding => ({ customerIdentifier, purchase })),
  );
  const grants = grantsAt(moment, holdings.flat(), catalog);
  const best = bestOf(grants);
  const grantsOf = Map.groupBy(grants, ({ holding }) => holding);

  const explainLine = (holding: Holding, line: Line): ExplainedLine => {
    const grant = grantsOf.get(holding)?.find((grant) => lineName(grant.line) === lineName(line));
    if (grant === undefined)
      return {
        line,
        status: null,
        expiresAt: null,
        why: [whyNothing(moment, holding.purchase, line, catalog)],
      };
    return {
      line,
      status: grant.status,
      expiresAt: grant.expiresAt,
      why: grant.product.grants.map((entitlement) =>
        grantText(entitlement, grant, best.get(entitlement) ?? grant),
      ),
    };
  };

  return customers.map((customer, index) => ({
    customer,
    purchases: (holdings[index] ?? []).map((holding) => ({
      purchase: holding.purchase,
      why: whyNoLines(holding.purchase),
      lines: holding.purchase.lines.map((line) => explainLine(holding, line)),
    })),
  }));
};
