import {
  heldAlike,
  HELD_PER_ENTITLEMENT,
  HOLDINGS_BYTES,
  holdingsOf,
  sameHoldings,
} from "../../lib/entitlements/holdings.ts";
import { referenceText, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { encodeHoldings } from "../../lib/table/customers/items.ts";
import {
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  period,
} from "../../testing/support/stores/purchases.ts";
import { aPeriod, at } from "./history.ts";

const CATALOG = aCatalog([
  aProduct(),
  aProduct({ productIdentifier: "gold", grants: ["gold"] }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "both", grants: ["premium", "gold"] }),
]);

const bought = (key: string, line: Partial<Line>, purchase: Partial<Purchase> = {}): Purchase => ({
  ...aPurchase({ key, lines: [aLine({ transactionIdentifier: key, event: key, ...line })] }),
  ...purchase,
});
const pass = (key: string, startsAt: number): Purchase =>
  bought(key, { productIdentifier: "pass", nature: "consumable", startsAt, endsAt: null });
const keysOf = (purchases: readonly Purchase[]) => purchases.map(({ key }) => key);
const many = (count: number, make: (key: string, index: number) => Purchase) =>
  Array.from({ length: count }, (_, index) => make(String(1000 + index), index));

test("what may grant is held, sorted by key, in any order", () => {
  const [one, two] = [bought("1", {}), bought("2", {})];
  for (const purchases of [
    [one, two],
    [two, one],
  ])
    expect(holdingsOf(purchases, CATALOG)).toEqual([one, two]);
});

test.each<[rule: string, purchase: Purchase]>([
  ["was replaced", bought("1", {}, { replacedBy: purchaseKey("2") })],
  ["has no line", bought("1", {}, { lines: [] })],
  ["selects no product", bought("1", {}, { selectedProducts: [] })],
])("a purchase that %s is not held", (_, purchase) => {
  expect(holdingsOf([purchase], CATALOG, () => true)).toEqual([]);
});

test("only lines of selected products are held", () => {
  const lines = ["gold", "monthly"].map((productIdentifier) => aLine({ productIdentifier }));
  const [only] = holdingsOf([aPurchase({ lines, selectedProducts: ["gold"] })], CATALOG);
  expect(only?.lines).toEqual(lines.slice(0, 1));
});

test.each([
  ["auto_renewable", true],
  ["non_consumable", true],
  ["non_renewing", false],
  ["consumable", false],
] as const)("an unmapped %s is held before it is mapped: %p", (nature, isHeld) => {
  const purchase = bought("1", { productIdentifier: "other", nature });
  expect(holdingsOf([purchase], CATALOG)).toHaveLength(isHeld ? 1 : 0);
  expect(holdingsOf([purchase], CATALOG, (text) => text === referenceText(purchase))).toHaveLength(1);
});

test.each([
  ["one of them lasts", "other", "non_consumable"],
  ["one of them is mapped", "monthly", "consumable"],
] as const)("a purchase of several products is held where %s", (_, productIdentifier, nature) => {
  const coins = aLine({ productIdentifier: "coins", nature: "consumable", endsAt: null });
  const lines = [coins, { ...coins, transactionIdentifier: "2", productIdentifier, nature }];
  expect(holdingsOf([aPurchase({ lines })], CATALOG)).toHaveLength(1);
  expect(holdingsOf([aPurchase({ lines: [coins] })], CATALOG)).toEqual([]);
});

test("of each entitlement the fifty that end last are held", () => {
  const passes = many(HELD_PER_ENTITLEMENT + 10, (key, index) => pass(key, at(index)));
  expect(keysOf(holdingsOf(passes, CATALOG))).toEqual(keysOf(passes.slice(10)));
  const lasting = bought("1", { nature: "non_consumable", endsAt: null });
  expect(keysOf(holdingsOf([...passes, lasting], CATALOG))).toEqual(["1", ...keysOf(passes.slice(11))]);
});

test.each([
  ["of another entitlement", "gold", "production"],
  ["in production by the sandbox's", "monthly", "sandbox"],
] as const)("a purchase %s is never pushed out", (_, productIdentifier, environment) => {
  const other = bought("1", { productIdentifier, startsAt: at(-400), endsAt: at(-300) });
  const lifetimes = many(HELD_PER_ENTITLEMENT + 10, (key) =>
    bought(key, { nature: "non_consumable", endsAt: null }, { environment }),
  );
  expect(keysOf(holdingsOf([...lifetimes, other], CATALOG))).toContain("1");
});

describe("holdings of one customer", () => {
  const long = (name: string) => name.padEnd(255, "x");
  const large = many(2000, (key) =>
    bought(key, { productIdentifier: long(`other ${key}`), nature: "non_consumable", endsAt: null }),
  );
  test("fit into one item of DynamoDB", () => {
    const stored = JSON.stringify(encodeHoldings(holdingsOf(large, CATALOG)));
    expect(Buffer.byteLength(stored)).toBeLessThan(HOLDINGS_BYTES);
    expect(Buffer.byteLength(stored)).toBeGreaterThan(HOLDINGS_BYTES / 2);
  });
  /** Bytes without an event: 48 for the purchase, 136 for a line, 96 for a renewal info, and all its texts. */
  const whole = (event: number, renewsInto: string | null): Purchase => {
    const texts = { productIdentifier: "é", basePlanIdentifier: "bbb", purchaseOptionIdentifier: "ooooo" };
    const line = aLine({ ...texts, transactionIdentifier: "ttttttt", event: "e".repeat(event) });
    const renewal = renewsInto === null ? null : aRenewal({ renewsInto });
    return aPurchase({ key: "k".repeat(11), lines: [line], renewal });
  };
  test.each([
    ["with a renewal info", "r".repeat(13), 96 + 13],
    ["without one", null, 0],
  ])("fill its room to the byte: a purchase %s", (_, renewsInto, more) => {
    const room = HOLDINGS_BYTES - 48 - 11 - 136 - 2 - 3 - 5 - 7 - more;
    expect(holdingsOf([whole(room, renewsInto)], CATALOG)).toHaveLength(1);
    expect(holdingsOf([whole(room + 1, renewsInto)], CATALOG)).toEqual([]);
  });

  test("have what ends last of each entitlement first", () => {
    expect(keysOf(holdingsOf([...large, bought("9999", { endsAt: at(-300) })], CATALOG))).toContain("9999");
  });
});

test("holdings are the same where lines, replacement and renewal info are", () => {
  const one = aPurchase({ lines: [aPeriod("2", "monthly", -10, 20)], renewal: aRenewal() });
  expect(sameHoldings([one], [{ ...one, verifiedAt: 1 }])).toBe(true);
  const replaced = [{ replacedAt: at(0) }, { replacedBy: purchaseKey("3") }];
  for (const change of [{ renewal: null }, ...replaced, { lines: [] }])
    expect(sameHoldings([one], [{ ...one, ...change }])).toBe(false);
  expect(sameHoldings([one], [])).toBe(false);
  expect(sameHoldings([], [one])).toBe(false);
  expect(sameHoldings([one, one], [one, { ...one, lines: [] }])).toBe(false);
  expect([heldAlike(one, one), heldAlike(undefined, undefined)]).toEqual([true, true]);
  expect([heldAlike(one, undefined), heldAlike(undefined, one)]).toEqual([false, false]);
});
