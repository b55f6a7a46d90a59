import fc from "fast-check";
import type { Holding } from "../../lib/entitlements/holding.ts";
import { splitsPasses } from "../../lib/entitlements/access.ts";
import { joinAll } from "../../lib/entitlements/join.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { cases, TIMEOUT } from "../support/proof.ts";
import {
  aCatalog,
  aLine,
  aPassOption,
  aProduct,
  aPurchase,
  DAY,
  entitlementsAt,
  NOW,
  period,
} from "../support/purchases.ts";

const [ONE, OTHER] = ["1", "2"].map((digit) => customerId(`00000000-0000-4000-8000-00000000000${digit}`));
if (ONE === undefined || OTHER === undefined) throw new Error("There are two.");

const catalog = aCatalog([
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "week", accessDuration: period("P7D") }),
  aProduct({ store: "android-store", productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "month", accessDuration: period("P1M") }),
  aProduct(),
]);

const T = NOW;

/** A day pass with a transaction and a lineage of its own. */
const aPass = (key: string, line: Partial<Line> = {}, purchase: Partial<Purchase> = {}): Purchase => ({
  ...aPurchase({
    key,
    lines: [
      aLine({
        transactionIdentifier: purchase.store === "android-store" ? null : key,
        productIdentifier: "pass",
        nature: "non_renewing",
        startsAt: T,
        endsAt: null,
        ...line,
      }),
    ],
  }),
  ...purchase,
});

const heldBy = (
  customerIdentifier: Holding["customerIdentifier"],
  ...purchases: readonly Purchase[]
): Holding[] => purchases.map((purchase) => ({ customerIdentifier, assertedBy: "credential", purchase }));

const statusAt = (moment: number, holdings: readonly Holding[]): string | undefined =>
  entitlementsAt(moment, holdings, catalog)[0]?.status;

/** Days of uninterrupted access, in steps of a quarter of an hour. */
const days = (...purchases: readonly Purchase[]): number => {
  const holdings = heldBy(ONE, ...purchases);
  const step = DAY / 96;
  let end = T;
  while (statusAt(end, holdings) === "active") end += step;
  expect(statusAt(end - 1, holdings)).toBe("active");
  return (end - T) / DAY;
};

