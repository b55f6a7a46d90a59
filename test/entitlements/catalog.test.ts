import { ungrantedProducts } from "../../lib/entitlements/catalog.ts";
import { aCatalog, aLine, aProduct, aPurchase, period } from "../../testing/support/stores/purchases.ts";

test("a catalog sells in the stores of its products alone", () => {
  const catalog = aCatalog([aProduct({ store: "ios-store" })]);
  expect([catalog.sellsIn("ios-store"), catalog.sellsIn("android-store")]).toEqual([true, false]);
  expect(aCatalog([]).sellsIn("ios-store")).toBe(false);
});

test("a product with a base plan wins over one for all", () => {
  const of = (basePlanIdentifier: string | null) =>
    aProduct({ store: "android-store", productIdentifier: "premium", basePlanIdentifier });
  const [any, yearly] = [of(null), of("yearly")];
  const { productOf } = aCatalog([any, yearly]);
  expect(productOf("android-store", yearly)).toEqual(yearly);
  for (const other of [of("monthly"), any, { productIdentifier: "premium" }])
    expect(productOf("android-store", other)).toEqual(any);
  expect(productOf("ios-store", any)).toBeUndefined();
});

test.each<[what: string, plans: readonly (readonly string[])[], grants: readonly string[] | undefined]>([
  ["its only plan grants", [["premium", "maps"]], ["premium", "maps"]],
  ["all its plans grant", [["premium", "maps"], ["premium"]], ["premium"]],
  ["no plan, where they grant different things", [["premium"], ["maps"]], undefined],
])("a subscription whose base plan Google does not name has what %s", (_, plans, grants) => {
  const mapped = plans.map((granted, index) =>
    aProduct({ store: "android-store", basePlanIdentifier: `p${index}`, grants: granted }),
  );
  const { productOf } = aCatalog(mapped);
  const { productIdentifier } = aProduct();
  expect(productOf("android-store", { productIdentifier })?.grants).toEqual(grants);
  expect(productOf("android-store", { productIdentifier, basePlanIdentifier: "other" })).toBeUndefined();
});

test("a product with a purchase option of any name wins over the one without", () => {
  const any = aProduct({ store: "android-store", productIdentifier: "film" });
  for (const name of ["rent", "null"]) {
    const named = { ...any, purchaseOptionIdentifier: name, accessDuration: period("P2D") };
    const bought = { productIdentifier: "film", purchaseOptionIdentifier: "buy" };
    const { productOf } = aCatalog([any, named]);
    expect(productOf("android-store", named)).toEqual(named);
    for (const other of [bought, { productIdentifier: "film" }])
      expect(productOf("android-store", other)).toEqual(any);
    expect(aCatalog([named]).productOf("android-store", bought)).toBeUndefined();
  }
});

const CATALOG = aCatalog([
  aProduct(),
  aProduct({ store: "android-store", productIdentifier: "plan", basePlanIdentifier: "monthly" }),
  aProduct({ store: "android-store", productIdentifier: "film" }),
  aProduct({ store: "android-store", productIdentifier: "series", accessDuration: period("P2D") }),
]);

const android = (...lines: readonly Parameters<typeof aLine>[0][]) =>
  aPurchase({ store: "android-store", lines: lines.map((line) => aLine(line)) });

test.each([
  ["a mapped product grants", aPurchase(), null],
  ["an unmapped one does not", aPurchase({ lines: [aLine({ productIdentifier: "other" })] }), "unmapped"],
  ["a mapped base plan grants", android({ productIdentifier: "plan", basePlanIdentifier: "monthly" }), null],
  [
    "a rental without an access duration does not",
    android({ productIdentifier: "film", nature: "consumable", rented: true }),
    "no-access-duration",
  ],
  [
    "a rental with one grants",
    android({ productIdentifier: "series", nature: "consumable", rented: true }),
    null,
  ],
])("%s", (_, purchase, because) => {
  expect(ungrantedProducts([purchase], CATALOG).map((product) => product.because)).toEqual(
    because === null ? [] : [because],
  );
});

test("each product is named once, however often it was bought", () => {
  const of = (...names: readonly string[]) =>
    aPurchase({ lines: names.map((productIdentifier) => aLine({ productIdentifier })) });
  const found = ungrantedProducts([of("other", "other"), of("other"), aPurchase(), of("another")], CATALOG);
  const unmapped = { store: "ios-store", basePlanIdentifier: null, purchaseOptionIdentifier: null };
  expect(found).toEqual(
    ["other", "another"].map((name) => ({ ...unmapped, productIdentifier: name, because: "unmapped" })),
  );
});
