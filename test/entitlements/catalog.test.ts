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

test("a product with a purchase option takes precedence over the one without", () => {
  const rent = aProduct({
    store: "android-store",
    productIdentifier: "film",
    purchaseOptionIdentifier: "rent",
    accessDuration: period("P2D"),
  });
  const any = aProduct({ store: "android-store", productIdentifier: "film" });
  const option = (purchaseOptionIdentifier: string) => ({
    productIdentifier: "film",
    purchaseOptionIdentifier,
  });
  expect(aCatalog([any, rent]).productOf("android-store", option("rent"))).toEqual(rent);
  expect(aCatalog([any, rent]).productOf("android-store", option("buy"))).toEqual(any);
  expect(aCatalog([rent]).productOf("android-store", option("buy"))).toBeUndefined();
});

test("a purchase option may have any name", () => {
  const any = aProduct({ store: "android-store", productIdentifier: "film" });
  const named = { ...any, purchaseOptionIdentifier: "null", grants: ["film"] };
  const { productOf } = aCatalog([any, named]);
  expect(productOf("android-store", { productIdentifier: "film" })).toEqual(any);
  expect(productOf("android-store", { productIdentifier: "film", purchaseOptionIdentifier: "null" })).toEqual(
    named,
  );
});
