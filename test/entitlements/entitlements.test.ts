import * as z from "zod/mini";
import { customerEntitlement, type CustomerEntitlement } from "../../lib/contract/schemas.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import {
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  DAY,
  entitlementsAt,
  NOW,
  period,
} from "../../testing/support/purchases.ts";

const CUSTOMER = customerId("00000000-0000-4000-8000-000000000001");

const OTHER = customerId("00000000-0000-4000-8000-000000000002");

const held = (purchases: readonly Purchase[]): Holding[] =>
  purchases.map((purchase) => ({ customerIdentifier: CUSTOMER, assertedBy: null, purchase }));

const answer = (purchases: readonly Purchase[], catalog = aCatalog(), moment = NOW): CustomerEntitlement[] =>
  entitlementsAt(moment, held(purchases), catalog);

const only = (purchases: readonly Purchase[], catalog = aCatalog(), moment = NOW): CustomerEntitlement => {
  const entitlements = answer(purchases, catalog, moment);
  expect(entitlements).toHaveLength(1);
  const [entitlement] = entitlements;
  if (entitlement === undefined) throw new Error("no entitlement");
  return entitlement;
};

test("an entry has exactly the fourteen fields, in their documented types", () => {
  const entitlement = only([aPurchase()]);
  expect(entitlement).toEqual({
    identifier: "premium",
    displayName: "Premium",
    productIdentifier: "monthly",
    environment: "production",
    status: "active",
    active: true,
    startsAt: isoTime(NOW - 10 * DAY),
    expiresAt: isoTime(NOW + 20 * DAY),
    revokedAt: null,
    lastVerifiedAt: isoTime(NOW - 1000),
    store: "ios-store",
    productKind: "subscription",
    customerIdentifier: CUSTOMER,
    willRenew: null,
  });
  expect(Object.keys(entitlement)).toHaveLength(14);
  expect(z.strictObject(customerEntitlement().shape).safeParse(entitlement).error).toBeUndefined();
});

test("an entitlement without a display name shows its identifier", () => {
  expect(only([aPurchase()], aCatalog([aProduct()], {})).displayName).toBe("premium");
});

test("a product that the catalog does not map grants nothing", () => {
  expect(answer([aPurchase({ lines: [aLine({ productIdentifier: "other" })] })])).toEqual([]);
});

test("a product named like a property of every object grants nothing", () => {
  expect(answer([aPurchase({ lines: [aLine({ productIdentifier: "__proto__" })] })])).toEqual([]);
});

test("a product of one store does not map the same product of the other", () => {
  expect(answer([aPurchase({ store: "android-store" })])).toEqual([]);
});

test("a product may grant several entitlements, sorted by identifier", () => {
  const catalog = aCatalog([aProduct({ grants: ["z", "a", "Z"] })]);
  expect(answer([aPurchase()], catalog).map(({ identifier }) => identifier)).toEqual(["Z", "a", "z"]);
});

describe("access is half-open, to the millisecond", () => {
  const purchase = aPurchase({ lines: [aLine({ startsAt: NOW, endsAt: NOW + 1000 })] });
  test.each([
    ["60,001 ms before its start there is no entry", NOW - 60_001, undefined],
    ["60 s before its start it is active, as clocks differ", NOW - 60_000, "active"],
    ["at its start it is active", NOW, "active"],
    ["a millisecond before its end it is active", NOW + 999, "active"],
    ["at its end it is expired", NOW + 1000, "expired"],
    ["after its end it is expired", NOW + 1001, "expired"],
  ])("%s", (_, moment, status) => {
    expect(answer([purchase], aCatalog(), moment)[0]?.status).toBe(status);
  });
});

