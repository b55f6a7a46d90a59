import {
  isOverAt,
  lineName,
  lineOrder,
  productKindOf,
  sameLine,
  samePurchase,
  selectsNothing,
  type Line,
  type Purchase,
} from "../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase } from "../../testing/support/stores/purchases.ts";

test.each([
  ["auto_renewable", "subscription"],
  ["non_renewing", "subscription"],
  ["non_consumable", "one_time_product"],
  ["consumable", "one_time_product"],
] as const)("%s is a %s", (nature, kind) => {
  expect(productKindOf(nature)).toBe(kind);
});

test.each<[what: string, line: Partial<Line>, isOver: boolean]>([
  ["one that was refunded", { revokedAt: 5 }, true],
  ["one that was revoked", { standing: "revoked" }, true],
  ["one that expired", { standing: "expired", endsAt: 20 }, true],
  ["one that has ended and does not renew", { endsAt: 10, willRenew: false }, true],
  ["one that has ended, of whose renewal nothing is said", { endsAt: 10, willRenew: null }, true],
  ["one that has ended and renews", { endsAt: 10, willRenew: true }, false],
  ["one that ends later", { endsAt: 11, willRenew: false }, false],
  ["one without an end", { endsAt: null, willRenew: false }, false],
  ["one in a grace period", { standing: "grace_period", endsAt: 10, willRenew: false }, false],
  ["one on hold", { standing: "billing_retry", endsAt: 10, willRenew: false }, false],
])("a line is over by the store's word: %s", (_, line, isOver) => {
  expect(isOverAt(aLine({ endsAt: 20, ...line }), 10)).toBe(isOver);
});

test("a purchase selects nothing where no product of it is selected", () => {
  const selecting = (selectedProducts: readonly string[] | null) =>
    selectsNothing(aPurchase({ selectedProducts }));
  expect([[], ["a"], null].map(selecting)).toEqual([true, false, false]);
});

test.each([
  "transactionIdentifier",
  "event",
  "productIdentifier",
  "basePlanIdentifier",
  "purchaseOptionIdentifier",
])("a line's name has its %s, and no times", (field) => {
  expect(lineName(aLine({ [field]: "9" }))).not.toBe(lineName(aLine()));
  expect(lineName(aLine({ startsAt: 9, endsAt: 9, verifiedAt: 9 }))).toBe(lineName(aLine()));
});

test("lines are ordered by start, then what has ended, end, transaction and any other field", () => {
  const ascending: readonly Partial<Line>[] = [
    { startsAt: null, endsAt: 30 },
    { startsAt: 1, endsAt: 29 },
    { startsAt: 2, standing: "expired", endsAt: 28 },
    { startsAt: 2, endsAt: 9, transactionIdentifier: "3" },
    { startsAt: 2, transactionIdentifier: null },
    { startsAt: 2, transactionIdentifier: "1" },
    { startsAt: 2, transactionIdentifier: "2", productIdentifier: "a" },
    { startsAt: 2, transactionIdentifier: "2", productIdentifier: "b" },
    { startsAt: 2, endsAt: null, transactionIdentifier: "0" },
  ];
  const lines = ascending.map((line) => aLine({ endsAt: 10, ...line }));
  for (const [place, line] of lines.entries())
    for (const [other, another] of lines.entries())
      expect(lineOrder(line, another)).toBe(Math.sign(place - other));
});

test("purchases are the same when all fields are", () => {
  const purchase = aPurchase({ selectedProducts: ["a", "b"], replacedBy: purchaseKey("2") });
  expect(samePurchase(purchase, structuredClone(purchase))).toBe(true);
  expect(samePurchase(aPurchase(), aPurchase())).toBe(true);
  const changes: readonly Partial<Purchase>[] = [
    { key: purchaseKey("3") },
    { store: "android-store" },
    { environment: "sandbox" },
    { verifiedAt: 1 },
    { replacedBy: null },
    { replacedAt: 9 },
    { selectedProducts: null },
    { selectedProducts: ["a"] },
    { selectedProducts: ["a", "c"] },
    { lines: [] },
    { lines: [...purchase.lines, aLine()] },
  ];
  for (const change of changes) {
    expect(samePurchase(purchase, { ...purchase, ...change })).toBe(false);
    expect(samePurchase({ ...purchase, ...change }, purchase)).toBe(false);
  }
});

test.each(Object.keys(aLine()))("two lines that differ in %s are not the same", (field) => {
  const line = aLine();
  expect(sameLine(line, { ...line })).toBe(true);
  expect(sameLine(line, { ...line, [field]: "another" })).toBe(false);
});
