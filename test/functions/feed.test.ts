import { startKit, type Kit } from "../../testing/kit.ts";

let kit: Kit;
beforeAll(async () => {
  kit = await startKit();
}, 60_000);
afterAll(() => kit?.stop());

const MANIFEST = {
  application: { name: "Trails", keepsChanges: true },
  stores: { "ios-store": [{ bundleIdentifier: "com.example.fed", appAppleIdentifier: 7 }] },
  entitlements: { premium: {} },
  products: [{ store: "ios-store", productIdentifier: "monthly", grants: ["premium"] }],
};

test("a linked account is in the feed once its change was published", async () => {
  const app = await kit.application(MANIFEST);
  const body = {
    ...(await app.buyOnIos({ productIdentifier: "monthly" })),
    applicationAccountIdentifier: "a",
  };
  await kit.call("linkIosStoreCustomer", { key: app.key, body });
  await kit.run("tell-changes");
  const { body: page } = await kit.call("readChanges", { key: app.key });
  expect(page).toMatchObject({ changes: [{ applicationAccountIdentifier: "a", version: 1 }] });
  const last = await kit.call("readChanges", { key: app.key, query: { after: page.next ?? "" } });
  expect(last.body).toEqual({ changes: [], next: page.next });
});

test.each([...["0", "1001", "x", "1.5", ""].map((limit) => ["limit", limit]), ["after", "x".repeat(65)]] as [
  name: string,
  value: string,
][])("a bad %s is 400 and names it: %j", async (name, value) => {
  const app = await kit.application({ ...MANIFEST, stores: {} });
  const { status, body } = await kit.call("readChanges", { key: app.key, query: { [name]: value } });
  expect([status, body.error, body.issues?.[0]?.path]).toEqual([400, "INVALID_REQUEST", name]);
});
