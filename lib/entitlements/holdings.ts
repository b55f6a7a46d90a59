import type { Catalog } from "./catalog.ts";
import { grantingLines } from "./entitlements.ts";
import { referenceText, sameLines, type Nature, type Purchase } from "./purchase.ts";

/** Of purchases that can be bought again and again, how many are held for each product: valid ones, and revoked ones. */
export const NEWEST_HELD_PER_PRODUCT = { valid: 40, revoked: 10 } as const;

/** The holdings of one customer stay below this many bytes as stored; DynamoDB's limit for an item is 400 KB. */
export const HOLDINGS_BYTES = 256 * 1024;

const REPEATABLE: ReadonlySet<Nature> = new Set(["non_renewing", "consumable"]);
const PRECEDENCE: Record<Nature, number> = {
  auto_renewable: 0,
  non_consumable: 1,
  non_renewing: 2,
  consumable: 3,
};
const BYTES_PER_PURCHASE = 48;
const BYTES_PER_LINE = 96;

const compare = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** No less than what DynamoDB counts for a held purchase: its texts in UTF-8, and a margin for numbers and structure. */
const bytesOf = (purchase: Purchase): number =>
  purchase.lines.reduce(
    (sum, line) =>
      sum +
      BYTES_PER_LINE +
      Buffer.byteLength(line.productIdentifier) +
      (line.basePlanIdentifier?.length ?? 0) * 3 +
      (line.transactionIdentifier?.length ?? 0),
    BYTES_PER_PURCHASE + purchase.key.length,
  );

interface Candidate {
  readonly purchase: Purchase;
  readonly reference: string;
  readonly nature: Nature;
  readonly start: number;
  readonly revoked: boolean;
}

const candidate = (purchase: Purchase): Candidate | null => {
  const lines = grantingLines(purchase);
  const [first] = [...lines].sort((a, b) => PRECEDENCE[a.nature] - PRECEDENCE[b.nature]);
  if (first === undefined) return null;
  return {
    purchase: { ...purchase, lines },
    reference: referenceText(purchase),
    nature: first.nature,
    start: Math.max(...lines.map((line) => line.startsAt ?? line.verifiedAt)),
    revoked: lines.every((line) => line.standing === "revoked" || line.revokedAt !== null),
  };
};

const byReference = (a: Candidate, b: Candidate): number => compare(a.reference, b.reference);
const newestFirst = (a: Candidate, b: Candidate): number => compare(b.start, a.start) || byReference(a, b);

/** What a purchase is one of several of. */
const groupsOf = ({ purchase: { store, environment, lines }, revoked }: Candidate): string[] =>
  [...new Set(lines.map(({ productIdentifier }) => productIdentifier))].map((product) =>
    JSON.stringify([store, environment, product, revoked]),
  );

/** A purchase of several products is kept while it is among the newest of any of them. */
const boundedPerProduct = (candidates: readonly Candidate[]): Candidate[] => {
  const entries = candidates.flatMap((held) => groupsOf(held).map((group) => ({ held, group })));
  const kept = new Set(
    [...Map.groupBy(entries, ({ group }) => group).values()].flatMap((group) =>
      group
        .map(({ held }) => held)
        .sort(newestFirst)
        .slice(
          0,
          group[0]?.held.revoked === true ? NEWEST_HELD_PER_PRODUCT.revoked : NEWEST_HELD_PER_PRODUCT.valid,
        ),
    ),
  );
  return candidates.filter((held) => kept.has(held));
};

/**
 * The few facts that a customer's entitlements are computed from: each purchase that can grant, with only its lines
 * that can. Consumables count only where the catalog maps them. What can be bought again and again is bounded to the
 * newest of each product, and everything together by {@link HOLDINGS_BYTES}. In order of reference, so that the same
 * purchases give the same holdings.
 */
export const holdingsOf = (purchases: Iterable<Purchase>, catalog: Catalog): Purchase[] => {
  const candidates = [...purchases]
    .map(candidate)
    .filter((held) => held !== null)
    .filter(
      ({ nature, purchase }) =>
        nature !== "consumable" ||
        purchase.lines.some(
          (line) =>
            catalog.productOf(purchase.store, line.productIdentifier, line.basePlanIdentifier) !== undefined,
        ),
    );
  const bounded = [
    ...candidates.filter(({ nature }) => !REPEATABLE.has(nature)),
    ...boundedPerProduct(candidates.filter(({ nature }) => REPEATABLE.has(nature))),
  ].sort((a, b) => PRECEDENCE[a.nature] - PRECEDENCE[b.nature] || newestFirst(a, b));
  let bytes = 0;
  return bounded
    .filter(({ purchase }) => (bytes += bytesOf(purchase)) <= HOLDINGS_BYTES)
    .sort(byReference)
    .map(({ purchase }) => purchase);
};

/** Whether a purchase is held alike: of one that is held only its lines are stored. */
export const heldAlike = (a: Purchase | undefined, b: Purchase | undefined): boolean =>
  a === undefined || b === undefined ? a === b : sameLines(a, b);

/** Of holdings as {@link holdingsOf} gives them. */
export const sameHoldings = (a: readonly Purchase[], b: readonly Purchase[]): boolean =>
  a.length === b.length && a.every((purchase, index) => heldAlike(purchase, b[index]));
