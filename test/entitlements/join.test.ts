import fc from "fast-check";
import { joinAll, joinPurchases } from "../../lib/entitlements/join.ts";
import {
  mentionedPurchase,
  NATURES,
  referenceText,
  samePurchase,
  STANDINGS,
  type Line,
  type Purchase,
} from "../../lib/entitlements/purchase.ts";
import { decided, eventsOf } from "../../lib/entitlements/purchase-events.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, DAY, NOW } from "../../testing/support/purchases.ts";

const lines = (purchase: Purchase): (string | null)[] =>
  purchase.lines.map((line) => line.transactionIdentifier);

describe("iOS lineages", () => {
  test("the later signed copy of a transaction wins, in either order", () => {
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
  test("the three periods of each product that end last are kept, in any order", () => {
    const of = (transactionIdentifier: string, productIdentifier: string, startsAt: number) =>
      aPurchase({
        lines: [aLine({ transactionIdentifier, productIdentifier, startsAt, endsAt: startsAt + 1 })],
      });
    const all = [of("3", "a", 3), of("1", "a", 1), of("4", "a", 4), of("2", "a", 2), of("5", "b", 0)];
    for (const order of [all, all.toReversed()]) {
      const [joined] = order.reduce<Purchase[]>((known, one) => joinAll([...known, one]), []);
      expect(joined && lines(joined)).toEqual(["5", "2", "3", "4"]);
    }
  });
  test("in Xcode, where every id is 0, each event is kept by itself", () => {
    const of = (startsAt: number) =>
      aPurchase({
        environment: "xcode",
        lines: [
          aLine({ transactionIdentifier: "0", event: String(startsAt), startsAt, endsAt: startsAt + 1 }),
        ],
      });
    const [joined] = joinAll([of(1), of(2), of(3), of(4)]);
    expect(joined?.lines.map(({ startsAt }) => startsAt)).toEqual([2, 3, 4]);
  });
  test.each([
    ["ends a millisecond after the last signing is kept", 1, ["0", "1", "2", "3"]],
    ["ends at the last signing is dropped", 0, ["1", "2", "3"]],
  ])("a period before three newer ones that %s", (_, left, expected) => {
    const of = (transactionIdentifier: string, startsAt: number, endsAt: number) =>
      aPurchase({ lines: [aLine({ transactionIdentifier, startsAt, endsAt, verifiedAt: NOW })] });
    const [joined] = joinAll([
      of("first", 0, 1),
      of("0", 1, NOW + left),
      of("1", 2, NOW + 2),
      of("2", 3, NOW + 3),
      of("3", 4, NOW + 4),
    ]);
    expect(joined && lines(joined)).toEqual(expected);
  });
  test("the current period survives ten renewals ahead of time", () => {
    const months = Array.from({ length: 11 }, (_, index) =>
      aPurchase({
        lines: [
          aLine({
            transactionIdentifier: String(index).padStart(2, "0"),
            startsAt: NOW + (index * 30 - 10) * DAY,
            endsAt: NOW + (index * 30 + 20) * DAY,
            verifiedAt: NOW - 1000 + index,
          }),
        ],
      }),
    );
    for (const order of [months, months.toReversed()]) {
      const [joined] = joinAll(order);
      expect(joined && lines(joined)).toEqual(months.flatMap(lines));
    }
  });
  test("of an event's copies those that decide and the newest are kept", () => {
    const copy = (index: number, line: Partial<Line> = {}) =>
      aPurchase({
        lines: [
          aLine({
            transactionIdentifier: String(100 + index),
            event: "w",
            startsAt: index,
            purchasedAt: index,
            endsAt: 1000,
            verifiedAt: index,
            ...line,
          }),
        ],
      });
    const many = Array.from({ length: 40 }, (_, index) =>
      copy(index, {
        ...(index % 5 === 2 && { revokedAt: 9 }),
        ...(index % 7 === 3 && { standing: "expired" }),
      }),
    );
    const [joined] = joinAll(many);
    expect(joined && lines(joined)).toEqual(["100", "137", "138", "139"]);
    expect(joinAll(many.toReversed())).toEqual(joinAll(many));
    const grown = many.reduce<Purchase[]>((known, one) => joinAll([...known, one]), []);
    expect(grown).toEqual(joinAll(many));
  });
  test.each([
    ["is one transaction, as it was signed last", "production", ["w2"]],
    ["is two transactions in Xcode, where every id is 0", "xcode", ["w1", "w2"]],
  ] as const)("an id under two web orders %s", (_, environment, events) => {
    const named = (event: string, verifiedAt: number) =>
      aPurchase({ environment, lines: [aLine({ event, verifiedAt, startsAt: verifiedAt })] });
    const [joined] = joinAll([named("w1", 1), named("w2", 2)]);
    expect(joined?.lines.map(({ event }) => event)).toEqual(events);
  });
  describe("nine copies of one event", () => {
    const copy = (id: number, verifiedAt: number, revokedAt: number | null = null) =>
      aPurchase({
        lines: [
          aLine({
            transactionIdentifier: String(id),
            event: "",
            nature: "non_consumable",
            startsAt: 1,
            purchasedAt: id,
            endsAt: null,
            revokedAt,
            verifiedAt,
          }),
        ],
      });
    /** The copy that was purchased first was signed last. */
    const nine = Array.from({ length: 9 }, (_, index) => copy(index + 1, 100 - index));
    test("end in the same state in any grouping when one is refunded later", () => {
      const refund = copy(9, 200, 5);
      expect(joinAll([...joinAll(nine), refund])).toEqual(joinAll([...nine, refund]));
    });
    test("follow the copy that was signed last, which reverses the refunds", () => {
      const refunds = Array.from({ length: 9 }, (_, index) => copy(index + 1, 10 + index, 5));
      const [joined] = joinAll([...refunds, copy(1, 99)]);
      expect(eventsOf(joined?.lines ?? []).map(decided)).toMatchObject([{ revokedAt: null, verifiedAt: 99 }]);
    });
  });
});

test("the same two transactions of one product and start are kept, in any order of facts", () => {
  const of = (transactionIdentifier: string, line: Parameters<typeof aLine>[0]) =>
    aPurchase({ lines: [aLine({ transactionIdentifier, startsAt: 10, ...line })] });
  const first = of("1", { endsAt: 30, verifiedAt: 40 });
  const others = [20, 25, 28].map((endsAt, index) => of(String(index + 2), { endsAt, verifiedAt: 40 }));
  const upgradedSince = of("1", { endsAt: 30, verifiedAt: 41, standing: "expired" });
  const before = of("0", { startsAt: 1, endsAt: 5, verifiedAt: 40 });
  const early = joinAll([...joinAll([first, ...others]), upgradedSince, before]);
  const late = joinAll([...joinAll([first, upgradedSince]), before, ...others]);
  expect(early).toEqual(late);
  expect(early[0] && lines(early[0])).toEqual(["1", "3", "4"]);
});
test("a period that was extended twice stays one and crowds out no other, in any order of facts", () => {
  const copy = (id: string, event: string, startsAt: number, endsAt: number, verifiedAt: number) =>
    aPurchase({ lines: [aLine({ transactionIdentifier: id, event, startsAt, endsAt, verifiedAt })] });
  const before = copy("1", "w1", 0, 30, 1);
  const promised = copy("2", "w2", 30, 60, 31);
  const extended = copy("2", "w2", 30, 61, 58);
  const restored = copy("3", "w2", 59, 61, 59);
  const later = copy("4", "w4", 61, 91, 100);
  const whole = joinAll([before, promised, extended, restored, later]);
  const batches = [promised, restored, before, later, extended];
  expect(batches.reduce<Purchase[]>((known, one) => joinAll([...known, one]), [])).toEqual(whole);
});
test("a lineage keeps the same periods when the first copy of one comes after its restored copy", () => {
  const copy = (id: string, event: string, startsAt: number, endsAt: number) =>
    aPurchase({
      lines: [aLine({ transactionIdentifier: id, event, startsAt, endsAt, verifiedAt: 100 })],
    });
  const first = copy("1", "w1", 0, 30);
  const periods = [copy("2", "w2", 29, 60), copy("3", "w3", 59, 90), copy("4", "w4", 89, 120)];
  const others = [...periods, copy("11", "w1", 70, 30)];
  const late = [...others, first].reduce<Purchase[]>((known, one) => joinAll([...known, one]), []);
  expect(late).toEqual(joinAll([first, ...others]));
  expect(late[0] && lines(late[0])).toEqual(["2", "3", "4"]);
});

describe("Android purchases", () => {
  const answered = (verifiedAt: number, line: Partial<Line> = {}): Purchase =>
    aPurchase({
      store: "android-store",
      verifiedAt,
      lines: [aLine({ transactionIdentifier: null, verifiedAt, ...line })],
    });
  test("a later answer replaces all lines of an earlier one", () => {
    const later = answered(2, { productIdentifier: "yearly" });
    expect(joinPurchases(answered(1), later).lines).toEqual(later.lines);
    expect(joinPurchases(later, answered(1)).lines).toEqual(later.lines);
  });
  test("an answer that shows nothing does not replace one that shows a purchase, whenever it came", () => {
    const [paid, pending, earlier] = [answered(2), { ...answered(3), lines: [] }, answered(1)];
    const orders = [
      [paid, pending, earlier],
      [pending, earlier, paid],
      [earlier, pending, paid],
    ];
    for (const [first, ...others] of orders) {
      if (first === undefined) throw new Error("There is one.");
      expect(others.reduce(joinPurchases, first)).toEqual({ ...paid, verifiedAt: 3 });
    }
  });
  test("a replaced purchase stays replaced, whatever a later answer says", () => {
    const replaced = mentionedPurchase(answered(1), purchaseKey("2"));
    expect(joinPurchases(replaced, answered(5)).replacedBy).toBe("2");
    expect(joinPurchases(answered(5), replaced).lines).toHaveLength(1);
  });
  test("selected products add up, and `null` selects all of them", () => {
    const asked = (selectedProducts: string[] | null) => ({ ...answered(1), selectedProducts });
    expect(joinPurchases(asked(["b"]), asked(["a"])).selectedProducts).toEqual(["a", "b"]);
    expect(joinPurchases(asked(["b"]), asked(null)).selectedProducts).toBeNull();
    expect(joinAll([asked(["b", "a"])])[0]?.selectedProducts).toEqual(["a", "b"]);
  });
});

describe("the join of facts", () => {
  const small = fc.integer({ min: 0, max: 3 });
  const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
  const anyLine = (store: Purchase["store"]): fc.Arbitrary<Line> =>
    fc
      .record({
        transaction: fc.integer({ min: 1, max: 12 }),
        basePlanIdentifier: nullable(fc.constantFrom("p")),
        standing: fc.constantFrom(...STANDINGS),
        revokedAt: nullable(small),
        quantity: fc.integer({ min: 1, max: 2 }),
        willRenew: nullable(fc.boolean()),
        verifiedAt: small,
      })
      // Fields that the store never changes derive from the identifier. Two neighbours are copies of one event.
      .map(({ transaction, ...line }) => {
        const event = Math.ceil(transaction / 2);
        return aLine({
          ...line,
          transactionIdentifier: store === "ios-store" ? String(transaction) : null,
          revokedSince: store === "ios-store" ? line.revokedAt : null,
          event: store === "ios-store" ? `event ${event}` : null,
          productIdentifier: event % 2 === 0 ? "even" : "odd",
          nature: NATURES[event % 4] ?? "consumable",
          startsAt: event,
          purchasedAt: transaction,
          endsAt: event % 4 === 0 ? event + 1 : event % 3 === 0 ? null : 1,
        });
      });
  /** Google names the same products in every answer about a purchase, and never the time of a refund. */
  const refundedLines: fc.Arbitrary<Line[]> = fc
    .tuple(fc.nat(1), fc.nat(1), small)
    .map(([odd, even, verifiedAt]) =>
      [odd, even].map((isRefunded, index) =>
        aLine({
          transactionIdentifier: null,
          productIdentifier: index === 0 ? "odd" : "even",
          revokedSince: isRefunded === 1 ? verifiedAt : null,
          verifiedAt,
        }),
      ),
    );
  const anyPurchase = (store: Purchase["store"], lines: fc.Arbitrary<Line[]>): fc.Arbitrary<Purchase> =>
    fc
      .record({
        lines,
        selectedProducts: nullable(fc.uniqueArray(fc.constantFrom("a", "b")).map((values) => values.sort())),
        replacedBy: nullable(fc.constantFrom("2", "3").map(purchaseKey)),
        replacedAt: nullable(small),
        verifiedAt: small,
      })
      .map(({ replacedAt, ...purchase }) =>
        aPurchase({ store, ...purchase, replacedAt: purchase.replacedBy === null ? null : replacedAt }),
      );

  const anyLines = (store: Purchase["store"]) => fc.array(anyLine(store), { maxLength: 4 });
  test.each([
    ["ios-store", "transactions", anyLines("ios-store")],
    ["android-store", "answers", anyLines("android-store")],
    ["android-store", "refunds", refundedLines],
  ] as const)(
    "is the same in any order, any grouping and any number of times (%s, %s)",
    (store, _, lines) => {
      fc.assert(
        fc.property(
          fc.array(anyPurchase(store, lines), { minLength: 1, maxLength: 6 }),
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

  test("a lineage of a thousand products stays bounded: the lines that end last are kept", () => {
    const many = Array.from({ length: 1000 }, (_, index) =>
      aPurchase({
        lines: [
          aLine({
            transactionIdentifier: String(index),
            productIdentifier: `p${index}`,
            startsAt: NOW - 2000 * DAY + index,
            endsAt: NOW - 1000 * DAY + index,
          }),
        ],
      }),
    );
    const [joined] = joinAll(many);
    expect(joined?.lines).toHaveLength(100);
    expect(joined?.lines.at(-1)?.productIdentifier).toBe("p999");
  });
});

test("joined purchases are sorted by reference", () => {
  const keys = ["3", "1", "2"].map((key) => aPurchase({ key }));
  const other = aPurchase({ key: "0", environment: "sandbox" });
  expect(joinAll([other, ...keys]).map(referenceText)).toEqual([
    "ios-store production 1",
    "ios-store production 2",
    "ios-store production 3",
    "ios-store sandbox 0",
  ]);
});

test("of two transactions with one start, the one that an upgrade ended comes first, in either order of facts", () => {
  const [upgraded, current] = [
    aPurchase({ lines: [aLine({ transactionIdentifier: "9", standing: "expired" })] }),
    aPurchase({ lines: [aLine({ transactionIdentifier: "1", productIdentifier: "yearly" })] }),
  ];
  for (const joined of [joinPurchases(upgraded, current), joinPurchases(current, upgraded)])
    expect(joined.lines.map(({ transactionIdentifier }) => transactionIdentifier)).toEqual(["9", "1"]);
});

describe("of two facts of the same moment, the same one always wins:", () => {
  test("the greater copy of a transaction", () => {
    const [paused, entitled] = (["paused", "entitled"] as const).map((standing) =>
      aPurchase({ lines: [aLine({ standing, verifiedAt: 5 })] }),
    );
    if (paused === undefined || entitled === undefined) throw new Error("There are two.");
    for (const joined of [joinPurchases(paused, entitled), joinPurchases(entitled, paused)])
      expect(joined.lines.map(({ standing }) => standing)).toEqual(["paused"]);
  });
  test("the greater answer about all lines", () => {
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
  test("the greater key of two replacements", () => {
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

describe("of two replacements, the first counts:", () => {
  const by = (key: string, replacedAt: number | null) =>
    aPurchase({ replacedBy: purchaseKey(key), replacedAt });
  test.each([
    ["the earlier", by("2", 5), by("1", 6), { replacedBy: "2", replacedAt: 5 }],
    [
      "one without a time, which replaces everything",
      by("2", 5),
      by("1", null),
      { replacedBy: "1", replacedAt: null },
    ],
    ["the greater key of two at one moment", by("2", 5), by("1", 5), { replacedBy: "2", replacedAt: 5 }],
  ])("%s", (_, a, b, expected) => {
    expect(joinPurchases(a, b)).toMatchObject(expected);
    expect(joinPurchases(b, a)).toMatchObject(expected);
  });
});

test("periods of one product with the same end are all kept", () => {
  const of = (transactionIdentifier: string) => aLine({ transactionIdentifier, startsAt: 10, endsAt: 11 });
  const joined = joinAll([aPurchase({ lines: [of("2"), of("3"), of("1")] })]);
  expect(joined.flatMap(lines)).toEqual(["1", "2", "3"]);
});

test("a lineage of two hundred products keeps the lines that end last, sorted by start", () => {
  const all = Array.from({ length: 200 }, (_, index) =>
    aLine({
      transactionIdentifier: String(index),
      productIdentifier: `p${index}`,
      startsAt: 1_000 - index,
      // The line that began first is the only one that has not ended.
      endsAt: index === 199 ? NOW + DAY : 2_000 - index,
    }),
  );
  const [joined] = joinAll([aPurchase({ lines: all })]);
  expect(joined?.lines).toHaveLength(100);
  expect(joined?.lines.map(({ startsAt }) => startsAt)).toEqual([
    801,
    ...Array.from({ length: 99 }, (_, index) => 902 + index),
  ]);
});
