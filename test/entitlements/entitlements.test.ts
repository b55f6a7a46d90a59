import * as z from "zod/mini";
import { customerEntitlement, type CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { entitlementsAt, type Holding } from "../../lib/entitlements/entitlements.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { aCatalog, aLine, aProduct, aPurchase, DAY, NOW, period } from "../support/purchases.ts";

const CUSTOMER = customerId("00000000-0000-4000-8000-000000000001");

const held = (purchases: readonly Purchase[]): Holding[] =>
  purchases.map((purchase) => ({ customerIdentifier: CUSTOMER, purchase }));

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
    ["before its start there is no entry", NOW - 1, undefined],
    ["at its start it is there", NOW, "active"],
    ["a millisecond before its end it is there", NOW + 999, "active"],
    ["at its end it is gone", NOW + 1000, "expired"],
    ["after its end it is gone", NOW + 1001, "expired"],
  ])("%s", (_, moment, status) => {
    expect(answer([purchase], aCatalog(), moment)[0]?.status).toBe(status);
  });
});

describe("status", () => {
  test.each([
    ["entitled", 1, "active", true],
    ["entitled", 0, "expired", false],
    ["grace_period", 1, "grace_period", true],
    ["grace_period", 0, "expired", false],
    ["billing_retry", 1, "billing_retry", false],
    ["billing_retry", 0, "billing_retry", false],
    ["paused", 1, "paused", false],
    ["paused", 0, "paused", false],
    ["expired", 1, "expired", false],
    ["revoked", 1, "revoked", false],
    ["revoked", 0, "revoked", false],
  ] as const)("%s with %d ms left is %s", (standing, left, status, active) => {
    const line = aLine({ standing, endsAt: NOW + left });
    expect(only([aPurchase({ lines: [line] })])).toMatchObject({ status, active });
  });

  test("a refund revokes from its moment, and shows it", () => {
    const purchase = aPurchase({ lines: [aLine({ revokedAt: NOW })] });
    expect(only([purchase], aCatalog(), NOW - 1)).toMatchObject({ status: "active", revokedAt: null });
    expect(only([purchase])).toMatchObject({ status: "revoked", active: false, revokedAt: isoTime(NOW) });
  });

  test("a purchase without an end is for life", () => {
    const line = aLine({ nature: "non_consumable", endsAt: null });
    expect(only([aPurchase({ lines: [line] })], aCatalog(), NOW + 100_000 * DAY)).toMatchObject({
      status: "active",
      expiresAt: null,
      productKind: "one_time_product",
    });
  });
});

describe("access duration", () => {
  const pass = (nature: "non_renewing" | "consumable" | "non_consumable") =>
    aPurchase({ lines: [aLine({ nature, startsAt: NOW, endsAt: null })] });
  const catalog = aCatalog([aProduct({ accessDuration: period("P1D") })]);

  test.each(["non_renewing", "consumable", "non_consumable"] as const)(
    "a %s purchase gives access from its start for the catalog's access duration",
    (nature) => {
      expect(only([pass(nature)], catalog, NOW + DAY - 1)).toMatchObject({
        status: "active",
        expiresAt: isoTime(NOW + DAY),
      });
      expect(only([pass(nature)], catalog, NOW + DAY).status).toBe("expired");
    },
  );

  test("is nothing to what the store gives an end, or what renews itself", () => {
    const ending = aPurchase({ lines: [aLine({ nature: "non_renewing", endsAt: NOW + 5 * DAY })] });
    expect(only([ending], catalog).expiresAt).toBe(isoTime(NOW + 5 * DAY));
    const endless = aPurchase({ lines: [aLine({ nature: "auto_renewable", endsAt: null })] });
    expect(only([endless], catalog).expiresAt).toBeNull();
  });

  test("an auto-renewable subscription keeps the store's own end", () => {
    expect(only([aPurchase()], catalog).expiresAt).toBe(isoTime(NOW + 20 * DAY));
  });

  test("a changed catalog changes the next answer", () => {
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
    ["a product without a base plan maps all of them", [any], ["any"]],
    ["a product with the base plan maps it", [mapped], ["yearly"]],
    ["a product with another base plan does not", [other], []],
    ["the product with the base plan comes before the one without", [any, other, mapped], ["yearly"]],
  ])("%s", (_, products, expected) => {
    expect(answer([yearly], aCatalog(products)).map(({ identifier }) => identifier)).toEqual(expected);
  });
});

