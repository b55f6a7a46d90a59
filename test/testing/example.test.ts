import { startKit, type Kit } from "../../testing/index.ts";

let kit: Kit;
beforeAll(async () => {
  kit = await startKit();
});
afterAll(() => kit?.stop());

test("a refund ends the access", async () => {
  const { key, buyOnIos } = await kit.application();
  const link = async (purchase: object) =>
    kit.call("linkIosStoreCustomer", {
      key,
      body: { ...purchase, applicationAccountIdentifier: "user-1" },
    });

  const purchase = await buyOnIos({ productIdentifier: "monthly", period: "P1M" });
  expect((await link(purchase)).body.entitlements).toMatchObject([{ identifier: "premium", active: true }]);

  await kit.clock.advance("P10D");
  const [bought = ""] = purchase.originalTransactionIdentifiers;
  await link(await kit.ios.change(bought, { change: "refund" }));

  const { status, body } = await kit.call("readAccountEntitlements", {
    key,
    path: { applicationAccountIdentifier: "user-1" },
  });
  expect(status).toBe(200);
  expect(body.entitlements).toMatchObject([{ identifier: "premium", status: "revoked", active: false }]);
});
