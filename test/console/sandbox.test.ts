import { needsProduct } from "../../console/pages/sandbox.ts";
import { CHANGES, changeSchema } from "../../sandbox/ios-store/shop/requests.ts";

test.each(Object.keys(CHANGES))("the page knows whether %s needs a product", (change) => {
  const product = needsProduct(change) ? { productIdentifier: "com.example.gold" } : {};
  expect(changeSchema.safeParse({ change, ...product }).error).toBeUndefined();
  expect(changeSchema.safeParse({ change }).success).toBe(!needsProduct(change));
});