describe("status", () => {
  test("a line without a start has begun", () => {
    const line = aLine({ transactionIdentifier: null, startsAt: null, verifiedAt: NOW + 90_000 });
    const catalog = aCatalog([aProduct({ store: "android-store" })]);
    const purchase = aPurchase({ store: "android-store", lines: [line] });
    expect(only([purchase], catalog)).toMatchObject({ status: "active", startsAt: null });
  });

  test("a refund revokes from its own time on, and is shown", () => {
    const purchase = aPurchase({ lines: [aLine({ revokedAt: NOW })] });
    expect(only([purchase], aCatalog(), NOW - 1)).toMatchObject({
      status: "active",
      expiresAt: isoTime(NOW + 20 * DAY),
      revokedAt: null,
    });
    expect(only([purchase])).toMatchObject({ status: "revoked", active: false, revokedAt: isoTime(NOW) });
  });

  test("a purchase without an end never expires", () => {
    const line = aLine({ nature: "non_consumable", endsAt: null });
    expect(only([aPurchase({ lines: [line] })], aCatalog(), NOW + 100_000 * DAY)).toMatchObject({
      status: "active",
      expiresAt: null,
      productKind: "one_time_product",
    });
  });
});

describe("revoked access ended at the earlier of its end and its revocation:", () => {
  test.each([
    ["a lifetime, revoked", { nature: "non_consumable", endsAt: null, revokedAt: NOW - DAY }, NOW - DAY],
    ["a period, revoked in its middle", { endsAt: NOW + DAY, revokedAt: NOW - DAY }, NOW - DAY],
    ["a period, revoked a millisecond before its end", { endsAt: NOW, revokedAt: NOW - 1 }, NOW - 1],
    ["a period, revoked at its end", { endsAt: NOW, revokedAt: NOW }, NOW],
    ["a period, revoked after its end", { endsAt: NOW - DAY, revokedAt: NOW - 1 }, NOW - DAY],
  ] as const)("%s", (_, line, expiresAt) => {
    expect(only([aPurchase({ lines: [aLine(line)] })])).toMatchObject({
      status: "revoked",
      expiresAt: isoTime(expiresAt),
      revokedAt: isoTime(line.revokedAt),
    });
  });
  test.each([
    ["a pass, revoked in its middle", NOW - 1, NOW - 1],
    ["a pass, revoked after its end", NOW + DAY, NOW + DAY / 2],
  ])("%s", (_, revokedAt, expiresAt) => {
    const line = aLine({ nature: "non_renewing", startsAt: NOW - DAY / 2, endsAt: null, revokedAt });
    const catalog = aCatalog([aProduct({ accessDuration: period("P1D") })]);
    expect(only([aPurchase({ lines: [line] })], catalog, NOW + 2 * DAY)).toMatchObject({
      status: "revoked",
      expiresAt: isoTime(expiresAt),
    });
  });
  test("a revocation without a time, where only the natural end is known", () => {
    const line = aLine({ standing: "revoked", transactionIdentifier: null });
    const catalog = aCatalog([aProduct({ store: "android-store" })]);
    expect(only([aPurchase({ store: "android-store", lines: [line] })], catalog)).toMatchObject({
      status: "revoked",
      expiresAt: isoTime(NOW + 20 * DAY),
      revokedAt: null,
    });
  });
});

