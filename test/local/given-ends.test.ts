import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DEMO } from "../../local/demo.ts";
import { createAndroidPublisherSandbox } from "../../sandbox/android-store/publisher.ts";
import { fingerprintOf, makeChain, signJws, type SigningChain } from "../../sandbox/ios-store/signing.ts";
import { appTransactionPayload, newIdentifier } from "../../sandbox/ios-store/shop/payloads.ts";
import { startWholeService } from "../../testing/support/local-gateway.ts";
import { serve } from "../../testing/server.ts";
import { operatorOf } from "../support/local-operator.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { calling, keyOfAnApplication, SUBSCRIPTION } from "./calling.ts";

/** A publisher API, a root and a folder of secrets that a local run is given. */
const android = createAndroidPublisherSandbox({ now: Date.now, prefix: "/given" });
const publisher = await serve(android.handle);
const chain = makeChain();
const folder = temporaryFolder();
const SECRET = "customer-entitlements/boats";

mkdirSync(join(folder, "customer-entitlements"));
writeFileSync(join(folder, SECRET), "not a service account");
const requests: string[] = [];
const service = await startWholeService({
  androidPublisherUrl: `${publisher.address}/given`,
  trustedRoots: fingerprintOf(chain.root),
  secretsFolder: folder,
  onRequest: (line) => void requests.push(line),
  runsByItself: false,
});
afterAll(async () => {
  await service.stop();
  await publisher.stop();
});

const { post, buyOnIos, linkOnAndroid } = calling(service);

test("a given publisher API replaces the sandbox's", async () => {
  expect(service.androidPurchaseToken).toBeNull();
  const path = "/sandbox/android-publisher/purchases";
  expect((await fetch(service.address + path, { method: "POST", body: "{}" })).status).toBe(404);
  const linked = await linkOnAndroid("skipper", android.buy(SUBSCRIPTION));
  expect(linked.body).toMatchObject({ entitlements: [{ identifier: "premium" }] });
});

test("given roots are trusted in addition to the sandbox's own", async () => {
  const signedBy = (signer: SigningChain): object => ({
    signedAppTransaction: signJws(
      appTransactionPayload({
        bundleIdentifier: DEMO.bundleIdentifier,
        appAppleIdentifier: DEMO.appAppleIdentifier,
        environment: "Sandbox",
        appTransactionIdentifier: newIdentifier("Sandbox"),
        receiptCreationDate: Date.now() - 1000,
      }),
      signer,
    ),
  });
  const own: object = await buyOnIos({ transactions: [] });
  const statusOf = async (request: object): Promise<number> =>
    (await post("/v1/customers/ios-store/synchronize", request)).status;
  expect(await statusOf(own)).toBe(200);
  expect(await statusOf(signedBy(chain))).toBe(200);
  expect(await statusOf(signedBy(makeChain()))).toBe(400);
});

test("the files of --secrets are read for the functions", async () => {
  const packageName = "com.example.boats";
  const apiKey = await keyOfAnApplication(operatorOf(service), packageName, SECRET);
  await linkOnAndroid("skipper", "any", { packageName, apiKey });
  // The function read the file, which holds something else than Google's key.
  while (!requests.some((line) => line.includes("STORE_REJECTED_CREDENTIAL"))) await sleep(20);
  expect(requests.join("\n")).not.toContain("there is no secret");
}, 60_000);
