import { marshall } from "@aws-sdk/util-dynamodb";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import { heldAlike, holdingsOf, HOLDINGS_BYTES, sameHoldings } from "../../lib/entitlements/holdings.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { encodeHoldings } from "../../lib/table/items.ts";
import { aCatalog, aLine, aProduct, aPurchase, DAY, NOW, period } from "../support/purchases.ts";

const CUSTOMER = customerId("00000000-0000-4000-8000-000000000001");
const DYNAMODB_ITEM_BYTES = 400 * 1024;

const keysOf = (purchases: readonly Purchase[]): string[] => purchases.map(({ key }) => key);

test("subscriptions and non-consumables are held before the catalog maps them, consumables are not", () => {
  const purchases = (["auto_renewable", "non_renewing", "non_consumable", "consumable"] as const).map(
    (nature, index) =>
      aPurchase({ key: String(index), lines: [aLine({ nature, productIdentifier: "new" })] }),
  );
  expect(keysOf(holdingsOf(purchases, aCatalog()))).toEqual(["0", "1", "2"]);
  expect(keysOf(holdingsOf(purchases, aCatalog([aProduct({ productIdentifier: "new" })])))).toEqual([
    "0",
    "1",
    "2",
    "3",
  ]);
});

test("what grants nothing for good is not held", () => {
  const replaced = aPurchase({ replacedBy: purchaseKey("2") });
  const pending = aPurchase({ key: "3", lines: [] });
  expect(holdingsOf([replaced, pending], aCatalog())).toEqual([]);
});

test("of what can be bought again and again the newest are held, and a valid one is never crowded out by revoked ones", () => {
  const passes = Array.from({ length: 200 }, (_, index) =>
    aPurchase({
      key: String(index).padStart(3, "0"),
      lines: [
        aLine({
          nature: "consumable",
          startsAt: NOW - index,
          endsAt: null,
          revokedAt: index < 150 ? NOW : null,
        }),
      ],
    }),
  );
  const held = keysOf(holdingsOf(passes, aCatalog()));
  expect(held).toHaveLength(50);
  expect(held).toContain("000");
  expect(held).toContain("150");
});

test("a purchase of two products is held while it is among the newest of either", () => {
  const store = "android-store";
  const line = (productIdentifier: string, startsAt: number) =>
    aLine({ productIdentifier, startsAt, nature: "consumable", endsAt: null, transactionIdentifier: null });
  const both = aPurchase({ store, key: "0", lines: [line("coins", NOW - 1000), line("map", NOW - 1000)] });
  const many = Array.from({ length: 40 }, (_, index) =>
    aPurchase({ store, key: String(index + 1), lines: [line("coins", NOW - index)] }),
  );
  const catalog = aCatalog([
    aProduct({ store, productIdentifier: "coins", grants: ["coins"] }),
    aProduct({ store, productIdentifier: "map", grants: ["maps"] }),
  ]);
  expect(keysOf(holdingsOf([both, ...many], catalog))).toHaveLength(41);
  expect(keysOf(holdingsOf([both, ...many], catalog))).toContain("0");
});

test("the order of purchases does not matter", () => {
  const purchases = Array.from({ length: 120 }, (_, index) =>
    aPurchase({ key: String(index), lines: [aLine({ nature: "consumable", startsAt: NOW - (index % 7) })] }),
  );
  expect(holdingsOf(purchases.toReversed(), aCatalog())).toEqual(holdingsOf(purchases, aCatalog()));
});

test("answers from holdings equal answers from all purchases", () => {
  const catalog = aCatalog([
    aProduct(),
    aProduct({ productIdentifier: "pass", grants: ["day"], accessDuration: period("P1D") }),
  ]);
  const purchases = Array.from({ length: 400 }, (_, index) =>
    aPurchase({
      key: String(index),
      environment: index % 5 === 0 ? "sandbox" : "production",
      lines: [
        aLine(
          index % 3 === 0
            ? { startsAt: NOW - index * DAY, endsAt: NOW - (index - 20) * DAY }
            : {
                productIdentifier: "pass",
                nature: index % 2 === 0 ? "consumable" : "non_renewing",
                startsAt: NOW - index * 1000,
                endsAt: null,
                revokedAt: index % 4 === 0 ? NOW - 1 : null,
              },
        ),
      ],
    }),
  );
  const answerOf = (all: readonly Purchase[], moment: number) =>
    entitlementsAt(
      moment,
      all.map((purchase) => ({ customerIdentifier: CUSTOMER, purchase })),
      catalog,
    );
  const holdings = holdingsOf(purchases, catalog);
  for (const moment of [NOW - DAY, NOW, NOW + DAY / 2, NOW + 30 * DAY])
    expect(answerOf(holdings, moment)).toEqual(answerOf(purchases, moment));
});

test.each([
  ["", null, 250],
  [" of long base plans", "é".repeat(250), 150],
])(
  "the largest holdings%s stay far below what DynamoDB stores in one item",
  (_, basePlanIdentifier, fewest) => {
    const long = (index: number) => `${String(index).padStart(4, "0")}${"é".repeat(250)}`;
    const purchases = Array.from({ length: 1000 }, (_, index) =>
      aPurchase({
        key: long(index).slice(0, 128),
        lines: [
          aLine({
            nature: "non_consumable",
            productIdentifier: long(index),
            basePlanIdentifier,
            transactionIdentifier: "x".repeat(128),
          }),
        ],
      }),
    );
    const holdings = holdingsOf(purchases, aCatalog());
    expect(holdings.length).toBeGreaterThan(fewest);
    const bytes = Buffer.byteLength(JSON.stringify(marshall({ holdings: encodeHoldings(holdings) })));
    expect(HOLDINGS_BYTES).toBeLessThan(DYNAMODB_ITEM_BYTES * 0.7);
    expect(bytes).toBeLessThan(DYNAMODB_ITEM_BYTES);
  },
);

