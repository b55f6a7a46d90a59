import { APPLE_ID, BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { servedStoreForEachTest } from "./served-store.ts";
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

test("requests beyond a second's limit wait for the next second", async () => {
  const original = await under.buy();
  under.store.failServerApi({ status: 429, perSecond: 2 });
  const ask = async () =>
    fetch(`${under.address}/inApps/v1/transactions/appTransactions/${original}`, {
      headers: { authorization: `Bearer ${await under.token()}` },
    });
  const answers = [await ask(), await ask(), await ask()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(answers[2]?.headers.get("retry-after")).toBe(String(NOW + 1000));
  under.now = NOW + 1000;
  expect((await ask()).status).toBe(200);
});
