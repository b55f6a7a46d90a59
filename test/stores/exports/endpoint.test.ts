import { createServer, type Server } from "node:http";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { close, listen } from "../../../local/server.ts";
import { createExports } from "../../../sandbox/exports/endpoint.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { createTestStores, type TestStores } from "../../../testing/stores.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const notified: string[] = [];
let server: Server;
let address: string;
let stores: TestStores;

beforeAll(async () => {
  server = createServer((request, response) => {
    void (async () => {
      for (const mount of [...stores.mounts, exports]) if (await mount(request, response)) return;
      notified.push(request.url ?? "");
      request.resume();
      response.writeHead(200).end();
    })();
  });
  address = `http://127.0.0.1:${await listen(server, 0)}`;
  stores = createTestStores(
    address,
    () => NOW,
    () => true,
  );
  const exports = createExports("/exports", stores, () => NOW);
});
afterAll(async () => close(server));

const post = async (path: string, body: unknown): Promise<Response> =>
  fetch(address + path, { method: "POST", body: JSON.stringify(body) });
const purchasesIn = async (store: string): Promise<number> => {
  const { purchases } = (await (await fetch(`${address}/sandbox/${store}/purchases`)).json()) as {
    readonly purchases: readonly unknown[];
  };
  return purchases.length;
};

test("an export is answered, and its persons have bought in the stores unnoticed", async () => {
  const response = await post("/exports", { app: "com.example.trails", persons: 60 });
  expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  const lines = (await response.text()).trimEnd().split("\n");
  expect(lines[0]).toMatch(/^rc_original_app_user_id,/);
  expect(lines.length).toBeGreaterThan(60);
  expect((await purchasesIn("ios-store")) + (await purchasesIn("android-publisher"))).toBeGreaterThan(50);
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
  expect(new Set(notified)).toEqual(
    new Set([endpoints.receiveIosStoreNotification.path, endpoints.receiveAndroidStoreNotification.path]),
  );
});

test.each([{}, { app: "a", persons: 0 }, { app: "a", persons: 1, format: "adapty-import" }])(
  "%j is refused with a reason",
  async (body) => {
    const response = await post("/exports", body);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { readonly message: string }).message).not.toBe("");
  },
);

test("the App Store says which root its chain has", async () => {
  expect(await (await fetch(`${address}/sandbox/ios-store/root`)).json()).toEqual({
    fingerprint: fingerprintOf(stores.chain.root),
  });
});
