import { aCatalog, aProduct, period } from "../../testing/support/stores/purchases.ts";

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
