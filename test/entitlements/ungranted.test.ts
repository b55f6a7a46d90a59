import { ungrantedProducts } from "../../lib/entitlements/catalog.ts";
import { aCatalog, aLine, aProduct, aPurchase, period } from "../../testing/support/stores/purchases.ts";

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