describe("passes of one product add up", () => {
  test.each<[rule: string, expected: number, passes: Purchase[]]>([
    ["one lasts its duration", 1, [aPass("1")]],
    ["two bought at once last twice as long", 2, [aPass("1"), aPass("2")]],
    ["the second begins where the first ends", 2, [aPass("1"), aPass("2", { startsAt: T + DAY / 2 })]],
    [
      "three bought in a row last three times as long",
      3,
      [aPass("1"), aPass("2", { startsAt: T + DAY / 2 }), aPass("3", { startsAt: T + DAY })],
    ],
    ["one bought as the previous one ends continues it", 2, [aPass("1"), aPass("2", { startsAt: T + DAY })]],
    ["after a gap, the next begins at its purchase", 1, [aPass("1"), aPass("2", { startsAt: T + 2 * DAY })]],
    ["a quantity of three lasts three times as long", 3, [aPass("1", { quantity: 3 })]],
    [
      "a pass bought during a quantity of three begins after it",
      4,
      [aPass("1", { quantity: 3 }), aPass("2", { startsAt: T + DAY })],
    ],
    ["one of three refunded leaves two", 2, [aPass("1", { quantity: 3, refundedQuantity: 1 })]],
    ["two of three refunded leave one", 1, [aPass("1", { quantity: 3, refundedQuantity: 2 })]],
    [
      "a pass refunded before it begins gives its place to the next",
      2,
      [aPass("1"), aPass("2", { startsAt: T + 1, revokedAt: T + 2 }), aPass("3", { startsAt: T + 3 })],
    ],
    [
      "a pass refunded while it runs ends at the refund",
      1.5,
      [aPass("1", { revokedAt: T + DAY / 2 }), aPass("2", { startsAt: T + 1 })],
    ],
    [
      "a pass refunded after its end keeps its time",
      2,
      [aPass("1", { revokedAt: T + 9 * DAY }), aPass("2", { startsAt: T + DAY / 2 })],
    ],
    [
      "units used before a partial refund stay used",
      3,
      [
        aPass("1", { quantity: 2, refundedQuantity: 1, revokedSince: T + 2.5 * DAY }),
        aPass("2", { startsAt: T + DAY / 2 }),
      ],
    ],
    [
      "a unit refunded before it was used gives its place to the next",
      2,
      [
        aPass("1", { quantity: 2, refundedQuantity: 1, revokedSince: T + DAY / 2 }),
        aPass("2", { startsAt: T + DAY / 2 }),
      ],
    ],
    [
      "passes of another product run at the same time",
      7,
      [aPass("1"), aPass("2", { productIdentifier: "week" })],
    ],
    [
      "passes of another environment run at the same time",
      1,
      [aPass("1"), aPass("2", {}, { environment: "sandbox" })],
    ],
    [
      "passes of another store run at the same time",
      1,
      [aPass("1"), aPass("2", { nature: "consumable" }, { store: "android-store" })],
    ],
    [
      "two of three on Android that are not refunded count",
      2,
      [aPass("1", { nature: "consumable", quantity: 3, refundedQuantity: 1 }, { store: "android-store" })],
    ],
  ])("%s", (_, expected, passes) => {
    expect(days(...passes)).toBe(expected);
    expect(days(...passes.toReversed())).toBe(expected);
  });

  test("a pass that waits for another has no entry of its own until it begins", () => {
    const holdings = heldBy(ONE, aPass("1"), aPass("2", { startsAt: T + 1 }));
    expect(entitlementsAt(T + 1, holdings, catalog)).toMatchObject([
      { startsAt: new Date(T).toISOString(), expiresAt: new Date(T + DAY).toISOString() },
    ]);
    expect(entitlementsAt(T + DAY, holdings, catalog)).toMatchObject([
      { startsAt: new Date(T + 1).toISOString(), expiresAt: new Date(T + 2 * DAY).toISOString() },
    ]);
  });

  test("two months from 31 December end with February", () => {
    const december = Date.UTC(2025, 11, 31);
    const pass = aPass("1", { productIdentifier: "month", startsAt: december, quantity: 2 });
    expect(entitlementsAt(december, heldBy(ONE, pass), catalog)).toMatchObject([
      { expiresAt: new Date(Date.UTC(2026, 1, 28)).toISOString() },
    ]);
  });

  test("a refund first reported after the pass was used does not move the next pass, however often it is reported", () => {
    const refunded = (answeredAt: number, revokedSince: number) =>
      aPass(
        "1",
        { standing: "revoked", revokedSince, startsAt: T, verifiedAt: answeredAt },
        { store: "android-store" },
      );
    const next = aPass("2", { startsAt: T + DAY / 2 }, { store: "android-store" });
    const heard = (at: number) => joinAll([refunded(at, at), refunded(T + 3 * DAY, T + 3 * DAY)]);
    const until = (first: Purchase[]) =>
      entitlementsAt(T + DAY, heldBy(ONE, ...first, next), catalog)[0]?.expiresAt;
    // Reported after use: the next pass keeps its day. Reported before: the next pass begins at its purchase.
    expect(until(heard(T + 2 * DAY))).toBe(isoTime(T + 2 * DAY));
    expect(until(heard(T + 1000))).toBe(isoTime(T + DAY / 2 + DAY));
  });
  test.each<[what: string, refunded: readonly [units: number, at: number][], until: number]>([
    ["after it was used", [[1, 2]], 3],
    ["before it was used", [[1, 0.5]], 2],
    [
      "twice, where the first report counts",
      [
        [1, 9],
        [1, 1.5],
      ],
      2.5,
    ],
    [
      "in two steps, where the second report counts",
      [
        [1, 0.5],
        [2, 1.5],
      ],
      2.5,
    ],
  ])("a part of a quantity that Google reports as refunded %s", (_, refunded, until) => {
    const pass = refunded.map(([units, at]) =>
      aPass(
        "1",
        {
          nature: "consumable",
          quantity: 2,
          refundedQuantity: units % 2,
          standing: units === 2 ? "revoked" : "entitled",
          revokedSince: T + at * DAY,
          mostRefunded: units,
          verifiedAt: T + at * DAY,
        },
        { store: "android-store", verifiedAt: T + at * DAY },
      ),
    );
    const next = aPass("2", { nature: "consumable", startsAt: T + DAY / 4 }, { store: "android-store" });
    const last = entitlementsAt(T + 1.75 * DAY, heldBy(ONE, ...joinAll([...pass, next])), catalog);
    expect(last).toMatchObject([{ active: true }]);
    const ends = joinAll([...pass.toReversed(), next]);
    expect(statusAt(T + until * DAY - 1, heldBy(ONE, ...ends))).toBe("active");
    expect(statusAt(T + until * DAY, heldBy(ONE, ...ends))).not.toBe("active");
  });
  /** Google's answer about a pass of `quantity` units, bought at {@link T}. */
  const heardOf = (quantity: number, refunded: number, at: number, key = "1") =>
    aPass(
      key,
      {
        nature: "consumable",
        quantity,
        refundedQuantity: refunded % quantity,
        standing: refunded === quantity ? "revoked" : "entitled",
        revokedSince: refunded === 0 ? null : T + at * DAY,
        mostRefunded: refunded,
        leastRefunded: refunded,
        verifiedAt: T + at * DAY,
      },
      { store: "android-store" },
    );
  test.each<[what: string, heard: readonly Purchase[], until: number]>([
    ["one that was first heard of after its refund", [heardOf(1, 1, 9)], 1.25],
    ["one that was heard of when it was paid", [heardOf(1, 0, 0), heardOf(1, 1, 9)], 2],
    ["two units, of which one was ever heard of as paid", [heardOf(2, 1, 0), heardOf(2, 2, 9)], 2],
    ["two of three units, first heard of after their refund", [heardOf(3, 2, 9)], 2],
    [
      "many, all first heard of after their refund",
      ["1", "2", "3"].map((key) => heardOf(1, 1, 9, `a ${key}`)),
      1.25,
    ],
  ])("a refunded pass takes up what was granted of it: %s", (_, heard, until) => {
    const next = aPass("9", { nature: "consumable", startsAt: T + DAY / 4 }, { store: "android-store" });
    for (const said of [heard, heard.toReversed()]) {
      const held = heldBy(ONE, ...joinAll([...said, next]));
      expect(entitlementsAt(T + DAY, held, catalog)).toMatchObject([{ expiresAt: isoTime(T + until * DAY) }]);
    }
  });

  test("a pass that is refunded as a whole is revoked, and shows the time", () => {
    const pass = aPass("1", { quantity: 3, revokedAt: T + 5 });
    expect(entitlementsAt(T + 5, heldBy(ONE, pass), catalog)).toMatchObject([
      {
        status: "revoked",
        expiresAt: new Date(T + 5).toISOString(),
        revokedAt: new Date(T + 5).toISOString(),
      },
    ]);
  });

  test("passes of two customers of an account add up, whoever bought first", () => {
    const holdings = [...heldBy(ONE, aPass("2")), ...heldBy(OTHER, aPass("1", { startsAt: T + DAY / 2 }))];
    for (const account of [holdings, holdings.toReversed()]) {
      expect(entitlementsAt(T + DAY, account, catalog)).toMatchObject([
        { customerIdentifier: OTHER, status: "active", expiresAt: new Date(T + 2 * DAY).toISOString() },
      ]);
      expect(statusAt(T + 2 * DAY - 1, account)).toBe("active");
      expect(statusAt(T + 2 * DAY, account)).toBe("expired");
    }
  });

  describe("of one product with two purchase options", () => {
    const holdings = heldBy(
      ONE,
      ...["one", "two"].map((purchaseOptionIdentifier) =>
        aPass(
          purchaseOptionIdentifier,
          { purchaseOptionIdentifier, nature: "consumable" },
          { store: "android-store" },
        ),
      ),
    );
    test("add up where they share what they grant, also after one is given more", () => {
      const before = aCatalog([aPassOption("one", ["pro"]), aPassOption("two", ["pro"])]);
      const after = aCatalog([aPassOption("one", ["pro"]), aPassOption("two", ["pro", "maps"])]);
      for (const sold of [before, after])
        expect(
          entitlementsAt(T + DAY, holdings, sold).find(({ identifier }) => identifier === "pro"),
        ).toMatchObject({ active: true, expiresAt: isoTime(T + 2 * DAY) });
    });
    test("that is bought later moves none that was bought before, although it shares something with each", () => {
      const sold = aCatalog([
        aPassOption("one", ["basic"]),
        aPassOption("two", ["pro"]),
        aPassOption("three", ["basic", "pro"]),
      ]);
      const third = aPass(
        "three",
        { purchaseOptionIdentifier: "three", nature: "consumable", startsAt: T + DAY / 2 },
        { store: "android-store" },
      );
      const all = [...holdings, ...heldBy(ONE, third)];
      for (const [moment, end] of [
        [T + DAY / 2, T + DAY],
        [T + DAY, T + 2 * DAY],
      ] as const)
        expect(entitlementsAt(moment, all, sold)).toMatchObject([
          { identifier: "basic", active: true, expiresAt: isoTime(end) },
          { identifier: "pro", active: true, expiresAt: isoTime(end) },
        ]);
    });
    test("give each entitlement when its own time comes: more in the catalog, or in a purchase, takes no access", () => {
      const sold = aCatalog([aPassOption("one", ["basic"]), aPassOption("two", ["basic", "pro"])]);
      for (const [moment, basicEnd, pro] of [
        [T, 1, [{ identifier: "pro", active: true, expiresAt: isoTime(T + DAY) }]],
        [T + DAY, 2, [{ identifier: "pro", active: false }]],
      ] as const)
        expect(entitlementsAt(moment, holdings, sold)).toMatchObject([
          { identifier: "basic", active: true, expiresAt: isoTime(T + basicEnd * DAY) },
          ...pro,
        ]);
    });
    test.each<[what: string, refunds: Partial<Line>]>([
      ["is paid", {}],
      ["is refunded in every answer", { revokedAt: T, refundedQuantity: 1, leastRefunded: 1 }],
      ["was refunded before it ran", { revokedAt: T, refundedQuantity: 1, revokedSince: T + DAY / 2 }],
    ])("take up no time of what they do not give yet: a pass of one of two entitlements %s", (_, refunds) => {
      const sold = aCatalog([
        aPassOption("week", ["maps"], "P7D"),
        aPassOption("both", ["maps", "tiles"]),
        aPassOption("day", ["tiles"]),
      ]);
      const bought = (purchaseOptionIdentifier: string, days: number, line: Partial<Line> = {}) =>
        aPass(
          purchaseOptionIdentifier,
          { purchaseOptionIdentifier, nature: "consumable", startsAt: T + days * DAY, ...line },
          { store: "android-store" },
        );
      const all = heldBy(ONE, bought("week", 0), bought("both", 1, refunds), bought("day", 2));
      const tiles = entitlementsAt(T + 2.5 * DAY, all, sold).find(({ identifier }) => identifier === "tiles");
      expect(tiles).toMatchObject({ active: true, expiresAt: isoTime(T + 3 * DAY) });
    });
    test("do not wait for each other where they grant something else", () => {
      const sold = aCatalog([aPassOption("one", ["basic"]), aPassOption("two", ["pro"])]);
      expect(entitlementsAt(T, holdings, sold)).toMatchObject([
        { identifier: "basic", active: true, expiresAt: isoTime(T + DAY) },
        { identifier: "pro", active: true, expiresAt: isoTime(T + DAY) },
      ]);
    });
    test("add up where they grant the same", () => {
      const sold = aCatalog([aPassOption("one", ["pro", "basic"]), aPassOption("two", ["basic", "pro"])]);
      expect(entitlementsAt(T + DAY, holdings, sold)).toMatchObject([
        { identifier: "basic", expiresAt: isoTime(T + 2 * DAY) },
        { identifier: "pro", expiresAt: isoTime(T + 2 * DAY) },
      ]);
    });
  });

  test("of two bought at the same moment the one with the smaller purchase key runs first", () => {
    const [first, second] = [
      heldBy(ONE, aPass("1", { transactionIdentifier: "9" })),
      heldBy(OTHER, aPass("2", { transactionIdentifier: "8" })),
    ];
    for (const holdings of [
      [...first, ...second],
      [...second, ...first],
    ]) {
      expect(entitlementsAt(T, holdings, catalog)).toMatchObject([{ customerIdentifier: ONE }]);
      expect(entitlementsAt(T + DAY, holdings, catalog)).toMatchObject([{ customerIdentifier: OTHER }]);
    }
  });

  test("what is no pass grants beside them", () => {
    const beside = aCatalog([
      aProduct({ productIdentifier: "pass", grants: ["pass"], accessDuration: period("P1D") }),
      aProduct(),
    ]);
    const holdings = heldBy(
      ONE,
      aPass("1"),
      aPurchase({ key: "2", lines: [aLine({ transactionIdentifier: "2" })] }),
    );
    expect(entitlementsAt(T, holdings, beside)).toMatchObject([
      { identifier: "pass", status: "active" },
      { identifier: "premium", status: "active" },
    ]);
  });

  test("a pass ends with its duration: a payment that Google retries silently is not for it", () => {
    const pass = aPass(
      "1",
      { nature: "consumable", willRenew: true, verifiedAt: T + DAY },
      { store: "android-store" },
    );
    expect(statusAt(T + DAY - 1, heldBy(ONE, pass))).toBe("active");
    expect(statusAt(T + DAY, heldBy(ONE, pass))).toBe("expired");
  });

  test("a line that renews or has an end of its own is not a pass", () => {
    const own = (key: string) => aPass(key, { endsAt: T + 2 * DAY });
    const renewing = (key: string) => aPass(key, { nature: "auto_renewable", endsAt: T + 2 * DAY });
    expect(days(own("1"), own("2"), renewing("3"), renewing("4"))).toBe(2);
  });
});

