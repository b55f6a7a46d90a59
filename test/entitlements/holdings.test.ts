import { marshall } from "@aws-sdk/util-dynamodb";
import { bytesOfItem } from "../../bench/meter.ts";
import type { Catalog } from "../../lib/entitlements/catalog.ts";
import { heldAlike, HOLDINGS_BYTES, holdingsOf, sameHoldings } from "../../lib/entitlements/holdings.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { encodeHoldings } from "../../lib/table/items.ts";
import {
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  DAY,
  entitlementsAt,
  NOW,
  period,
} from "../../testing/support/purchases.ts";

const CUSTOMER = customerId("00000000-0000-4000-8000-000000000001");
const DYNAMODB_ITEM_BYTES = 400 * 1024;

const keysOf = (purchases: readonly Purchase[]): string[] => purchases.map(({ key }) => key);

test("subscriptions and non-consumables are held before the catalog maps them; consumables are not", () => {
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

test("a purchase that can never grant anything is not held", () => {
  const replaced = aPurchase({ replacedBy: purchaseKey("2") });
  const pending = aPurchase({ key: "3", lines: [] });
  expect(holdingsOf([replaced, pending], aCatalog())).toEqual([]);
});

test("the newest consumables of a product are held, and revoked ones never crowd out a valid one", () => {
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
      all.map((purchase) => ({ customerIdentifier: CUSTOMER, assertedBy: null, purchase })),
      catalog,
    );
  const holdings = holdingsOf(purchases, catalog);
  for (const moment of [NOW - DAY, NOW, NOW + DAY / 2, NOW + 30 * DAY])
    expect(answerOf(holdings, moment)).toEqual(answerOf(purchases, moment));
});

test.each([
  ["", null, 200],
  [" with long base plans", "é".repeat(250), 150],
])("the largest holdings%s fit into one DynamoDB item", (_, basePlanIdentifier, fewest) => {
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
  const bytes = bytesOfItem(marshall({ holdings: encodeHoldings(holdings) }));
  expect(HOLDINGS_BYTES).toBeLessThan(DYNAMODB_ITEM_BYTES * 0.7);
  expect(bytes).toBeLessThan(DYNAMODB_ITEM_BYTES);
});

test.each<[text: string, purchase: (text: string) => Partial<Purchase>]>([
  ["transaction ids", (transactionIdentifier) => ({ lines: [aLine({ transactionIdentifier, event: "" })] })],
  ["events", (event) => ({ lines: [aLine({ event })] })],
  ["purchase options", (purchaseOptionIdentifier) => ({ lines: [aLine({ purchaseOptionIdentifier })] })],
  ["next products", (renewsInto) => ({ renewal: aRenewal({ renewsInto }) })],
])("the largest holdings with long %s fit into one DynamoDB item", (_, purchaseWith) => {
  const purchases = Array.from({ length: 1000 }, (_, index) =>
    aPurchase({ key: String(index), ...purchaseWith("é".repeat(1_000)) }),
  );
  const holdings = holdingsOf(purchases, aCatalog());
  expect(holdings.length).toBeGreaterThan(100);
  expect(bytesOfItem(marshall({ holdings: encodeHoldings(holdings) }))).toBeLessThan(DYNAMODB_ITEM_BYTES);
});

describe("holdings may take 256 KiB, by the size that a purchase has at most:", () => {
  /** A lifetime under ids of one digit: 48 bytes and its key, and for each copy 136 bytes and its texts. */
  const lifetime = (copies: number, event: number) =>
    aPurchase({
      lines: Array.from({ length: copies }, (_, index) =>
        aLine({
          transactionIdentifier: String(index),
          event: "x".repeat(event),
          productIdentifier: "p",
          nature: "non_consumable",
          endsAt: null,
        }),
      ),
    });
  const linesHeld = (purchase: Purchase) =>
    holdingsOf([purchase], aCatalog()).map(({ lines }) => lines.length);
  test.each([
    ["exactly", 0, [1]],
    ["a byte more", 1, []],
  ])("a purchase of %s that", (_, more, expected) => {
    expect(linesHeld(lifetime(1, HOLDINGS_BYTES - 48 - 1 - 136 - 2 + more))).toEqual(expected);
  });
  test.each([
    ["all copies are held of a lifetime of exactly that", 0, [3]],
    ["of one with more, only those that decide", 1, [1]],
  ])("%s", (_, more, expected) => {
    expect(linesHeld(lifetime(3, (HOLDINGS_BYTES - 48 - 1) / 3 - 136 - 2 + more))).toEqual(expected);
  });
});

describe("where there is not room for all,", () => {
  const catalog = aCatalog([
    aProduct({ productIdentifier: "chapter", grants: ["chapters"] }),
    aProduct({ productIdentifier: "plan", grants: ["premium"] }),
    aProduct({ productIdentifier: "day", grants: ["day"], accessDuration: period("P1D") }),
  ]);
  const bought = (key: string, productIdentifier: string, more: Partial<Line>): Purchase =>
    aPurchase({ key, lines: [aLine({ productIdentifier, transactionIdentifier: key, ...more })] });
  /** More than the room that the last chapter leaves. */
  const LONG = "x".repeat(1000);
  const chapters = Array.from({ length: 2000 }, (_, index) =>
    bought(`chapter-${index}`, "chapter", { nature: "non_consumable", endsAt: null }),
  );
  const held = (...others: readonly Purchase[]): readonly string[] =>
    keysOf(holdingsOf([...chapters, ...others], catalog));

  test("lifetimes of one entitlement crowd out no running subscription of another, nor any of its passes", () => {
    const passes = [1, 2, 3].map((hours) =>
      bought(`day-${hours}`, "day", {
        nature: "non_renewing",
        endsAt: null,
        startsAt: NOW - hours * 3_600_000,
      }),
    );
    const keys = held(bought("plan", "plan", { endsAt: NOW + DAY }), ...passes);
    for (const key of ["plan", "day-1", "day-2", "day-3"]) expect(keys.includes(key)).toBe(true);
    expect(keys.length).toBeGreaterThan(1000);
    expect(keys.length).toBeLessThan(2000);
  });
  test("a refunded purchase is no entitlement's best one", () => {
    const refunded = bought("plan", "plan", {
      endsAt: NOW + DAY,
      revokedAt: NOW - DAY,
      revokedSince: NOW - DAY,
      event: LONG,
    });
    expect(held(refunded).includes("plan")).toBe(false);
  });
  test("of an entitlement that a lifetime gives, what ends has room only after the lifetimes", () => {
    const both = aCatalog([
      ...catalog.products,
      aProduct({ productIdentifier: "month", grants: ["chapters"] }),
    ]);
    const month = bought("month", "month", { endsAt: NOW + DAY, event: LONG });
    expect(keysOf(holdingsOf([...chapters, month], both)).includes("month")).toBe(false);
  });
  test.each<[what: string, dead: () => Purchase]>([
    [
      "a lifetime that was refunded under one id, and restored before under another",
      () => {
        const life = {
          productIdentifier: "life",
          nature: "non_consumable",
          endsAt: null,
          event: "w",
        } as const;
        const refund = { revokedAt: NOW - DAY, revokedSince: NOW - DAY, verifiedAt: NOW - DAY };
        return aPurchase({
          key: "dead",
          lines: [
            aLine({ ...life, transactionIdentifier: "1", verifiedAt: NOW - 2 * DAY }),
            aLine({ ...life, transactionIdentifier: "2", ...refund }),
          ],
        });
      },
    ],
    [
      "a year that was upgraded, to a month that is over",
      () =>
        aPurchase({
          key: "dead",
          lines: [
            aLine({
              productIdentifier: "plan",
              transactionIdentifier: "1",
              startsAt: NOW - 50 * DAY,
              endsAt: NOW + 300 * DAY,
              standing: "expired",
              verifiedAt: NOW - 40 * DAY,
            }),
            aLine({
              productIdentifier: "other",
              transactionIdentifier: "2",
              startsAt: NOW - 40 * DAY,
              endsAt: NOW - 10 * DAY,
            }),
          ],
        }),
    ],
    [
      "a year that another lineage replaced",
      () => ({
        ...bought("dead", "plan", { startsAt: NOW - 50 * DAY, endsAt: NOW + 300 * DAY }),
        replacedBy: purchaseKey("9"),
        replacedAt: NOW - 40 * DAY,
      }),
    ],
    [
      "what was bought in the sandbox",
      () => ({ ...bought("dead", "plan", { endsAt: NOW + 300 * DAY }), environment: "sandbox" }),
    ],
  ])("no running subscription gives way to what is over, or counts after it: %s", (_, dead) => {
    const sold = aCatalog([
      ...catalog.products,
      aProduct({ productIdentifier: "life", grants: ["premium"] }),
    ]);
    const plan = bought("plan", "plan", { endsAt: NOW + DAY, event: LONG });
    const keys = keysOf(holdingsOf([...chapters, dead(), plan], sold));
    expect(keys.includes("plan")).toBe(true);
  });
  test("one that does not fit takes no room from those that do", () => {
    const large = bought("a-large", "plan", { endsAt: NOW + DAY, event: "x".repeat(HOLDINGS_BYTES) });
    const keys = held(large, bought("plan", "plan", { endsAt: NOW + 1 }));
    expect(keys.includes("plan")).toBe(true);
    expect(keys.includes("a-large")).toBe(false);
    expect(keys.length).toBeGreaterThan(1000);
  });
});

describe("of one product that is bought often", () => {
  const store = "android-store";
  const film = aProduct({ store, productIdentifier: "film" });
  const sold = aCatalog([
    film,
    { ...film, purchaseOptionIdentifier: "rent", accessDuration: period("P1D") },
    { ...film, productIdentifier: "coins" },
  ]);
  const rent = { purchaseOptionIdentifier: "rent", rented: true };
  const buy = { purchaseOptionIdentifier: "buy" };
  const refunded = { standing: "revoked" } as const;
  const until = (days: number) => ({ endsAt: NOW + days * DAY });

  /** A purchase so many days from now, with one of the product's options in each line. */
  const bought = (days: number, ...lines: readonly Parameters<typeof aLine>[0][]) =>
    aPurchase({
      store,
      key: `at ${days}`,
      lines: lines.map((line) =>
        aLine({
          transactionIdentifier: null,
          productIdentifier: "film",
          nature: "consumable",
          startsAt: NOW + days * DAY,
          endsAt: null,
          ...line,
        }),
      ),
    });
  const each = (count: number, purchaseAt: (index: number) => Purchase) =>
    Array.from({ length: count }, (_, index) => purchaseAt(index));

  test.each<[rule: string, held: number, purchases: readonly Purchase[]]>([
    ["forty rentals are held, each begun as the one before ended", 40, each(60, (at) => bought(at, rent))],
    ["all rentals that prolong each other are held", 60, each(60, (at) => bought(at / 100, rent))],
    [
      "they are although a lifetime was bought long after",
      61,
      [...each(60, (at) => bought(at / 100, rent)), bought(100, buy)],
    ],
    [
      "they are although a lifetime that was bought long after was refunded",
      61,
      [...each(60, (at) => bought(at / 100, rent)), bought(100, { ...buy, ...refunded })],
    ],
    [
      "they are although a lifetime was bought and refunded with each",
      60,
      each(60, (at) => bought(at / 100, { ...buy, ...refunded }, rent)),
    ],
    [
      "all that overlap by ends of their own are held",
      60,
      each(60, (at) => bought(at, { ...buy, ...refunded }, { ...buy, ...until(at + 2) })),
    ],
    [
      "an end of its own goes before the catalog's duration",
      60,
      each(60, (at) => bought(at, { ...rent, ...refunded }, { ...rent, ...until(at + 2) })),
    ],
    [
      "forty lifetimes are held and none of them crowds out a rental",
      45,
      [...each(45, (at) => bought(at, buy)), ...each(5, (at) => bought(-100 * (at + 1), rent))],
    ],
    [
      "forty rentals are held and none of them crowds out a lifetime that was bought with a rental",
      41,
      [...each(45, (at) => bought(2 * at, rent)), bought(-100, rent, buy)],
    ],
    [
      "forty lifetimes and ten refunded ones before them are held",
      50,
      [...each(45, (at) => bought(at, buy)), ...each(20, (at) => bought(-1 - at, { ...buy, ...refunded }))],
    ],
  ])("%s", (_, held, purchases) => {
    expect(holdingsOf(purchases, sold)).toHaveLength(held);
    expect(holdingsOf(purchases.toReversed(), sold)).toHaveLength(held);
  });

  test("rentals without a duration, bought with a mapped product, crowd no lifetime out", () => {
    const withoutDuration = aCatalog([film, { ...film, productIdentifier: "coins" }]);
    const newer = each(45, (at) => bought(at, rent, { productIdentifier: "coins" }));
    expect(keysOf(holdingsOf([...newer, bought(-100, buy)], withoutDuration))).toContain("at -100");
  });
  test.each([
    ["all stay that are held already while the catalog does not map them", "other", 60],
    ["forty are held of those that it maps, held already or not", "film", 40],
  ])("%s", (_, productIdentifier, held) => {
    const purchases = each(60, (at) => bought(at, { productIdentifier }));
    expect(holdingsOf(purchases, sold, () => true)).toHaveLength(held);
  });
});

test("the largest number of short purchases fits into one DynamoDB item too", () => {
  const purchases = Array.from({ length: 2000 }, (_, index) =>
    aPurchase({
      key: String(index),
      lines: [aLine({ productIdentifier: "m", transactionIdentifier: String(index), willRenew: true })],
    }),
  );
  const holdings = holdingsOf(purchases, aCatalog());
  expect(holdings.length).toBeLessThan(2000);
  const bytes = bytesOfItem(marshall({ holdings: encodeHoldings(holdings) }));
  expect(bytes).toBeLessThan(DYNAMODB_ITEM_BYTES);
});

test.each([
  [48, 32],
  [300, 6],
  [800, 2],
])("%i lifetimes, each under %i ids, crowd nothing out", (products, ids) => {
  const nameOf = (index: number) => `com.example.trails.map.${String(index).padStart(3, "0")}`;
  const sold = Array.from({ length: products }, (_, index) => nameOf(index));
  const lifetimes = sold.map((productIdentifier, index) =>
    aPurchase({
      key: String(200_000_000_000_000 + index),
      lines: Array.from({ length: ids }, (_, copy) =>
        aLine({
          transactionIdentifier: String(200_000_000_000_000 + copy * products + index),
          event: "",
          productIdentifier,
          nature: "non_consumable",
          startsAt: NOW - 500 * DAY,
          purchasedAt: NOW - (500 - copy) * DAY,
          endsAt: null,
          verifiedAt: NOW - (500 - copy) * DAY,
        }),
      ),
    }),
  );
  const catalog = aCatalog([
    aProduct(),
    ...sold.map((productIdentifier) => aProduct({ productIdentifier, grants: [productIdentifier] })),
  ]);
  const purchases = [...lifetimes, aPurchase()];
  const answerOf = (all: readonly Purchase[]) =>
    entitlementsAt(
      NOW,
      all.map((purchase) => ({ customerIdentifier: CUSTOMER, assertedBy: null, purchase })),
      catalog,
    );
  const answer = answerOf(holdingsOf(purchases, catalog));
  expect(answer).toHaveLength(products + 1);
  expect(answer).toEqual(answerOf(purchases));
});

describe("a mapped active purchase is not crowded out", () => {
  const catalogs = {
    "ios-store": aCatalog([aProduct({ productIdentifier: "forever" })]),
    "android-store": aCatalog([aProduct({ store: "android-store", productIdentifier: "forever" })]),
  };
  const bought = (store: Purchase["store"], key: string, line: Parameters<typeof aLine>[0]) =>
    aPurchase({
      store,
      key,
      lines: [
        aLine({
          transactionIdentifier: store === "ios-store" ? key : null,
          nature: "consumable",
          endsAt: null,
          startsAt: NOW - 2000 * DAY,
          ...line,
        }),
      ],
    });
  const lifetimeOf = (store: Purchase["store"]) =>
    bought(store, "lifetime", {
      productIdentifier: "forever",
      nature: store === "ios-store" ? "non_consumable" : "consumable",
    });
  const statusOf = (store: Purchase["store"], purchases: readonly Purchase[]) =>
    entitlementsAt(
      NOW,
      holdingsOf(purchases, catalogs[store]).map((purchase) => ({
        customerIdentifier: CUSTOMER,
        assertedBy: null,
        purchase,
      })),
      catalogs[store],
    )[0]?.status;

  describe.each(["ios-store", "android-store"] as const)("%s", (store) => {
    test("by 1,100 unmapped coin packs, which are not held", () => {
      const coins = Array.from({ length: 1100 }, (_, index) =>
        bought(store, `coins ${index}`, { productIdentifier: "coins", startsAt: NOW - index }),
      );
      const all = [...coins, lifetimeOf(store)];
      expect(keysOf(holdingsOf(all, catalogs[store]))).toEqual(["lifetime"]);
      expect(statusOf(store, all)).toBe("active");
    });
    test.each([
      ["unmapped subscriptions", { nature: "auto_renewable", endsAt: NOW + 300 * DAY }],
      ["unmapped lifetimes", { nature: "non_consumable" }],
      ["refunded lifetimes of the same product", { productIdentifier: "forever", revokedAt: NOW }],
    ] as const)("by 2,000 %s", (_, line) => {
      const others = Array.from({ length: 2000 }, (_, index) =>
        bought(store, `a ${index}`, { productIdentifier: `other ${index}`, startsAt: NOW - index, ...line }),
      );
      expect(statusOf(store, [...others, lifetimeOf(store)])).toBe("active");
    });
    test("by 2,000 mapped subscriptions that have ended", () => {
      const catalog = aCatalog([
        aProduct({ store, productIdentifier: "forever" }),
        aProduct({ store, productIdentifier: "monthly", grants: ["other"] }),
      ]);
      const over = Array.from({ length: 2000 }, (_, index) =>
        bought(store, `a ${index}`, { nature: "auto_renewable", endsAt: NOW - index }),
      );
      expect(keysOf(holdingsOf([...over, lifetimeOf(store)], catalog))).toContain("lifetime");
    });
  });

  test("when it shares a purchase with an unmapped product that is bought often", () => {
    const both = aPurchase({
      store: "android-store",
      key: "both",
      lines: ["coins", "forever"].map((productIdentifier) =>
        aLine({
          transactionIdentifier: null,
          productIdentifier,
          nature: "consumable",
          startsAt: NOW - 2000 * DAY,
          endsAt: null,
        }),
      ),
    });
    const others = Array.from({ length: 1100 }, (_, index) =>
      bought("android-store", `a ${index}`, { productIdentifier: "coins", startsAt: NOW - index }),
    );
    expect(statusOf("android-store", [...others, both])).toBe("active");
  });

  describe("by newer purchases of its own product that grant less:", () => {
    const film = aProduct({ store: "android-store", productIdentifier: "forever" });
    const rental = { ...film, purchaseOptionIdentifier: "rent", accessDuration: period("P1D") };
    const rented = { productIdentifier: "forever", purchaseOptionIdentifier: "rent", rented: true };
    const refunded = { productIdentifier: "forever", standing: "revoked" } as const;
    const stays = (catalog: Catalog, ...lines: readonly Parameters<typeof aLine>[0][]) => {
      const newer = Array.from({ length: 45 }, (_, index) =>
        aPurchase({
          store: "android-store",
          key: `a ${index}`,
          lines: lines.map((line) =>
            aLine({
              transactionIdentifier: null,
              nature: "consumable",
              endsAt: null,
              startsAt: NOW - (60 + index) * DAY,
              ...line,
            }),
          ),
        }),
      );
      return keysOf(holdingsOf([...newer, lifetimeOf("android-store")], catalog)).includes("lifetime");
    };
    test("rentals without a duration in the catalog, which grant nothing", () => {
      expect(stays(aCatalog([film]), rented)).toBe(true);
    });
    test("rentals, which end", () => {
      expect(stays(aCatalog([film, rental]), rented)).toBe(true);
    });
    test("purchases of several products in which this one was refunded", () => {
      expect(stays(aCatalog([film]), refunded, { productIdentifier: "coins" })).toBe(true);
    });
  });

  test.each([60, 200])("when it is one of %d day passes bought at once, which give a day each", (count) => {
    const catalog = aCatalog([aProduct({ productIdentifier: "pass", accessDuration: period("P1D") })]);
    const passes = Array.from({ length: count }, (_, index) =>
      bought("ios-store", `p ${index}`, {
        nature: "non_renewing",
        productIdentifier: "pass",
        startsAt: NOW + index,
      }),
    );
    const holdings = holdingsOf(passes, catalog).map((purchase) => ({
      customerIdentifier: CUSTOMER,
      assertedBy: null,
      purchase,
    }));
    const at = (moment: number) => entitlementsAt(moment, holdings, catalog)[0]?.status;
    expect(at(NOW + count * DAY - 1)).toBe("active");
    expect(at(NOW + count * DAY)).toBe("expired");
  });
});

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
  /** A purchase so large that about 60 of them fill the holdings. */
  const large = (key: string, line: Parameters<typeof aLine>[0]) =>
    aPurchase({
      key,
      lines: [aLine({ productIdentifier: key.padEnd(4_000, "x"), endsAt: null, ...line })],
    });
  const many = (prefix: string, line: (index: number) => Parameters<typeof aLine>[0]) =>
    Array.from({ length: 40 }, (_, index) =>
      large(`${prefix}${String(index).padStart(2, "0")}`, line(index)),
    );

  test("subscriptions come first, then non-consumables, then passes", () => {
    const subscriptions = many("c", () => ({ nature: "auto_renewable", startsAt: 1 }));
    const owned = many("b", () => ({ nature: "non_consumable", startsAt: 2 }));
    const passes = many("a", () => ({ nature: "non_renewing", startsAt: 3 }));
    const held = keysOf(holdingsOf([...passes, ...owned, ...subscriptions], aCatalog()));
    expect(held.filter((key) => key.startsWith("c"))).toHaveLength(40);
    expect(held.filter((key) => key.startsWith("b")).length).toBeGreaterThan(15);
    expect(held.filter((key) => key.startsWith("a"))).toEqual([]);
    expect(held).toEqual(held.toSorted());
  });

  test.each<
    [
      rule: string,
      first: Parameters<typeof aLine>[0][],
      then: Parameters<typeof aLine>[0][],
      catalog: "mapped" | "unmapped",
    ]
  >([
    [
      "revoked ones come last, however new",
      [{ nature: "non_consumable", startsAt: 1 }],
      [{ nature: "non_consumable", startsAt: 2, revokedAt: 3 }],
      "unmapped",
    ],
    [
      "one with a line that is not revoked comes before revoked ones",
      [
        { nature: "non_consumable", startsAt: 1, revokedAt: 3 },
        { nature: "non_consumable", startsAt: 1 },
      ],
      [{ nature: "non_consumable", startsAt: 2, revokedAt: 3 }],
      "unmapped",
    ],
    [
      "the latest start of its lines decides how new one is",
      [
        { nature: "non_consumable", startsAt: 1 },
        { nature: "non_consumable", startsAt: 9 },
      ],
      [{ nature: "non_consumable", startsAt: 5 }],
      "unmapped",
    ],
    [
      "the latest end of its lines decides when one ends",
      [{ endsAt: NOW + 1 }, { endsAt: 9 }],
      [{ endsAt: NOW }],
      "unmapped",
    ],
    [
      "a subscription ends at its own end, whatever duration the catalog gives",
      [{ startsAt: 1, endsAt: NOW + 1 }],
      [{ startsAt: 2, endsAt: NOW }],
      "mapped",
    ],
    [
      "refunded units of a pass do not count",
      [{ nature: "non_renewing", startsAt: 1, quantity: 2 }],
      [{ nature: "non_renewing", startsAt: 1, quantity: 10, refundedQuantity: 9 }],
      "mapped",
    ],
  ])("%s", (_, first, then, mapped) => {
    const of = (prefix: string, [line, ...others]: readonly Parameters<typeof aLine>[0][]) =>
      many(prefix, () => ({ ...line })).map((purchase) => ({
        ...purchase,
        lines: [
          ...purchase.lines,
          ...others.map((other) =>
            aLine({ transactionIdentifier: "2", productIdentifier: "other", endsAt: null, ...other }),
          ),
        ],
      }));
    const purchases = [...of("b", first), ...of("a", then)];
    const products = purchases.flatMap(({ lines }) =>
      lines.map(({ productIdentifier }) => aProduct({ productIdentifier, accessDuration: period("P1D") })),
    );
    const catalog = mapped === "mapped" ? aCatalog(products) : aCatalog();
    for (const order of [purchases, purchases.toReversed()]) {
      const held = keysOf(holdingsOf(order, catalog));
      expect(held.filter((key) => key.startsWith("b"))).toHaveLength(40);
      expect(held.length).toBeLessThan(80);
    }
  });

  test("copies of a subscription's period stay, also beside a lifetime", () => {
    const copies = ["1", "2", "3"].map((transactionIdentifier) =>
      aLine({ transactionIdentifier, event: "w" }),
    );
    const owned = aLine({ transactionIdentifier: "4", nature: "non_consumable", endsAt: null });
    const purchases = [
      aPurchase({ key: "0", lines: copies }),
      aPurchase({ key: "1", lines: [...copies, owned] }),
      ...many("a", () => ({ nature: "non_consumable" })),
      ...many("b", () => ({ nature: "non_consumable" })),
    ];
    const held = holdingsOf(purchases, aCatalog());
    expect(held.length).toBeLessThan(82);
    expect(held.slice(0, 2).map(({ lines }) => lines.length)).toEqual([3, 4]);
  });

  test("the newest of one nature come first", () => {
    const owned = many("b", (index) => ({ nature: "non_consumable", startsAt: index }));
    const more = many("a", (index) => ({ nature: "non_consumable", startsAt: 100 + index }));
    const held = keysOf(holdingsOf([...owned, ...more], aCatalog()));
    expect(held.filter((key) => key.startsWith("a"))).toHaveLength(40);
    const oldest = held.filter((key) => key.startsWith("b"));
    expect(oldest).toEqual(keysOf(owned).slice(-oldest.length));
  });
});