test("a thousand ordinary purchases are all held", () => {
  const purchases = Array.from({ length: 1000 }, (_, index) =>
    aPurchase({
      key: `2000000${index}`,
      lines: [aLine({ nature: "non_consumable", productIdentifier: `com.example.trails.map.${index}` })],
    }),
  );
  expect(holdingsOf(purchases, aCatalog())).toHaveLength(1000);
});

describe("when not everything fits", () => {
  /** So many bytes of its own that about 60 of them fill what is held. */
  const large = (key: string, line: Parameters<typeof aLine>[0]) =>
    aPurchase({
      key,
      lines: [aLine({ productIdentifier: key.padEnd(4_000, "x"), endsAt: null, ...line })],
    });
  const many = (prefix: string, line: (index: number) => Parameters<typeof aLine>[0]) =>
    Array.from({ length: 40 }, (_, index) =>
      large(`${prefix}${String(index).padStart(2, "0")}`, line(index)),
    );

  test("subscriptions come first, then what is owned, then what is bought again and again", () => {
    const subscriptions = many("c", () => ({ nature: "auto_renewable", startsAt: 1 }));
    const owned = many("b", () => ({ nature: "non_consumable", startsAt: 2 }));
    const passes = many("a", () => ({ nature: "non_renewing", startsAt: 3 }));
    const held = keysOf(holdingsOf([...passes, ...owned, ...subscriptions], aCatalog()));
    expect(held.filter((key) => key.startsWith("c"))).toHaveLength(40);
    expect(held.filter((key) => key.startsWith("b")).length).toBeGreaterThan(15);
    expect(held.filter((key) => key.startsWith("a"))).toEqual([]);
    expect(held).toEqual(held.toSorted());
  });

  test("of one nature the newest come first", () => {
    const owned = many("b", (index) => ({ nature: "non_consumable", startsAt: index }));
    const more = many("a", (index) => ({ nature: "non_consumable", startsAt: 100 + index }));
    const held = keysOf(holdingsOf([...owned, ...more], aCatalog()));
    expect(held.filter((key) => key.startsWith("a"))).toHaveLength(40);
    const oldest = held.filter((key) => key.startsWith("b"));
    expect(oldest).toEqual(keysOf(owned).slice(-oldest.length));
  });
});

describe("of a purchase with several lines", () => {
  const passes = (lines: (index: number) => readonly Parameters<typeof aLine>[0][]) =>
    Array.from({ length: 60 }, (_, index) =>
      aPurchase({
        key: String(index).padStart(2, "0"),
        lines: lines(index).map((line, at) =>
          aLine({ nature: "non_renewing", transactionIdentifier: `${index} ${at}`, endsAt: null, ...line }),
        ),
      }),
    );
  test("the latest start says how new it is", () => {
    const held = holdingsOf(
      passes((index) => [{ startsAt: index }, { startsAt: 100 - index }].map((line) => ({ ...line }))),
      aCatalog(),
    );
    // Those near the middle have the smallest latest starts.
    expect(keysOf(held)).not.toContain("50");
    expect(keysOf(held)).toContain("00");
  });
  test("it is revoked when all of them are, by a refund or as they stand", () => {
    const revoked = holdingsOf(
      passes((index) => [{ revokedAt: NOW }, index % 2 === 0 ? { standing: "revoked" } : { revokedAt: 1 }]),
      aCatalog(),
    );
    expect(revoked).toHaveLength(10);
    const partly = holdingsOf(
      passes(() => [{ revokedAt: NOW }, {}]),
      aCatalog(),
    );
    expect(partly).toHaveLength(40);
  });
  test("it is of the nature that lasts longest, and a mapped line is enough", () => {
    const mixed = aPurchase({
      lines: [
        aLine({ nature: "consumable", productIdentifier: "coins", transactionIdentifier: "1" }),
        aLine({ nature: "non_consumable", productIdentifier: "new", transactionIdentifier: "2" }),
      ],
    });
    expect(holdingsOf([mixed], aCatalog())).toHaveLength(1);
    const coins = aPurchase({
      lines: ["coins", "monthly"].map((productIdentifier, index) =>
        aLine({ nature: "consumable", productIdentifier, transactionIdentifier: String(index) }),
      ),
    });
    expect(holdingsOf([coins], aCatalog())).toHaveLength(1);
    expect(holdingsOf([coins], aCatalog([]))).toEqual([]);
  });
});

describe("what is held alike", () => {
  const [one, two] = [aPurchase({ key: "1" }), aPurchase({ key: "2" })];
  const other = aPurchase({ key: "1", lines: [aLine({ endsAt: NOW })] });
  test("is the same purchase with the same lines, whatever else is known of it", () => {
    expect(heldAlike(one, aPurchase({ key: "1", verifiedAt: 5, selectedProducts: ["a"] }))).toBe(true);
    expect(heldAlike(undefined, undefined)).toBe(true);
  });
  test.each([
    [one, undefined],
    [undefined, one],
    [one, two],
    [one, other],
    [one, aPurchase({ key: "1", environment: "sandbox" })],
    [one, aPurchase({ key: "1", store: "android-store" })],
  ])("is not anything else: %#", (a, b) => {
    expect(heldAlike(a, b)).toBe(false);
  });
  test("are lists of the same length, each like the other", () => {
    expect(sameHoldings([], [])).toBe(true);
    expect(sameHoldings([one, two], [aPurchase({ key: "1" }), aPurchase({ key: "2" })])).toBe(true);
    for (const holdings of [[], [one], [two, one], [one, one], [other, two], [one, two, two]])
      expect(sameHoldings([one, two], holdings)).toBe(false);
  });
});
