import fc from "fast-check";
import {
  joinAll,
  joinPurchases,
  mentionedPurchase,
  NATURES,
  samePurchase,
  STANDINGS,
  type Line,
  type Purchase,
} from "../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, DAY, NOW } from "../support/purchases.ts";

const lines = (purchase: Purchase): (string | null)[] =>
  purchase.lines.map((line) => line.transactionIdentifier);

describe("iOS lineages", () => {
  test("of one transaction the later signed wins, in either order", () => {
    const early = aPurchase({ lines: [aLine({ verifiedAt: 1, revokedAt: 5 })] });
    const late = aPurchase({ lines: [aLine({ verifiedAt: 2 })] });
    expect(joinPurchases(early, late).lines[0]?.revokedAt).toBeNull();
    expect(joinPurchases(late, early).lines[0]?.revokedAt).toBeNull();
  });
  test("a refund that is signed later revokes, and its reversal restores", () => {
    const facts = [3, 1, 2].map((verifiedAt) =>
      aPurchase({ lines: [aLine({ verifiedAt, revokedAt: verifiedAt === 2 ? 9 : null })] }),
    );
    expect(joinAll(facts.slice(1))[0]?.lines[0]?.revokedAt).toBe(9);
    expect(joinAll(facts)[0]?.lines[0]?.revokedAt).toBeNull();
  });
  test("of each product the two latest transactions stay", () => {
    const of = (transactionIdentifier: string, productIdentifier: string, startsAt: number) =>
      aPurchase({ lines: [aLine({ transactionIdentifier, productIdentifier, startsAt })] });
    const [joined] = joinAll([of("3", "a", 3), of("1", "a", 1), of("2", "a", 2), of("4", "b", 0)]);
    expect(joined && lines(joined)).toEqual(["4", "2", "3"]);
  });
});

test("of transactions of one product with one start the same two stay, in whatever order facts come", () => {
  const of = (transactionIdentifier: string, line: Parameters<typeof aLine>[0]) =>
    aPurchase({ lines: [aLine({ transactionIdentifier, startsAt: 10, ...line })] });
  const first = of("1", { endsAt: 30, verifiedAt: 1 });
  const others = [of("2", { endsAt: 20, verifiedAt: 1 }), of("3", { endsAt: 25, verifiedAt: 1 })];
  const upgradedSince = of("1", { endsAt: 30, verifiedAt: 2, standing: "expired" });
  const early = joinAll([...joinAll([first, ...others]), upgradedSince]);
  const late = joinAll([...joinAll([first, upgradedSince]), ...others]);
  expect(early).toEqual(late);
});

describe("Android purchases", () => {
  const answered = (verifiedAt: number, line: Partial<Line> = {}): Purchase =>
    aPurchase({
      store: "android-store",
      verifiedAt,
      lines: [aLine({ transactionIdentifier: null, verifiedAt, ...line })],
    });
  test("a later answer takes the place of an earlier one, all its lines", () => {
    const later = { ...answered(2), lines: [] };
    expect(joinPurchases(answered(1), later).lines).toEqual([]);
    expect(joinPurchases(later, answered(1)).lines).toEqual([]);
  });
  test("a replaced purchase stays replaced whatever the store says of it later", () => {
    const replaced = mentionedPurchase(answered(1), purchaseKey("2"));
    expect(joinPurchases(replaced, answered(5)).replacedBy).toBe("2");
    expect(joinPurchases(answered(5), replaced).lines).toHaveLength(1);
  });
  test("the products asked for add up, and all of them is all of them", () => {
    const asked = (selectedProducts: string[] | null) => ({ ...answered(1), selectedProducts });
    expect(joinPurchases(asked(["b"]), asked(["a"])).selectedProducts).toEqual(["a", "b"]);
    expect(joinPurchases(asked(["b"]), asked(null)).selectedProducts).toBeNull();
  });
});

describe("the join of facts", () => {
  const small = fc.integer({ min: 0, max: 3 });
  const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
  const anyLine = (store: Purchase["store"]): fc.Arbitrary<Line> =>
    fc
      .record({
        transaction: fc.integer({ min: 1, max: 6 }),
        basePlanIdentifier: nullable(fc.constantFrom("p")),
        standing: fc.constantFrom(...STANDINGS),
        endsAt: nullable(small),
        revokedAt: nullable(small),
        willRenew: nullable(fc.boolean()),
        verifiedAt: small,
      })
      // What a store never changes of a transaction follows from its identifier.
      .map(({ transaction, ...line }) => ({
        ...line,
        transactionIdentifier: store === "ios-store" ? String(transaction) : null,
        productIdentifier: transaction % 2 === 0 ? "even" : "odd",
        nature: NATURES[transaction % 2] ?? "consumable",
        startsAt: transaction,
      }));
  const anyPurchase = (store: Purchase["store"]): fc.Arbitrary<Purchase> =>
    fc
      .record({
        lines: fc.array(anyLine(store), { maxLength: 4 }),
        selectedProducts: nullable(fc.uniqueArray(fc.constantFrom("a", "b")).map((values) => values.sort())),
        replacedBy: nullable(fc.constantFrom("2", "3").map(purchaseKey)),
        verifiedAt: small,
      })
      .map((purchase) => aPurchase({ store, ...purchase }));

  test.each(["ios-store", "android-store"] as const)(
    "is the same in any order, any grouping and any number of times (%s)",
    (store) => {
      fc.assert(
        fc.property(
          fc.array(anyPurchase(store), { minLength: 1, maxLength: 6 }),
          fc.integer(),
          (facts, seed) => {
            const [expected] = joinAll(facts);
            const shuffled = facts
              .map((fact, index) => ({ fact, rank: Math.sin(seed + index * 7919) }))
              .sort((a, b) => a.rank - b.rank)
              .map(({ fact }) => fact);
            const half = Math.floor(facts.length / 2);
            const grouped = joinAll([
              ...joinAll(shuffled.slice(0, half)),
              ...joinAll(shuffled.slice(half)),
              ...facts.slice(0, 2),
            ])[0];
            expect(expected && grouped && samePurchase(expected, grouped)).toBe(true);
            expect(grouped).toEqual(expected);
          },
        ),
        { numRuns: 500 },
      );
    },
  );

  test("a lineage with very many products stays bounded, the newest kept", () => {
    const many = Array.from({ length: 1000 }, (_, index) =>
      aPurchase({
        lines: [
          aLine({
            transactionIdentifier: String(index),
            productIdentifier: `p${index}`,
            startsAt: NOW - 2000 * DAY + index,
          }),
        ],
      }),
    );
    const [joined] = joinAll(many);
    expect(joined?.lines).toHaveLength(200);
    expect(joined?.lines.at(-1)?.productIdentifier).toBe("p999");
  });
});
