import { aCatalog, aProduct } from "../support/purchases.ts";

test("a catalog sells in the stores of its products, and in no other", () => {
  const catalog = aCatalog([aProduct({ store: "ios-store" })]);
  expect([catalog.sellsIn("ios-store"), catalog.sellsIn("android-store")]).toEqual([true, false]);
  expect(aCatalog([]).sellsIn("ios-store")).toBe(false);
});

test("a product with a base plan comes before the one without, which is all others' of it", () => {
  const yearly = aProduct({
    store: "android-store",
    productIdentifier: "premium",
    basePlanIdentifier: "yearly",
  });
  const any = aProduct({ store: "android-store", productIdentifier: "premium", basePlanIdentifier: null });
  const { productOf } = aCatalog([any, yearly]);
  expect(productOf("android-store", "premium", "yearly")).toEqual(yearly);
  expect(productOf("android-store", "premium", "monthly")).toEqual(any);
  expect(productOf("android-store", "premium", null)).toEqual(any);
  expect(productOf("ios-store", "premium", null)).toBeUndefined();
});