describe("Google's silent day: a renewing line that Google calls active at or after its end keeps access", () => {
  const HOUR = 3_600_000;
  const end = NOW - 10 * DAY;
  const catalog = aCatalog([aProduct({ store: "android-store" }), aProduct()]);
  const saying = (line: Parameters<typeof aLine>[0], store: Purchase["store"] = "android-store") =>
    aPurchase({
      store,
      lines: [
        aLine({
          transactionIdentifier: null,
          startsAt: end - 30 * DAY,
          endsAt: end,
          willRenew: true,
          verifiedAt: end,
          ...line,
        }),
      ],
    });
  test.each([
    ["a millisecond before the end", -1, "active"],
    ["at the end", 0, "active"],
    ["a millisecond before 48 h past it", 48 * HOUR - 1, "active"],
    ["48 h past it", 48 * HOUR, "expired"],
  ])("until 48 h past the end: %s (%d ms) → %s", (_, after, status) => {
    expect(only([saying({})], catalog, end + after)).toMatchObject({ status, expiresAt: isoTime(end) });
    const grace = saying({ standing: "grace_period" });
    expect(only([grace], catalog, end + after).status).toBe(status === "active" ? "grace_period" : status);
  });
  test("for 48 h at most, however often Google repeats it", () => {
    const again = saying({ verifiedAt: end + 47 * HOUR });
    expect(only([again], catalog, end + 48 * HOUR - 1).status).toBe("active");
    expect(only([again], catalog, end + 48 * HOUR).status).toBe("expired");
    const late = saying({ verifiedAt: end + 49 * HOUR });
    expect(only([late], catalog, end + 49 * HOUR).status).toBe("expired");
  });
  test.each([
    ["given a millisecond before the end", saying({ verifiedAt: end - 1 })],
    ["about a line that does not renew", saying({ willRenew: false })],
    ["about a line whose renewal is unknown", saying({ willRenew: null })],
    ["of the other store", saying({}, "ios-store")],
  ])("not when the answer is %s", (_, purchase) => {
    expect(only([purchase], catalog, end - 1).status).toBe("active");
    expect(only([purchase], catalog, end).status).toBe("expired");
  });
  test.each(["billing_retry", "paused", "expired"] as const)(
    "not when the line's standing is %s",
    (standing) => {
      expect(only([saying({ standing })], catalog, end).status).toBe(standing);
    },
  );
});

describe("access duration", () => {
  const pass = (nature: "non_renewing" | "consumable" | "non_consumable") =>
    aPurchase({ lines: [aLine({ nature, startsAt: NOW, endsAt: null })] });
  const catalog = aCatalog([aProduct({ accessDuration: period("P1D") })]);

  test.each(["non_renewing", "consumable", "non_consumable"] as const)(
    "of the catalog applies to a %s purchase, from its start",
    (nature) => {
      expect(only([pass(nature)], catalog, NOW + DAY - 1)).toMatchObject({
        status: "active",
        expiresAt: isoTime(NOW + DAY),
      });
      expect(only([pass(nature)], catalog, NOW + DAY).status).toBe("expired");
    },
  );

  test("does not apply to a line with an end of its own or one that renews", () => {
    const ending = aPurchase({ lines: [aLine({ nature: "non_renewing", endsAt: NOW + 5 * DAY })] });
    expect(only([ending], catalog).expiresAt).toBe(isoTime(NOW + 5 * DAY));
    const endless = aPurchase({ lines: [aLine({ nature: "auto_renewable", endsAt: null })] });
    expect(only([endless], catalog).expiresAt).toBeNull();
  });

  test("does not change the end of an auto-renewable subscription", () => {
    expect(only([aPurchase()], catalog).expiresAt).toBe(isoTime(NOW + 20 * DAY));
  });

  test("changes with the catalog, from the next answer on", () => {
    expect(only([pass("non_renewing")], aCatalog(), NOW + 9 * DAY)).toMatchObject({
      active: true,
      expiresAt: null,
    });
    expect(only([pass("non_renewing")], catalog, NOW + 9 * DAY).active).toBe(false);
    expect(answer([pass("non_renewing")], aCatalog([]), NOW + 9 * DAY)).toEqual([]);
  });
});

describe("base plans", () => {
  const yearly = aPurchase({
    store: "android-store",
    lines: [aLine({ productIdentifier: "premium", basePlanIdentifier: "yearly" })],
  });
  const any = aProduct({ store: "android-store", productIdentifier: "premium", grants: ["any"] });
  const mapped = { ...any, basePlanIdentifier: "yearly", grants: ["yearly"] };
  const other = { ...any, basePlanIdentifier: "monthly", grants: ["monthly"] };

  test.each([
    ["a product without a base plan maps all base plans", [any], ["any"]],
    ["a product with the base plan maps that base plan", [mapped], ["yearly"]],
    ["a product with another base plan maps nothing", [other], []],
    [
      "the product with the base plan takes precedence over the one without",
      [any, other, mapped],
      ["yearly"],
    ],
  ])("%s", (_, products, expected) => {
    expect(answer([yearly], aCatalog(products)).map(({ identifier }) => identifier)).toEqual(expected);
  });
});

