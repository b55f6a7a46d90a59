import { createExports } from "../../../sandbox/exports/sell.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { startTestStores } from "../../../testing/stores.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const notified: string[] = [];
const now = () => NOW;
let stores: Awaited<ReturnType<typeof startTestStores>>;

beforeAll(async () => {
  const invoke = async (name: string) => {
    notified.push(name);
    return { statusCode: 200, body: "{}" };
  };
  stores = await startTestStores(invoke, now, () => true);
  stores.mounts.push(createExports("/exports", stores, now));
});
afterAll(() => stores.stop());

const post = async (path: string, body: unknown): Promise<Response> =>
  fetch(stores.address + path, { method: "POST", body: JSON.stringify(body) });
const read = async (path: string) =>
  (await fetch(`${stores.address}/sandbox/${path}`)).json() as Promise<Record<string, unknown>>;

test("an export is answered, and its persons have bought in the stores unnoticed", async () => {
  const response = await post("/exports", { app: "com.example.trails", persons: 60 });
  expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  const lines = (await response.text()).trimEnd().split("\n");
  expect(lines[0]).toMatch(/^rc_original_app_user_id,/);
  expect(lines.length).toBeGreaterThan(60);
  const lists = [await read("ios-store/purchases"), await read("android-publisher/purchases")];
  expect(lists.flatMap(({ purchases }) => purchases).length).toBeGreaterThan(50);
  expect(notified).toEqual([]);
});

test("the stores notify again afterwards", async () => {
  await post("/exports", { app: "com.example.trails", persons: 1, seed: 2 });
  await post("/sandbox/ios-store/purchases", { transactions: [{ productIdentifier: "p", period: "P1M" }] });
  await post("/sandbox/android-publisher/purchases", {
    packageName: "com.example.trails",
    productKind: "subscription",
    productIdentifier: "premium",
  });
  const both = ["receiveIosStoreNotification", "receiveAndroidStoreNotification"];
  expect(new Set(notified)).toEqual(new Set(both));
});

test.each([{}, { app: "a", persons: 0 }, { app: "a", persons: 1, format: "adapty-import" }])(
  "%j is refused with a reason",
  async (body) => {
    const response = await post("/exports", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ message: expect.stringMatching(/./) });
  },
);

test("the App Store says which root its chain has", async () => {
  expect(await read("ios-store/root")).toEqual({ fingerprint: fingerprintOf(stores.chain.root) });
});