describe("what grants nothing", () => {
  test("a purchase that was replaced", () => {
    expect(answer([aPurchase({ replacedBy: purchaseKey("2") })])).toEqual([]);
  });
  test("a product of a one-time purchase that was not asked for", () => {
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

describe("within an iOS lineage the later purchase wins", () => {
  const catalog = aCatalog([
    aProduct({ productIdentifier: "basic", grants: ["basic"] }),
    aProduct({ productIdentifier: "plus", grants: ["basic", "plus"] }),
  ]);
  const basic = aLine({ transactionIdentifier: "1", productIdentifier: "basic" });
  const plus = aLine({
    transactionIdentifier: "2",
    productIdentifier: "plus",
    startsAt: NOW - DAY,
    endsAt: NOW + 29 * DAY,
  });

  test("what is not a subscription with an end is not followed", () => {
    const [owned, endless] = (["non_consumable", "auto_renewable"] as const).map((nature) =>
      answer(
        [
          aPurchase({
            lines: [
              aLine({ ...basic, nature, endsAt: nature === "auto_renewable" ? null : NOW + DAY }),
              plus,
            ],
          }),
        ],
        aCatalog([aProduct({ productIdentifier: "basic", grants: ["basic"] })]),
      ),
    );
    expect(owned?.[0]).toMatchObject({ status: "active", expiresAt: isoTime(NOW + DAY) });
    expect(endless?.[0]).toMatchObject({ status: "active", expiresAt: null });
  });

  test("an upgrade ends what it replaces where it starts", () => {
    const [shown] = answer(
      [aPurchase({ lines: [plus, basic] })],
      aCatalog([aProduct({ productIdentifier: "basic", grants: ["basic"] })]),
    );
    expect(shown).toMatchObject({ status: "expired", expiresAt: isoTime(NOW - DAY) });
  });
  test("what both give is shown by the later one", () => {
    expect(
      answer([aPurchase({ lines: [basic, plus] })], catalog).map((entry) => [
        entry.identifier,
        entry.productIdentifier,
        entry.active,
      ]),
    ).toEqual([
      ["basic", "plus", true],
      ["plus", "plus", true],
    ]);
  });
  test("a renewal that has not begun leaves the current period as it is", () => {
    const renewal = { ...basic, transactionIdentifier: "3", startsAt: NOW + 1, endsAt: NOW + 30 * DAY };
    const current = { ...basic, endsAt: NOW + 1 };
    const lineage = [aPurchase({ lines: [current, renewal] })];
    expect(answer(lineage, catalog)[0]).toMatchObject({ active: true, expiresAt: isoTime(NOW + 1) });
    expect(answer(lineage, catalog, NOW + 1)[0]).toMatchObject({
      active: true,
      expiresAt: isoTime(NOW + 30 * DAY),
    });
  });
  test("Android states the end of every line itself", () => {
    const lines = [basic, plus].map((line) => ({ ...line, transactionIdentifier: null }));
    const android = aCatalog(
      ["basic", "plus"].map((productIdentifier) =>
        aProduct({ store: "android-store", productIdentifier, grants: [productIdentifier] }),
      ),
    );
    expect(
      answer([aPurchase({ store: "android-store", lines })], android).map(({ active }) => active),
    ).toEqual([true, true]);
  });
});

describe("the order among grants of one entitlement", () => {
  const lifetime = { nature: "non_consumable", endsAt: null } as const;
  const better: [rule: string, winner: Purchase, loser: Purchase][] = [
    [
      "active comes before not active, whatever else",
      aPurchase({ key: "9", environment: "xcode", lines: [aLine({ endsAt: NOW + 1 })] }),
      aPurchase({ key: "1", lines: [aLine({ standing: "paused", endsAt: NOW + 9 * DAY })] }),
    ],
    [
      "a grace period is active",
      aPurchase({ key: "9", lines: [aLine({ standing: "grace_period", endsAt: NOW + 1 })] }),
      aPurchase({ key: "1", lines: [aLine({ standing: "billing_retry" })] }),
    ],
    [
      "production comes before sandbox",
      aPurchase({ key: "9", lines: [aLine({ endsAt: NOW + 1 })] }),
      aPurchase({ key: "1", environment: "sandbox", lines: [aLine(lifetime)] }),
    ],
    [
      "sandbox comes before Xcode",
      aPurchase({ key: "9", environment: "sandbox", lines: [aLine({ endsAt: NOW + 1 })] }),
      aPurchase({ key: "1", environment: "xcode", lines: [aLine(lifetime)] }),
    ],
    [
      "production that has ended comes before sandbox that has ended",
      aPurchase({ key: "9", lines: [aLine({ endsAt: NOW - 5 })] }),
      aPurchase({ key: "1", environment: "sandbox", lines: [aLine({ endsAt: NOW - 1 })] }),
    ],
    [
      "lifetime comes before any end",
      aPurchase({ key: "9", lines: [aLine(lifetime)] }),
      aPurchase({ key: "1", lines: [aLine({ endsAt: NOW + 9999 * DAY })] }),
    ],
    [
      "the later end comes first",
      aPurchase({ key: "9", lines: [aLine({ endsAt: NOW + 2 })] }),
      aPurchase({ key: "1", lines: [aLine({ endsAt: NOW + 1 })] }),
    ],
    [
      "then the later start",
      aPurchase({ key: "9", lines: [aLine({ startsAt: NOW - 1 })] }),
      aPurchase({ key: "1", lines: [aLine({ startsAt: NOW - 2 })] }),
    ],
    [
      "and a start before none",
      aPurchase({ key: "9", lines: [aLine({ startsAt: 0 })] }),
      aPurchase({ key: "1", lines: [aLine({ startsAt: null })] }),
    ],
    ["then the smaller purchase key", aPurchase({ key: "1" }), aPurchase({ key: "2" })],
  ];
  test.each(better)("%s", (_, winner, loser) => {
    const forth = answer([winner, loser]);
    expect(forth).toEqual(answer([winner]));
    expect(JSON.stringify(answer([loser, winner]))).toBe(JSON.stringify(forth));
  });

  test("an account shows whose purchase grants it", () => {
    const other = customerId("00000000-0000-4000-8000-000000000002");
    const holdings: Holding[] = [
      { customerIdentifier: CUSTOMER, purchase: aPurchase({ key: "1" }) },
      { customerIdentifier: other, purchase: aPurchase({ key: "2", lines: [aLine(lifetime)] }) },
    ];
    expect(entitlementsAt(NOW, holdings, aCatalog())[0]?.customerIdentifier).toBe(other);
  });
});