describe("the start that is shown", () => {
  const startOf = (line: Parameters<typeof aLine>[0], store: Purchase["store"] = "ios-store") =>
    only([aPurchase({ store, lines: [aLine(line)] })], aCatalog([aProduct({ store })])).startsAt;
  test.each([
    ["at the end", 0, isoTime(NOW - DAY)],
    ["a millisecond after the end, as of a restored copy", 1, null],
  ])("of an iOS period that starts %s", (_, after, shown) => {
    expect(startOf({ startsAt: NOW - DAY + after, endsAt: NOW - DAY })).toBe(shown);
  });
  test("of an Android line is what Google said, even after the end", () => {
    const line = { transactionIdentifier: null, startsAt: NOW - DAY, endsAt: NOW - 2 * DAY };
    expect(startOf(line, "android-store")).toBe(isoTime(NOW - DAY));
  });
});

describe("what grants nothing", () => {
  test("a purchase that was replaced", () => {
    expect(answer([aPurchase({ replacedBy: purchaseKey("2") })])).toEqual([]);
  });
  test("a product of a one-time purchase that no request selected", () => {
    const purchase = aPurchase({
      selectedProducts: ["monthly"],
      lines: [aLine(), aLine({ productIdentifier: "other" })],
    });
    const catalog = aCatalog([aProduct(), aProduct({ productIdentifier: "other", grants: ["extra"] })]);
    expect(answer([purchase], catalog).map(({ identifier }) => identifier)).toEqual(["premium"]);
  });
  test("a pending purchase, which has no lines", () => {
    expect(answer([aPurchase({ lines: [] })])).toEqual([]);
  });
});

