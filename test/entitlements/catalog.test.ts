import { aCatalog, aProduct, period } from "../../testing/support/stores/purchases.ts";

test("a catalog sells in the stores of its products alone", () => {
  const catalog = aCatalog([aProduct({ store: "ios-store" })]);
  expect([catalog.sellsIn("ios-store"), catalog.sellsIn("android-store")]).toEqual([true, false]);
  expect(aCatalog([]).sellsIn("ios-store")).toBe(false);
});

test("a product with a base plan wins over one for all", () => {
  const yearly = aProduct({
    store: "android-store",
    productIdentifier: "premium",
    basePlanIdentifier: "yearly",
  });
  const any = aProduct({ store: "android-store", productIdentifier: "premium", basePlanIdentifier: null });
  const { productOf } = aCatalog([any, yearly]);
  const plan = (basePlanIdentifier: string | null) => ({ productIdentifier: "premium", basePlanIdentifier });
  expect(productOf("android-store", plan("yearly"))).toEqual(yearly);
  expect(productOf("android-store", plan("monthly"))).toEqual(any);
  expect(productOf("android-store", plan(null))).toEqual(any);
  expect(productOf("android-store", { productIdentifier: "premium" })).toEqual(any);
  expect(productOf("ios-store", plan(null))).toBeUndefined();
});

test("a product with a purchase option of any name wins over the one without", () => {
  const any = aProduct({ store: "android-store", productIdentifier: "film" });
  for (const name of ["rent", "null"]) {
    const named = { ...any, purchaseOptionIdentifier: name, accessDuration: period("P2D") };
    const option = (purchaseOptionIdentifier: string) => ({
      productIdentifier: "film",
      purchaseOptionIdentifier,
    });
    const { productOf } = aCatalog([any, named]);
    expect(productOf("android-store", option(name))).toEqual(named);
    expect(productOf("android-store", option("buy"))).toEqual(any);
    expect(productOf("android-store", { productIdentifier: "film" })).toEqual(any);
    expect(aCatalog([named]).productOf("android-store", option("buy"))).toBeUndefined();
  }
});