describe("holdings that leave an account", () => {
  const pass = (key: string, daysAgo: number, line: Partial<Line> = {}) =>
    aPass(key, { startsAt: T - daysAgo * DAY, ...line });
  const splits = (leaving: readonly Purchase[], staying: readonly Purchase[], now = T): boolean =>
    splitsPasses(now, heldBy(ONE, ...leaving), heldBy(OTHER, ...staying), catalog);

  test.each<[what: string, leaving: readonly Purchase[], staying: readonly Purchase[]]>([
    ["a pass that runs, alone", [pass("1", 0.5)], []],
    ["one that is over, for whose end another has waited", [pass("1", 1.25)], [pass("2", 1)]],
    ["one that waits for another", [pass("2", 0.25)], [pass("1", 0.5)]],
    ["one that runs, before another that waits", [pass("1", 0.5)], [pass("2", 0.25)]],
    ["one that runs, beside one that is over", [pass("1", 3), pass("2", 0.5)], []],
  ])("split its passes: %s", (_, leaving, staying) => {
    expect(splits(leaving, staying)).toBe(true);
  });
  test.each<[what: string, leaving: readonly Purchase[], staying: readonly Purchase[]]>([
    ["nothing", [], [pass("1", 0.5), pass("2", 0.25)]],
    ["a pass that is over, for whose end none has waited", [pass("1", 3)], [pass("2", 0.5)]],
    ["a pass whose end this is", [pass("1", 1)], []],
    ["a pass for whose end one has waited that is over too", [pass("1", 5)], [pass("2", 4.5)]],
    ["a refunded pass that took up no time", [pass("1", 0.5, { revokedAt: T - DAY / 2 })], [pass("2", 0.25)]],
    [
      "a subscription that is paused",
      [aPurchase({ key: "s", lines: [aLine({ productIdentifier: "monthly", standing: "paused" })] })],
      [pass("2", 0.25)],
    ],
  ])("split none of its passes: %s", (_, leaving, staying) => {
    expect(splits(leaving, staying)).toBe(false);
  });
  test(
    "take nothing from it, now or later, where they split none of its passes",
    () => {
      const sold = aCatalog([
        aPassOption("basic", ["basic"]),
        aPassOption("both", ["basic", "pro"], "P2D"),
        aPassOption("pro", ["pro"]),
      ]);
      const bought = fc.record({
        option: fc.constantFrom("basic", "both", "pro"),
        hoursAgo: fc.integer({ min: 0, max: 20 * 24 }),
        isLeaving: fc.boolean(),
      });
      let divided = 0;
      fc.assert(
        fc.property(fc.array(bought, { minLength: 2, maxLength: 8 }), (all) => {
          const holdings = all.flatMap(({ option, hoursAgo, isLeaving }, index) =>
            heldBy(
              isLeaving ? ONE : OTHER,
              aPass(
                String(index),
                {
                  purchaseOptionIdentifier: option,
                  nature: "consumable",
                  startsAt: T - hoursAgo * (DAY / 24),
                },
                { store: "android-store" },
              ),
            ),
          );
          const [leaving, staying] = [ONE, OTHER].map((customer) =>
            holdings.filter(({ customerIdentifier }) => customerIdentifier === customer),
          );
          if (leaving === undefined || staying === undefined) throw new Error("There are two.");
          fc.pre(!splitsPasses(T, leaving, staying, sold));
          if (leaving.length > 0 && staying.length > 0) divided += 1;
          for (let moment = T; moment < T + 20 * DAY; moment += DAY / 4) {
            const [before, after] = [holdings, staying].map((held) =>
              entitlementsAt(moment, held, sold).filter(({ active }) => active),
            );
            expect(after).toEqual(before);
          }
        }),
        cases(300, 20_000),
      );
      expect(divided).toBeGreaterThan(0);
    },
    TIMEOUT,
  );
});

