import fc from "fast-check";
import {
  joinAll,
  joinPurchases,
  lineOrder,
  mentionedPurchase,
  NATURES,
  productKindOf,
  referenceText,
  samePurchase,
  STANDINGS,
  verifiedAs,
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

test.each([
  ["auto_renewable", "subscription"],
  ["non_renewing", "subscription"],
  ["non_consumable", "one_time_product"],
  ["consumable", "one_time_product"],
] as const)("%s is a %s", (nature, kind) => {
  expect(productKindOf(nature)).toBe(kind);
});

test("a purchase that is only mentioned has no lines, asks for no product, and was never verified", () => {
  const reference = { store: "android-store", environment: "sandbox", key: purchaseKey("a") } as const;
  expect(mentionedPurchase(reference, purchaseKey("b"))).toEqual({
    ...reference,
    lines: [],
    selectedProducts: [],
    replacedBy: "b",
    verifiedAt: 0,
  });
});

describe("the order of lines", () => {
  const ascending: readonly (readonly [string, Partial<Line>, Partial<Line>])[] = [
    ["one without a start before any other", { startsAt: null }, { startsAt: 1 }],
    ["the earlier start", { startsAt: 1, endsAt: 9 }, { startsAt: 2, endsAt: 3 }],
    [
      "at one start, the one that has ended",
      { standing: "expired", endsAt: 9 },
      { standing: "entitled", endsAt: 3 },
    ],
    ["then the earlier end", { endsAt: 3, transactionIdentifier: "2" }, { endsAt: 4 }],
    ["and no end after every end", { endsAt: 3, transactionIdentifier: "2" }, { endsAt: null }],
    ["then the smaller transaction", { transactionIdentifier: "1" }, { transactionIdentifier: "2" }],
    ["and none before any", { transactionIdentifier: null }, { transactionIdentifier: "2" }],
    ["then whatever else is said", { productIdentifier: "a" }, { productIdentifier: "b" }],
  ];
  test.each(ascending)("%s", (_, first, second) => {
    expect(lineOrder(aLine(first), aLine(second))).toBe(-1);
    expect(lineOrder(aLine(second), aLine(first))).toBe(1);
    expect(lineOrder(aLine(first), aLine(first))).toBe(0);
  });
});

describe("purchases are the same", () => {
  const purchase = aPurchase({ selectedProducts: ["a", "b"], replacedBy: purchaseKey("2") });
  test("when they say the same", () => {
    expect(samePurchase(purchase, structuredClone(purchase))).toBe(true);
    expect(samePurchase(aPurchase(), aPurchase())).toBe(true);
  });
  test.each<[string, Partial<Purchase>]>([
    ["the key", { key: purchaseKey("3") }],
    ["the store", { store: "android-store" }],
    ["the environment", { environment: "sandbox" }],
    ["when it was verified", { verifiedAt: 1 }],
    ["what replaced it", { replacedBy: null }],
    ["what was asked for: all", { selectedProducts: null }],
    ["what was asked for: less", { selectedProducts: ["a"] }],
    ["what was asked for: another", { selectedProducts: ["a", "c"] }],
    ["no line", { lines: [] }],
    ["a line more", { lines: [...purchase.lines, aLine()] }],
  ])("and not when one thing differs: %s", (_, changes) => {
    expect(samePurchase(purchase, { ...purchase, ...changes })).toBe(false);
    expect(samePurchase({ ...purchase, ...changes }, purchase)).toBe(false);
  });
  test.each<Partial<Line>>([
    { transactionIdentifier: "9" },
    { productIdentifier: "9" },
    { basePlanIdentifier: "9" },
    { nature: "consumable" },
    { standing: "paused" },
    { startsAt: 9 },
    { endsAt: 9 },
    { revokedAt: 9 },
    { willRenew: true },
    { verifiedAt: 9 },
  ])("and not when a line differs: %j", (changes) => {
    expect(samePurchase(purchase, { ...purchase, lines: [aLine(changes)] })).toBe(false);
  });
});

test("a purchase as it was verified at another time differs in nothing else", () => {
  const purchase = aPurchase({ lines: [aLine(), aLine({ transactionIdentifier: "2" })] });
  expect(verifiedAs(purchase, 7)).toEqual({
    ...purchase,
    verifiedAt: 7,
    lines: purchase.lines.map((line) => ({ ...line, verifiedAt: 7 })),
  });
});

test("joined purchases are in order of reference", () => {
  const keys = ["3", "1", "2"].map((key) => aPurchase({ key }));
  const other = aPurchase({ key: "0", environment: "sandbox" });
  expect(joinAll([other, ...keys]).map(referenceText)).toEqual([
    "ios-store production 1",
    "ios-store production 2",
    "ios-store production 3",
    "ios-store sandbox 0",
  ]);
});

test("of two transactions that start at the same moment the one that an upgrade ended comes first, whichever was first known", () => {
  const [upgraded, current] = [
    aPurchase({ lines: [aLine({ transactionIdentifier: "9", standing: "expired" })] }),
    aPurchase({ lines: [aLine({ transactionIdentifier: "1", productIdentifier: "yearly" })] }),
  ];
  for (const joined of [joinPurchases(upgraded, current), joinPurchases(current, upgraded)])
    expect(joined.lines.map(({ transactionIdentifier }) => transactionIdentifier)).toEqual(["9", "1"]);
});

describe("of two that were said at the same moment always the same one counts", () => {
  test("of a transaction, the one that is more", () => {
    const [paused, entitled] = (["paused", "entitled"] as const).map((standing) =>
      aPurchase({ lines: [aLine({ standing, verifiedAt: 5 })] }),
    );
    if (paused === undefined || entitled === undefined) throw new Error("There are two.");
    for (const joined of [joinPurchases(paused, entitled), joinPurchases(entitled, paused)])
      expect(joined.lines.map(({ standing }) => standing)).toEqual(["paused"]);
  });
  test("of answers about all lines, the one that is more", () => {
    const [a, b] = ["a", "b"].map((productIdentifier) =>
      aPurchase({
        store: "android-store",
        lines: [aLine({ transactionIdentifier: null, productIdentifier })],
      }),
    );
    if (a === undefined || b === undefined) throw new Error("There are two.");
    for (const joined of [joinPurchases(a, b), joinPurchases(b, a)])
      expect(joined.lines.map(({ productIdentifier }) => productIdentifier)).toEqual(["b"]);
  });
  test("of what replaced it, the greater key", () => {
    const by = (key: string | null) => aPurchase({ replacedBy: key === null ? null : purchaseKey(key) });
    for (const [a, b] of [
      ["1", "2"],
      ["2", "1"],
    ] as const)
      expect(joinPurchases(by(a), by(b)).replacedBy).toBe("2");
    expect(joinPurchases(by("1"), by(null)).replacedBy).toBe("1");
    expect(joinPurchases(by(null), by("1")).replacedBy).toBe("1");
  });
});

test("of one product's transactions with one start those with the greater identifiers stay, one without is none of them", () => {
  const of = (transactionIdentifier: string | null) => aLine({ transactionIdentifier, startsAt: 10 });
  const joined = joinAll([aPurchase({ lines: [of("2"), of("3"), of(null), of("1")] })]);
  expect(joined.flatMap(lines)).toEqual(["2", "3"]);
});

test("of a lineage's very many products the newest stay, and lines are in their order", () => {
  const all = Array.from({ length: 230 }, (_, index) =>
    aLine({
      transactionIdentifier: String(index),
      productIdentifier: `p${index % 115}`,
      startsAt: 1_000 - index,
    }),
  );
  const [joined] = joinAll([aPurchase({ lines: all })]);
  expect(joined?.lines).toHaveLength(200);
  expect(joined?.lines.map(({ startsAt }) => startsAt)).toEqual(
    Array.from({ length: 200 }, (_, index) => 801 + index),
  );
});
