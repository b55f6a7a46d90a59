import { CHANGES, changesOf, needsProduct } from "../../console/pages/sandbox.ts";
import { CHANGES as ANDROID_CHANGES } from "../../sandbox/android-store/shop/requests.ts";
import { changeSchema } from "../../sandbox/ios-store/shop/requests.ts";

test.each(changesOf("ios-store"))("the sandbox App Store knows the change %s", (change) => {
  const product = needsProduct(change) ? { productIdentifier: "com.example.gold" } : {};
  expect(changeSchema.safeParse({ change, ...product }).error).toBeUndefined();
  // Without its product, a change that needs one is refused.
  expect(changeSchema.safeParse({ change }).success).toBe(!needsProduct(change));
});

test("the sandbox of Google Play knows each of its changes", () => {
  expect(ANDROID_CHANGES).toEqual(expect.arrayContaining(Object.keys(CHANGES["android-store"])));
});
