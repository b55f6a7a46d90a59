import { APPLE_ID, BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { failure, refusal, servedStoreForEachTest } from "./served-store.ts";
import { verifiers, type StoreEnvironment } from "./store-under-test.ts";

const under = servedStoreForEachTest();

const appTransactionOf = async (identifier: string, environment: StoreEnvironment = "sandbox") => {
  const { signedAppTransactionInfo = "" } = await under.client.getAppTransactionInfo(identifier);
  return verifiers[environment].verifyAndDecodeAppTransaction(signedAppTransactionInfo);
};

test("any identifier of a person names the app transaction, signed now", async () => {
  const original = await under.buy();
  await under.store.change(original, { change: "renew" });
  under.now = NOW + DAY;
  for (const identifier of [original, "704"]) {
    const { appTransactionId, receiptCreationDate, bundleId } = await appTransactionOf(identifier);
    expect({ appTransactionId, receiptCreationDate, bundleId }).toEqual({
      appTransactionId: "704",
      receiptCreationDate: NOW + DAY,
      bundleId: BUNDLE,
    });
  }
});

test("a production app transaction names the app's Apple ID", async () => {
  const original = await under.buy({}, { environment: "production" });
  expect(await appTransactionOf(original, "production")).toMatchObject({ appAppleId: APPLE_ID });
});

test.each([
  ["malformed", "GPA.1", 4_000_006],
  ["unknown", "200000000000001", 4_040_010],
])("an identifier that is %s has Apple's error", async (_, identifier, code) => {
  await expect(under.client.getAppTransactionInfo(identifier)).rejects.toMatchObject(failure(code));
});

test("a purchase of another app is unknown", async () => {
  const original = await under.buy();
  await expect(under.clientOf("com.example.other").getAppTransactionInfo(original)).rejects.toMatchObject(
    failure(4_040_010),
  );
});

test("an app older than app transaction ids has no app transaction", async () => {
  const original = await under.buy({}, { appTransactionIdentifier: null });
  await expect(under.client.getAppTransactionInfo(original)).rejects.toMatchObject(failure(4_040_019));
});

test("requests are counted, and fail as the others do", async () => {
  const original = await under.buy();
  under.store.failServerApi({ status: 429, retryAfter: NOW + 1000, times: 1 });
  const path = `/inApps/v1/transactions/appTransactions/${original}`;
  expect(await under.request("GET", path)).toEqual(refusal(4_290_000));
  expect((await under.request("GET", path)).status).toBe(200);
  expect(under.store.requests().appTransaction).toBe(2);
});
