import { APIError, GetTransactionHistoryVersion, Order } from "@apple/app-store-server-library";
import { BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { refusal, servedStoreForEachTest } from "./served-store.ts";
import { decodedTransactions } from "./store-under-test.ts";

const under = servedStoreForEachTest();
const { buy } = under;

const history = async (identifier: string, revision: string | null = null) => {
  const { signedTransactions = [], ...answered } = await under.client.getTransactionHistory(
    identifier,
    revision,
    { sort: Order.DESCENDING },
    GetTransactionHistoryVersion.V2,
  );
  return { ...answered, transactions: await decodedTransactions(signedTransactions) };
};

test("the history has all that the person bought, the last change first", async () => {
  const subscription = await buy();
  const coins = await buy({ type: "Consumable" });
  const map = await buy({ type: "Non-Consumable" });
  await buy({}, { appTransactionIdentifier: "705" });
  await under.store.change(coins, { change: "refund" });
  under.now = NOW + DAY;
  const answered = await history(subscription);
  expect(answered).toMatchObject({
    environment: "Sandbox",
    bundleId: BUNDLE,
    hasMore: false,
    transactions: [coins, map, subscription].map((id) => ({ transactionId: id, signedDate: under.now })),
  });
  expect(answered).not.toHaveProperty("appAppleId");
  for (const transaction of answered.transactions)
    expect(transaction).not.toHaveProperty("deviceVerification");
});

test("the history comes in pages of twenty", async () => {
  const original = await buy({ purchaseDate: "2024-10-15T12:00:00Z" });
  const first = await history(original);
  const second = await history(original, first.revision);
  const third = await history(original, second.revision);
  const pages = [first, second, third];
  expect(pages.map(({ transactions, hasMore }) => [transactions.length, hasMore])).toEqual([
    [20, true],
    [1, false],
    [0, false],
  ]);
  const dates = pages.flatMap(({ transactions }) => transactions.map(({ purchaseDate = 0 }) => purchaseDate));
  expect(dates).toEqual(dates.toSorted((one, other) => other - one));
});

test.each([
  ["sort=ASCENDING", APIError.GENERAL_BAD_REQUEST],
  ["sort=DESCENDING&revoked=true", APIError.GENERAL_BAD_REQUEST],
  ["sort=DESCENDING&revision=abc", APIError.INVALID_REQUEST_REVISION],
])("%s is refused", async (query, errorCode) => {
  const original = await buy();
  expect(await under.request("GET", `/inApps/v2/history/${original}?${query}`)).toEqual(refusal(errorCode));
});
