import { reportedHoldings, type ReportedCustomer } from "../lib/administration/account-report.ts";
import type { Status } from "../lib/contract/schemas.ts";
import type { Catalog } from "../lib/entitlements/catalog.ts";
import {
  bestGrants,
  grantsAt,
  lastAccess,
  mayReturn,
  type Grant,
  type Terms,
} from "../lib/entitlements/grants.ts";
import type { Holding } from "../lib/entitlements/holding.ts";
import { eventName } from "../lib/entitlements/events.ts";
import { isBeforeReplacement, lineName, type Line, type Purchase } from "../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../lib/entitlements/time.ts";
import { compare } from "../lib/order.ts";

/** A line's state at a moment, with what it grants or why it grants nothing. */
export interface ExplainedLine {
  readonly line: Line;
  /** Null if the line grants nothing. */
  readonly status: Status | null;
  /** End of access; null: no end, or the line grants nothing. */
  readonly expiresAt: Instant | null;
  readonly why: readonly string[];
}

export interface ExplainedPurchase {
  readonly purchase: Purchase;
  /** Reasons for the purchase as a whole; empty if its lines explain everything. */
  readonly why: readonly string[];
  readonly lines: readonly ExplainedLine[];
}

export interface ExplainedCustomer {
  readonly customer: ReportedCustomer;
  readonly purchases: readonly ExplainedPurchase[];
}

const nameOf = ({ store, key }: Purchase): string => `${store} purchase ${key}`;

/** The rule of `grantOrder` that puts one grant before another, in words. */
const advantage = (winner: Grant, loser: Grant): string => {
  const { environment } = winner.holding.purchase;
  if (winner.active !== loser.active) return "is active";
  if (environment !== loser.holding.purchase.environment) return `is of ${environment}`;
  if (!winner.active && mayReturn(winner) && !mayReturn(loser)) return "may come back by itself";
  if (!winner.active && winner.holding.assertedBy !== loser.holding.assertedBy)
    return "was linked by a credential";
  if (lastAccess(winner) !== lastAccess(loser))
    return lastAccess(winner) === Infinity ? "never ends" : "ends later";
  if (winner.line.startsAt !== loser.line.startsAt) return "started later";
  return "comes first by its key";
};

const endText = (moment: Instant, { line, expiresAt }: Grant): string => {
  if (expiresAt !== null && expiresAt <= moment)
    return line.verifiedAt < expiresAt
      ? `past its end at ${isoTime(expiresAt)}: the store said that it renews, and nothing since`
      : `past its end at ${isoTime(expiresAt)}: the store still retries the payment`;
  if (expiresAt !== null) return `until ${isoTime(expiresAt)}`;
  const lasting = line.nature === "auto_renewable" || line.nature === "non_consumable";
  return lasting ? "for ever" : "for ever (its product has no accessDuration)";
};

const standingText = ({ status, line, expiresAt }: Grant): string => {
  const since = status === "revoked" ? line.revokedAt : status === "expired" ? expiresAt : null;
  return since === null ? status : `${status} since ${isoTime(since)}`;
};

const grantText = (moment: Instant, entitlement: string, grant: Grant, winner: Grant): string => {
  if (winner !== grant) {
    const shown =
      winner.holding === grant.holding ? "another line of this purchase" : nameOf(winner.holding.purchase);
    return `${entitlement} comes from ${shown} instead, which ${advantage(winner, grant)}`;
  }
  return grant.active
    ? `grants ${entitlement} ${endText(moment, grant)}`
    : `grants no access: ${entitlement} is ${standingText(grant)}`;
};

const whyNothing = (
  moment: Instant,
  purchase: Purchase,
  line: Line,
  catalog: Catalog,
  granted: readonly Line[],
): string => {
  const { productIdentifier, basePlanIdentifier, purchaseOptionIdentifier, startsAt } = line;
  const { replacedBy, replacedAt } = purchase;
  if (replacedBy !== null && (replacedAt === null || isBeforeReplacement(purchase, line)))
    return `grants nothing: replaced by purchase ${purchase.replacedBy}`;
  if (purchase.selectedProducts?.includes(productIdentifier) === false)
    return `grants nothing: not among the products that were asked for (${purchase.selectedProducts.join(", ") || "none"})`;
  if (startsAt !== null && startsAt > moment) return `grants nothing yet: starts at ${isoTime(startsAt)}`;
  const product = catalog.productOf(purchase.store, line);
  if (product === undefined)
    return `grants nothing: the catalog has no ${purchase.store} product ${productIdentifier}${basePlanIdentifier === null ? "" : `, nor its base plan ${basePlanIdentifier}`}${purchaseOptionIdentifier === null ? "" : `, nor its purchase option ${purchaseOptionIdentifier}`}`;
  if (line.rented && product.accessDuration === null)
    return "grants nothing: it is rented, and the catalog gives its product no accessDuration";
  const deciding = granted.find((other) => eventName(other) === eventName(line));
  if (purchase.store === "ios-store" && deciding !== undefined)
    return `is the same purchase as transaction ${deciding.transactionIdentifier}, which decides`;
  if (purchase.store === "ios-store" && line.endsAt !== null)
    return "grants nothing: the same purchase was signed later in another lineage";
  return "grants nothing yet: it begins when the pass before it ends";
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

/** Entitlements of a pass that wait for those of the passes before it, while others have begun. */
const laterOf = (
  { store }: Purchase,
  line: Line,
  begun: readonly Grant[],
  catalog: Catalog,
): readonly string[] => {
  const given = new Set(begun.flatMap(({ product }) => product.grants));
  const all = catalog.productOf(store, line)?.grants ?? [];
  return all
    .filter((entitlement) => !given.has(entitlement))
    .map((entitlement) => `grants ${entitlement} later: when the pass before it has used up its time`);
};

/** Explains an account's purchases line by line: what each grants at the moment, or why it grants nothing. */
export const explain = (
  moment: Instant,
  customers: readonly ReportedCustomer[],
  terms: Terms,
): readonly ExplainedCustomer[] => {
  const holdings = customers.map((customer) => reportedHoldings([customer]));
  const grants = grantsAt(moment, holdings.flat(), terms);
  const best = bestGrants(grants);
  const grantsOf = Map.groupBy(grants, ({ holding }) => holding);

  const explainLine = (holding: Holding, line: Line): ExplainedLine => {
    const ofPurchase = grantsOf.get(holding) ?? [];
    // A pass may give its entitlements at different times; the last end is the line's.
    const ofLine = ofPurchase
      .filter((grant) => lineName(grant.line) === lineName(line))
      .toSorted((a, b) => Number(b.active) - Number(a.active) || compare(lastAccess(b), lastAccess(a)));
    const [grant] = ofLine;
    if (grant === undefined)
      return {
        line,
        status: null,
        expiresAt: null,
        why: [
          whyNothing(
            moment,
            holding.purchase,
            line,
            terms.catalog,
            ofPurchase.map((grant) => grant.line),
          ),
        ],
      };
    return {
      line,
      status: grant.status,
      expiresAt: grant.expiresAt,
      why: [
        ...ofLine.flatMap((one) =>
          one.product.grants.map((entitlement) =>
            grantText(moment, entitlement, one, best.get(entitlement) ?? one),
          ),
        ),
        ...laterOf(holding.purchase, line, ofLine, terms.catalog),
      ],
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
