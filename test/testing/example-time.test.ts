import { startKit, type Kit } from "../../testing/index.ts";

let kit: Kit;
beforeAll(async () => {
  kit = await startKit();
});
afterAll(() => kit?.stop());

test("a cancelled subscription ends, and a refunded purchase", async () => {
  const app = await kit.application();
  const { key, packageName } = app;
  const account = { applicationAccountIdentifier: "user-1" };
  const statuses = async () => {
    const { body } = await kit.call("readAccountEntitlements", { key, path: account });
    return body.entitlements?.map(({ identifier, status }) => `${identifier} ${status}`);
  };

  const purchase = await app.buyOnIos({ productIdentifier: "monthly", period: "P1M" });
  await kit.call("linkIosStoreCustomer", { key, body: { ...purchase, ...account } });
  const purchaseToken = app.buyOnAndroid({ productKind: "one_time_product", productIdentifier: "maps" });
  const bought = { packageName, purchaseToken, productKind: "one_time_product", ...account };
  await kit.call("linkAndroidStoreCustomer", { key, body: bought });
  expect(await statuses()).toEqual(["maps active", "premium active"]);

  const [subscription = ""] = purchase.originalTransactionIdentifiers;
  const cancelled = await kit.ios.change(subscription, { change: "cancel" });
  await kit.call("linkIosStoreCustomer", { key, body: { ...cancelled, ...account } });
  kit.android.change(purchaseToken, { change: "refund" });
  await kit.call("linkAndroidStoreCustomer", { key, body: bought });
  await kit.clock.advance("P27D");
  expect(await statuses()).toEqual(["maps revoked", "premium active"]);

  await kit.clock.advance("P4D");
  expect(await statuses()).toEqual(["maps revoked", "premium expired"]);
});
