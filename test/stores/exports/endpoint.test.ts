import { createServer, type Server } from "node:http";
import { close, listen } from "../../../local/server.ts";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import { createExports } from "../../../sandbox/exports/endpoint.ts";
import { createIosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { fingerprintOf, makeChain } from "../../../sandbox/ios-store/signing.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const chain = makeChain();
const notified: string[] = [];
let server: Server;
let address: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    void (async () => {
      for (const mount of [ios.handle, android.handle, exports]) if (await mount(request, response)) return;
      notified.push(request.url ?? "");
      request.resume();
      response.writeHead(200).end();
    })();
  });
  address = `http://127.0.0.1:${await listen(server, 0)}`;
  const now = (): number => NOW;
  const ios = createIosStoreSandbox({
    prefix: "/ios",
    signer: chain,
    bundleIdentifier: "com.example.trails",
    appAppleIdentifier: 1,
    now,
    notificationUrl: `${address}/told-by-apple`,
    saved: null,
  });
  const android = createAndroidPublisherSandbox({
    now,
    prefix: "/android",
    pushUrl: `${address}/told-by-google`,
    audience: "us",
    serviceAccount: "push@example.com",
  });
  const exports = createExports("/exports", { ios, android }, now);
});
afterAll(async () => close(server));

const post = async (path: string, body: unknown): Promise<Response> =>
  fetch(address + path, { method: "POST", body: JSON.stringify(body) });
const purchasesIn = async (store: string): Promise<number> => {
  const { purchases } = (await (await fetch(`${address}/${store}/purchases`)).json()) as {
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
  expect((await purchasesIn("ios")) + (await purchasesIn("android"))).toBeGreaterThan(50);
  expect(notified).toEqual([]);
});

test("the stores notify again afterwards", async () => {
  await post("/exports", { app: "com.example.trails", persons: 1, seed: 2 });
  await post("/ios/purchases", { transactions: [{ productIdentifier: "p", period: "P1M" }] });
  await post("/android/purchases", {
    packageName: "com.example.trails",
    productKind: "subscription",
    productIdentifier: "premium",
  });
  expect(new Set(notified)).toEqual(new Set(["/told-by-apple", "/told-by-google"]));
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
  expect(await (await fetch(`${address}/ios/root`)).json()).toEqual({
    fingerprint: fingerprintOf(chain.root),
  });
});