describe("a rental", () => {
  const rented = (purchaseOptionIdentifier: string | null) =>
    aPurchase({
      store: "android-store",
      lines: [
        aLine({
          transactionIdentifier: null,
          productIdentifier: "film",
          purchaseOptionIdentifier,
          nature: "consumable",
          startsAt: T,
          endsAt: null,
          rented: true,
        }),
      ],
    });
  const film = aProduct({ store: "android-store", productIdentifier: "film", grants: ["film"] });
  const rent = { ...film, purchaseOptionIdentifier: "rent", accessDuration: period("P2D") };
  const endOf = (purchase: Purchase, ...products: readonly (typeof film)[]) =>
    entitlementsAt(T, heldBy(ONE, purchase), aCatalog(products)).map(({ expiresAt }) => expiresAt);
  const after = (count: number) => new Date(T + count * DAY).toISOString();

  test.each([
    ["grants nothing when the catalog gives no duration", [film], []],
    ["lasts as long as its product", [{ ...film, accessDuration: period("P5D") }], [after(5)]],
    ["lasts as long as its purchase option", [rent], [after(2)]],
    [
      "lasts as long as its purchase option rather than its product",
      [{ ...film, accessDuration: period("P5D") }, rent],
      [after(2)],
    ],
    [
      "grants nothing when only another option has a duration",
      [film, { ...rent, purchaseOptionIdentifier: "buy" }],
      [],
    ],
    [
      "grants nothing when its own option has no duration, whatever the product's",
      [
        { ...film, accessDuration: period("P5D") },
        { ...rent, accessDuration: null },
      ],
      [],
    ],
  ])("%s", (_, products, expected) => {
    expect(endOf(rented("rent"), ...products)).toEqual(expected);
  });
  test("lasts from its own purchase: rented again, it adds nothing to the end", () => {
    const again = rented("rent");
    const later = {
      ...again,
      key: purchaseKey("2"),
      lines: again.lines.map((line) => ({ ...line, startsAt: T + DAY })),
    };
    const holdings = heldBy(ONE, rented("rent"), later);
    expect(entitlementsAt(T + DAY, holdings, aCatalog([rent]))).toMatchObject([{ expiresAt: after(3) }]);
  });
  test("without an option lasts as long as its product", () => {
    expect(endOf(rented(null), rent)).toEqual([]);
    expect(endOf(rented(null), rent, { ...film, accessDuration: period("P5D") })).toEqual([after(5)]);
  });
  test("does not limit an outright purchase of the same product, which never ends", () => {
    const [bought] = [rented("buy")].map((purchase) => ({
      ...purchase,
      lines: purchase.lines.map((line) => ({ ...line, rented: false })),
    }));
    if (bought === undefined) throw new Error("There is one.");
    expect(endOf(bought, film, rent)).toEqual([null]);
  });
});
