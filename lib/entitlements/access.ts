import { compare } from "../order.ts";
import type { Catalog, CatalogProduct } from "./catalog.ts";
import { holdingOrder, type Holding } from "./holding.ts";
import { momentAt, type Moment } from "./moment.ts";
import { endOfUnits, takenUntil } from "./passes.ts";
import { grantingLines, isRevoked, lineName, lineOrder, referenceText, type Line } from "./purchase.ts";
import { graceEndOf, type Renewal } from "./renewal.ts";
import { standingAt } from "./standing-lines.ts";
import type { Instant, Period } from "./time.ts";

const withRenewal = (line: Line, { willRenew, signedAt }: Renewal): Line => ({
  ...line,
  willRenew,
  verifiedAt: Math.max(line.verifiedAt, signedAt),
});

/** End of access, with the billing grace period after the line's own end. */
const endWithGrace = ({ endsAt }: Line, renewal: Renewal): Instant | null =>
  endsAt === null ? endsAt : Math.max(endsAt, graceEndOf(endsAt, renewal) ?? 0);

/** A line that the catalog maps, and its period of access unless something ends it early. */
export interface Access {
  readonly holding: Holding;
  readonly line: Line;
  readonly product: CatalogProduct;
  readonly renewal: Renewal | null;
  readonly begins: Instant;
  readonly ends: Instant | null;
}

/** Names the line of an access: unique among the holdings of an account. */
export const accessName = ({ holding, line }: Access): string =>
  `${referenceText(holding.purchase)} ${lineName(line)}`;

const accesses = (moment: Moment, holdings: readonly Holding[], catalog: Catalog): Access[] => {
  const granting = holdings.map((holding) => ({ holding, lines: grantingLines(holding.purchase) }));
  const standing = standingAt(moment, granting);
  return granting.flatMap((granted) => {
    const { holding } = granted;
    const { purchase } = holding;
    return standing(granted).flatMap(({ line, renewal, begins }): Access[] => {
      const product = catalog.productOf(purchase.store, line);
      if (product === undefined || (line.rented && product.accessDuration === null)) return [];
      const said = renewal === null ? line : withRenewal(line, renewal);
      return [
        {
          holding,
          line: said,
          product,
          renewal,
          begins: begins ?? line.startsAt ?? line.verifiedAt,
          ends: renewal === null ? line.endsAt : endWithGrace(line, renewal),
        },
      ];
    });
  });
};

/** A pass: no end date from the store, a duration from the catalog (day pass, non-renewing subscription, rental). */
interface Pass extends Access {
  /** Per unit. */
  readonly duration: Period;
}

const asPass = (access: Access): Pass | null => {
  const { line, product } = access;
  if (line.nature === "auto_renewable" || line.endsAt !== null || product.accessDuration === null)
    return null;
  return { ...access, duration: product.accessDuration };
};

const accessOrder = (a: Access, b: Access): number =>
  compare(a.begins, b.begins) || holdingOrder(a.holding, b.holding) || lineOrder(a.line, b.line);

/**
 * Names the queue of a pass: its product's. A rental has one of its own: Google counts its time from the purchase, and
 * rents again only what is over.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/monetization.onetimeproducts#OneTimeProductRentPurchaseOption
 */
const queueOf = ({ holding: { purchase }, line }: Pass): string =>
  JSON.stringify([
    purchase.store,
    purchase.environment,
    line.productIdentifier,
    line.rented ? purchase.key : null,
  ]);

/**
 * Passes of one product add up, for each entitlement by itself: each gives it from its purchase or from where the earlier
 * ones have used up its time, whichever is later, for its duration for each unit that is not refunded. Purchase options of
 * one product may grant different entitlements; a pass whose entitlements begin at different times is several accesses.
 */
const passesInTurn = (passes: readonly Pass[]): Access[] => {
  const groups = Map.groupBy(passes, queueOf);
  return [...groups.values()].flatMap((group) => {
    const taken = new Map<string, Instant>();
    return group.toSorted(accessOrder).flatMap((pass) => {
      const { line, duration, product } = pass;
      const byStart = Map.groupBy(product.grants, (grant) => Math.max(pass.begins, taken.get(grant) ?? 0));
      return [...byStart].map(([begins, grants]): Access => {
        const until = takenUntil(line, duration, begins);
        for (const grant of grants) taken.set(grant, until);
        const ends = isRevoked(line) ? endOfUnits(line.quantity, duration, begins) : until;
        return { ...pass, product: byStart.size === 1 ? product : { ...product, grants }, begins, ends };
      });
    });
  });
};

/**
 * Lines that the catalog maps, with their periods of access: passes of one product follow one another, and whatever was
 * replaced by the moment is left out.
 */
export const placedAccesses = (
  moment: Moment,
  holdings: readonly Holding[],
  catalog: Catalog,
): readonly Access[] => {
  const all = accesses(moment, holdings, catalog);
  const passes = all.flatMap((one) => asPass(one) ?? []);
  return passes.length === 0 ? all : [...all.filter((one) => asPass(one) === null), ...passesInTurn(passes)];
};

/** Start of each entitlement of the passes that are not over, refunded ones aside, by line and entitlement. */
const passesAhead = (
  now: Instant,
  holdings: readonly Holding[],
  catalog: Catalog,
): ReadonlyMap<string, Instant> =>
  new Map(
    placedAccesses(momentAt(now), holdings, catalog).flatMap((access) =>
      asPass(access) !== null && !isRevoked(access.line) && access.ends !== null && access.ends > now
        ? access.product.grants.map((grant) => [`${accessName(access)} ${grant}`, access.begins] as const)
        : [],
    ),
  );

/**
 * Whether time of passes that are not over would be lost, or would run at another time, if holdings left an account: passes
 * follow one another there.
 */
export const splitsPasses = (
  now: Instant,
  leaving: readonly Holding[],
  staying: readonly Holding[],
  catalog: Catalog,
): boolean => {
  const after = passesAhead(now, staying, catalog);
  return [...passesAhead(now, [...staying, ...leaving], catalog)].some(
    ([name, begins]) => after.get(name) !== begins,
  );
};