describe("the order among grants of one entitlement", () => {
  type By = Holding["assertedBy"];
  const of = (
    key: string,
    line: Parameters<typeof aLine>[0],
    { by = null, ...purchase }: { by?: By } & Parameters<typeof aPurchase>[0] = {},
  ): Holding => {
    // Only Google gives a line such a standing.
    const isGoogle = ["grace_period", "billing_retry", "paused"].includes(line?.standing ?? "");
    const store = purchase.store ?? (isGoogle ? "android-store" : "ios-store");
    const lines = [aLine({ transactionIdentifier: store === "android-store" ? null : key, ...line })];
    return {
      customerIdentifier: CUSTOMER,
      assertedBy: by,
      purchase: aPurchase({ key, store, lines, ...purchase }),
    };
  };
  const lifetime = { nature: "non_consumable", endsAt: null } as const;
  const refunded = { ...lifetime, startsAt: NOW - 400 * DAY, revokedAt: NOW - 300 * DAY } as const;
  const over = (days: number) => ({ startsAt: NOW - 90 * DAY, endsAt: NOW - days * DAY });
  const better: [rule: string, winner: Holding, loser: Holding][] = [
    [
      "active comes before inactive, whatever else differs",
      of("9", { endsAt: NOW + 1 }, { environment: "xcode", by: "client" }),
      of("1", { standing: "paused", endsAt: NOW + 9 * DAY }, { by: "credential" }),
    ],
    [
      "a grace period is active",
      of("9", { standing: "grace_period", endsAt: NOW + 1 }),
      of("1", { standing: "billing_retry" }),
    ],
    [
      "production comes before sandbox",
      of("9", { endsAt: NOW + 1 }),
      of("1", lifetime, { environment: "sandbox" }),
    ],
    [
      "sandbox comes before Xcode",
      of("9", { endsAt: NOW + 1 }, { environment: "sandbox" }),
      of("1", lifetime, { environment: "xcode" }),
    ],
    [
      "ended production comes before ended sandbox",
      of("9", { endsAt: NOW - 5 }),
      of("1", { endsAt: NOW - 1 }, { environment: "sandbox" }),
    ],
    [
      "ended production comes before paused sandbox",
      of("9", over(9)),
      of("1", { standing: "paused" }, { environment: "sandbox" }),
    ],
    ["lifetime comes before any end", of("9", lifetime), of("1", { endsAt: NOW + 9999 * DAY })],
    ["the later end comes first", of("9", { endsAt: NOW + 2 }), of("1", { endsAt: NOW + 1 })],
    [
      "among active grants, the asserter of the link does not matter",
      of("9", { endsAt: NOW + 2 }, { by: "client" }),
      of("1", { endsAt: NOW + 1 }, { by: "credential" }),
    ],
    [
      "billing retry comes before a lifetime that was refunded long ago",
      of("9", { standing: "billing_retry", ...over(1) }),
      of("1", refunded),
    ],
    [
      "paused comes before a grant that expired later",
      of("9", { standing: "paused", ...over(20) }),
      of("1", over(1)),
    ],
    [
      "a client's grant in billing retry comes before a credential's expired one",
      of("9", { standing: "billing_retry", ...over(20) }, { by: "client" }),
      of("1", over(1), { by: "credential" }),
    ],
    [
      "among grants that may come back, a credential's comes before a client's",
      of("9", { standing: "billing_retry", ...over(20) }, { by: "credential" }),
      of("1", { standing: "paused", ...over(1) }, { by: "client" }),
    ],
    [
      "among ended grants, a credential's comes before a client's",
      of("9", over(20), { by: "credential" }),
      of("1", over(1), { by: "client" }),
    ],
    [
      "an unlinked customer's grant ranks like a client's",
      of("1", over(1), { by: "client" }),
      of("9", over(2)),
    ],
    [
      "among ended grants, the later end of access comes first: a refunded lifetime ended with its refund",
      of("9", over(299)),
      of("1", refunded),
    ],
    [
      "a grant that was refunded after its end ended at that end",
      of("9", over(19)),
      of("1", { ...over(20), revokedAt: NOW - DAY }),
    ],
    [
      "a lifetime revoked without a time ended at its start",
      of("9", over(80)),
      of(
        "1",
        { ...lifetime, nature: "consumable", standing: "revoked", startsAt: NOW - 81 * DAY },
        { store: "android-store" },
      ),
    ],
    [
      "a lifetime revoked without a time comes before a grant that ended before its start",
      of(
        "9",
        { ...lifetime, nature: "consumable", standing: "revoked", startsAt: NOW - 79 * DAY },
        { store: "android-store" },
      ),
      of("1", over(80)),
    ],
    ["then the later start comes first", of("9", { startsAt: NOW - 1 }), of("1", { startsAt: NOW - 2 })],
    [
      "the later start comes first among ended grants too",
      of("9", { startsAt: NOW - 8 * DAY, endsAt: NOW - DAY }),
      of("1", { startsAt: NOW - 9 * DAY, endsAt: NOW - DAY }),
    ],
    ["a start comes before none", of("9", { startsAt: 0 }), of("1", { startsAt: null })],
    [
      "then the smaller purchase key comes first, whatever its transactions",
      of("1", { transactionIdentifier: "9" }),
      { ...of("2", { transactionIdentifier: "8" }), customerIdentifier: OTHER },
    ],
    [
      "then the Android store comes first",
      of("1", {}, { store: "android-store" }),
      { ...of("1", { transactionIdentifier: "" }), customerIdentifier: OTHER },
    ],
  ];
  const catalog = aCatalog([aProduct(), aProduct({ store: "android-store" })]);
  test.each(better)("%s", (_, winner, loser) => {
    const forth = entitlementsAt(NOW, [winner, loser], catalog);
    expect(forth).toHaveLength(1);
    expect(forth).toEqual(entitlementsAt(NOW, [winner], catalog));
    expect(JSON.stringify(entitlementsAt(NOW, [loser, winner], catalog))).toBe(JSON.stringify(forth));
  });

  test("an entry names the customer whose purchase grants it", () => {
    const other = customerId("00000000-0000-4000-8000-000000000002");
    const holdings = [of("1", {}), { ...of("2", lifetime), customerIdentifier: other }];
    expect(entitlementsAt(NOW, holdings, aCatalog())[0]?.customerIdentifier).toBe(other);
  });
});