describe("for a purchase with several lines,", () => {
  const passes = (lines: (index: number) => readonly Parameters<typeof aLine>[0][]) =>
    Array.from({ length: 60 }, (_, index) =>
      aPurchase({
        key: String(index).padStart(2, "0"),
        lines: lines(index).map((line, at) =>
          aLine({ nature: "non_renewing", transactionIdentifier: `${index} ${at}`, endsAt: null, ...line }),
        ),
      }),
    );
  test("the latest start decides how new it is", () => {
    const held = holdingsOf(
      passes((index) => [{ startsAt: index }, { startsAt: 100 - index }].map((line) => ({ ...line }))),
      aCatalog(),
    );
    // The purchases near the middle have the earliest latest starts.
    expect(keysOf(held)).not.toContain("50");
    expect(keysOf(held)).toContain("00");
  });
  test("it is revoked when all of them are, by a refund or by their standing", () => {
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
  test("the nature that lasts longest counts, and one mapped line is enough", () => {
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

describe("holdings are the same", () => {
  const [one, two] = [aPurchase({ key: "1" }), aPurchase({ key: "2" })];
  const other = aPurchase({ key: "1", lines: [aLine({ endsAt: NOW })] });
  const replaced = aPurchase({ key: "1", replacedBy: purchaseKey("2"), replacedAt: NOW });
  test("for one purchase with the same lines, whatever its other fields", () => {
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
    [one, aPurchase({ key: "1", replacedBy: purchaseKey("2") })],
    [replaced, { ...replaced, replacedBy: purchaseKey("3") }],
    [replaced, { ...replaced, replacedAt: NOW + 1 }],
    [one, aPurchase({ key: "1", renewal: aRenewal() })],
  ])("not for anything else: %#", (a, b) => {
    expect(heldAlike(a, b)).toBe(false);
  });
  test("when the lists have the same length and the same members in the same order", () => {
    expect(sameHoldings([], [])).toBe(true);
    expect(sameHoldings([one, two], [aPurchase({ key: "1" }), aPurchase({ key: "2" })])).toBe(true);
    for (const holdings of [[], [one], [two, one], [one, one], [other, two], [one, two, two]])
      expect(sameHoldings([one, two], holdings)).toBe(false);
  });
});
