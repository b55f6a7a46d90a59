import { bestSpans, entitlementsAt, lastAccess, mayReturn } from "../../lib/entitlements/entitlements.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import { type Line } from "../../lib/entitlements/purchase.ts";
import { timelineOf } from "../../lib/entitlements/timeline.ts";
import { customerId } from "../../lib/identifiers.ts";
import { aCatalog, aLine, aProduct, aPurchase, NOW, period } from "../../testing/support/stores/purchases.ts";
import { at, CUSTOMER, held, MINUTE } from "./history.ts";

const OTHER = customerId("00000000-0000-4000-8000-000000000002");
const LEEWAY = 15 * MINUTE;

const CATALOG = aCatalog([
  aProduct(),
  aProduct({ productIdentifier: "yearly" }),
  aProduct({ productIdentifier: "maps", grants: ["maps"] }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "forever" }),
  aProduct({ store: "android-store" }),
]);
const termsOf = (catalog = CATALOG, renewalLeeway = LEEWAY) => ({ catalog, renewalLeeway });

describe("of several purchases that grant an entitlement the best is shown:", () => {
  type By = Holding["assertedBy"];
  const of = (
    key: string,
    line: Partial<Line>,
    { by = null, ...purchase }: { by?: By } & Parameters<typeof aPurchase>[0] = {},
  ): Holding => ({
    customerIdentifier: CUSTOMER,
    assertedBy: by,
    purchase: aPurchase({
      key,
      lines: [aLine({ transactionIdentifier: purchase.store === "android-store" ? null : key, ...line })],
      ...purchase,
    }),
  });
  const google = { store: "android-store" } as const;
  const lifetime = { nature: "non_consumable", endsAt: null } as const;
  const over = (days: number) => ({ startsAt: at(-90), endsAt: at(-days) });
  const paused = { standing: "paused" } as const;
  const inRetry = { standing: "billing_retry" } as const;

  test.each<[rule: string, better: Holding, worse: Holding]>([
    [
      "active before inactive",
      of("9", { endsAt: NOW + 1 }, { environment: "xcode", by: "client" }),
      of("1", { ...paused, endsAt: at(9) }, { ...google, by: "credential" }),
    ],
    [
      "a grace period is active",
      of("9", { standing: "grace_period", endsAt: NOW + 1 }, google),
      of("1", inRetry, google),
    ],
    [
      "production before sandbox",
      of("9", { endsAt: NOW + 1 }),
      of("1", lifetime, { environment: "sandbox" }),
    ],
    [
      "sandbox before Xcode",
      of("9", { endsAt: NOW + 1 }, { environment: "sandbox" }),
      of("1", lifetime, { environment: "xcode" }),
    ],
    [
      "production before sandbox, where both have ended",
      of("9", over(9), google),
      of("1", paused, { ...google, environment: "sandbox" }),
    ],
    ["a lifetime before any end", of("9", lifetime), of("1", { endsAt: at(9999) })],
    ["the later end", of("9", { endsAt: NOW + 2 }), of("1", { endsAt: NOW + 1 })],
    [
      "whoever linked it, where it is active",
      of("9", { endsAt: NOW + 2 }, { by: "client" }),
      of("1", { endsAt: NOW + 1 }, { by: "credential" }),
    ],

    [
      "a pause before what ended later",
      of("9", { ...paused, ...over(20) }, google),
      of("1", over(1), google),
    ],
    [
      "a client's retry before a credential's end",
      of("9", { ...inRetry, ...over(20) }, { ...google, by: "client" }),
      of("1", over(1), { ...google, by: "credential" }),
    ],
    [
      "a credential's retry before a client's pause",
      of("9", { ...inRetry, ...over(20) }, { ...google, by: "credential" }),
      of("1", { ...paused, ...over(1) }, { ...google, by: "client" }),
    ],
    [
      "a credential's end before a client's",
      of("9", over(20), { by: "credential" }),
      of("1", over(1), { by: "client" }),
    ],

    [
      "the later end, where a refund ended a lifetime",
      of("9", over(299)),
      of("1", { ...lifetime, startsAt: at(-400), revokedAt: at(-300) }),
    ],

    [
      "the later end, where the refund came after it",
      of("9", over(19)),
      of("1", { ...over(20), revokedAt: at(-1) }),
    ],
    [
      "the later end, where an undated refund ended at the start",
      of("9", over(80)),
      of("1", { ...lifetime, nature: "consumable", standing: "revoked", startsAt: at(-81) }, google),
    ],
    [
      "a refund without a date before what ended earlier",
      of("9", { ...lifetime, nature: "consumable", standing: "revoked", startsAt: at(-79) }, google),
      of("1", over(80)),
    ],
    ["then the later start", of("9", { startsAt: NOW - 1 }), of("1", { startsAt: NOW - 2 })],

    ["a start before none", of("9", { startsAt: 0 }, google), of("1", { startsAt: null }, google)],
    [
      "then the smaller key, whatever its transaction",
      of("1", { transactionIdentifier: "9" }),
      { ...of("2", { transactionIdentifier: "8" }), customerIdentifier: OTHER },
    ],
    [
      "then the Android store",
      of("1", {}, google),
      { ...of("1", { transactionIdentifier: "" }), customerIdentifier: OTHER },
    ],
  ])("%s", (_, better, worse) => {
    const terms = termsOf(aCatalog([aProduct(), aProduct({ store: "android-store" })]), 0);
    const both = entitlementsAt(NOW, [better, worse], terms);
    expect(both).toHaveLength(1);
    expect(both).toEqual(entitlementsAt(NOW, [better], terms));
    expect(JSON.stringify(entitlementsAt(NOW, [worse, better], terms))).toBe(JSON.stringify(both));
  });

  test("of one purchase the smaller product, then the earlier line", () => {
    const lines = [
      aLine({ productIdentifier: "monthly", transactionIdentifier: null, event: "b" }),
      aLine({ productIdentifier: "monthly", transactionIdentifier: null, event: "a" }),
      aLine({ productIdentifier: "basic", transactionIdentifier: "9" }),
    ];
    const catalog = aCatalog(
      ["monthly", "basic"].map((productIdentifier) =>
        aProduct({ store: "android-store", productIdentifier }),
      ),
    );
    const best = (count: number, order: readonly Line[]) =>
      [
        ...bestSpans(
          timelineOf(
            held(aPurchase({ store: "android-store", lines: order.slice(0, count) })),
            termsOf(catalog),
          ),
        ).values(),
      ].map(({ line }) => line.event);
    expect(best(3, lines)).toEqual(["event 9"]);
    expect(best(3, lines.toReversed())).toEqual(["event 9"]);
    expect(best(2, lines)).toEqual(["a"]);
    expect(best(2, lines.slice(0, 2).toReversed())).toEqual(["a"]);
  });

  test("an entry names the customer whose purchase it is", () => {
    const holdings = [of("1", {}), { ...of("2", lifetime), customerIdentifier: OTHER }];
    expect(entitlementsAt(NOW, holdings, termsOf())).toMatchObject([{ customerIdentifier: OTHER }]);
  });
});

test.each([
  ["active", false],
  ["grace_period", false],
  ["billing_retry", true],
  ["paused", true],
  ["expired", false],
  ["revoked", false],
] as const)("access may return by itself from %s: %s", (status, may) => {
  const [span] = timelineOf(held(aPurchase()), termsOf());
  if (span === undefined) throw new Error("There is one.");
  expect(mayReturn({ ...span, status })).toBe(may);
});

test("a refund without date and start sorts before any other end", () => {
  const line = aLine({ standing: "revoked", startsAt: null, transactionIdentifier: null });
  const spans = timelineOf(held(aPurchase({ store: "android-store", lines: [line] })), termsOf());
  expect(spans.map(lastAccess)).toEqual([0]);
});
