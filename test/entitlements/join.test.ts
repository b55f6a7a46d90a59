import { joinAll } from "../../lib/entitlements/join.ts";
import { referenceText, renewedPurchase, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal, NOW } from "../../testing/support/stores/purchases.ts";

const idsOf = (purchases: readonly Purchase[]): readonly (string | null)[] =>
  purchases.flatMap(({ lines }) => lines.map((line) => line.transactionIdentifier));

/** The join of the facts; the same in the other order, and one by one. */
const joined = (facts: readonly Purchase[]): readonly Purchase[] => {
  const all = joinAll(facts);
  expect(joinAll(facts.toReversed())).toEqual(all);
  expect(facts.reduce<Purchase[]>((known, fact) => joinAll([...known, fact]), [])).toEqual(all);
  return all;
};
const of = (line: Partial<Line>, purchase: Partial<Purchase> = {}): Purchase => ({
  ...aPurchase({ lines: [aLine(line)] }),
  ...purchase,
});

describe("of a lineage are kept", () => {
  /** A period by its event, in milliseconds; signed at last at {@link NOW}. */
  const period = (id: string, from: number, to: number, line: Partial<Line> = {}): Purchase =>
    of({
      transactionIdentifier: id,
      event: `w${id}`,
      startsAt: from,
      purchasedAt: from,
      endsAt: to,
      verifiedAt: NOW,
      ...line,
    });
  const other = { productIdentifier: "other" };
  const days = (...some: readonly number[]) => some.map((day) => period(String(day), day, day + 1));
  const three = [period("7", 2, NOW + 2), period("8", 3, NOW + 3), period("9", 4, NOW + 4)];
  const copied = period("2", 1, 40, { event: "w1", purchasedAt: 3 });

  test.each<[what: string, facts: readonly Purchase[], ids: readonly string[]]>([
    [
      "the three periods of each product that end last",
      [...days(1, 2, 3, 4), ...[10, 20, 30, 40].map((day) => period(String(day), day, day + 1, other))],
      ["2", "3", "4", "20", "30", "40"],
    ],
    ["all that had not ended when last signed", [period("1", 1, NOW + 1), ...three], ["1", "7", "8", "9"]],
    ["none that ended as it was signed", [period("1", 1, NOW), ...three], ["7", "8", "9"]],
    [
      "a period with the last end of its copies",
      [period("1", 1, 5), copied, ...days(6, 10, 20)],
      ["2", "10", "20"],
    ],
  ])("%s", (_, facts, ids) => {
    expect(idsOf(joined(facts))).toEqual(ids);
  });

  test("the hundred events that end last", () => {
    const all = Array.from({ length: 150 }, (_, index) =>
      aLine({ transactionIdentifier: `${index}`, productIdentifier: `p${index}`, endsAt: 2000 - index }),
    );
    const ends = joined([aPurchase({ lines: all })]).flatMap(({ lines }) =>
      lines.map(({ endsAt }) => endsAt),
    );
    expect([ends.length, Math.min(...ends.map(Number))]).toEqual([100, 1901]);
  });
});

describe("of Google's answers about a purchase", () => {
  const answer = (verifiedAt: number, products: readonly string[], line: Partial<Line> = {}): Purchase =>
    aPurchase({
      store: "android-store",
      verifiedAt,
      lines: products.map((productIdentifier) =>
        aLine({ transactionIdentifier: null, productIdentifier, verifiedAt, ...line }),
      ),
    });
  test.each<[rule: string, facts: readonly Purchase[], expected: Partial<Purchase>]>([
    [
      "the later one with lines counts",
      [answer(1, ["b", "c"]), answer(2, ["a"]), answer(3, [])],
      { ...answer(2, ["a"]), verifiedAt: 3 },
    ],
    ["of one moment the greater counts", [answer(1, ["a"]), answer(1, ["b"])], answer(1, ["b"])],
    [
      "the first that showed a refund dates it, of its product",
      [answer(1, ["a"], { revokedSince: 1 }), answer(2, ["a"], { revokedSince: 2 }), answer(3, ["a", "b"])],
      { lines: [...answer(3, ["a"], { revokedSince: 1 }).lines, ...answer(3, ["b"]).lines] },
    ],
  ])("%s", (_, facts, expected) => {
    expect(joined(facts)).toEqual([expect.objectContaining(expected)]);
  });

  test("the selected products add up, sorted; all counts before some", () => {
    const asked = (selectedProducts: readonly string[] | null) => ({ ...answer(1, ["a"]), selectedProducts });
    expect(joined([asked(["b"]), asked(["a", "b"])])).toMatchObject([{ selectedProducts: ["a", "b"] }]);
    expect(joined([asked(["b"]), asked(null)])).toMatchObject([{ selectedProducts: null }]);
  });
});

const by = (key: string | null, replacedAt: number | null = null) =>
  aPurchase({ replacedBy: key === null ? null : purchaseKey(key), replacedAt });
test.each([
  ["the earlier counts", by("1", 6), { replacedBy: "2", replacedAt: 5 }],
  ["one without a time counts", by("1"), { replacedBy: "1", replacedAt: null }],
  ["the greater key of one moment counts", by("1", 5), { replacedBy: "2", replacedAt: 5 }],
  ["any counts before none", by(null), { replacedBy: "2", replacedAt: 5 }],
])("of two replacements %s", (_, other, expected) => {
  expect(joined([by("2", 5), other])).toMatchObject([expected]);
});

test("a renewal info is joined with its lineage, and selects no product", () => {
  const [purchase, renewal] = [aPurchase(), aRenewal()];
  expect(joined([purchase, renewedPurchase(purchase, renewal)])).toEqual([{ ...purchase, renewal }]);
  const later = aRenewal({ signedAt: NOW, willRenew: false });
  const facts = [renewedPurchase(purchase, renewal), renewedPurchase(purchase, later)];
  expect(joined(facts)).toMatchObject([{ renewal: later, selectedProducts: [] }]);
});

test("joined purchases are sorted by reference", () => {
  const purchases = [
    aPurchase({ key: "0", environment: "sandbox" }),
    ...["3", "1", "2"].map((key) => aPurchase({ key })),
  ];
  expect(joinAll(purchases).map(referenceText)).toEqual([
    "ios-store production 1",
    "ios-store production 2",
    "ios-store production 3",
    "ios-store sandbox 0",
  ]);
});
