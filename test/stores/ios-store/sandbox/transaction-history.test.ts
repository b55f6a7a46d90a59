import {
  APIError,
  GetTransactionHistoryVersion,
  Order,
  type TransactionHistoryRequest,
} from "@apple/app-store-server-library";
import { BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { refusal, servedStoreForEachTest } from "./served-store.ts";
import { decodedTransactions } from "./store-under-test.ts";

const under = servedStoreForEachTest();
const { buy } = under;

const history = async (
  identifier: string,
  request: TransactionHistoryRequest = {},
  revision: string | null = null,
) => {
  const { signedTransactions = [], ...answered } = await under.client.getTransactionHistory(
    identifier,
    revision,
    request,
    GetTransactionHistoryVersion.V2,
  );
  return { ...answered, transactions: await decodedTransactions(signedTransactions) };
};
const idsOf = ({ transactions }: Awaited<ReturnType<typeof history>>) =>
  transactions.map(({ transactionId }) => transactionId);

test("the history has all that the person bought, signed now", async () => {
  const bought = [await buy(), await buy({ type: "Consumable" }), await buy({ type: "Non-Consumable" })];
  await buy({}, { appTransactionIdentifier: "705" });
  under.now = NOW + DAY;
  const answered = await history(bought[0] ?? "");
  expect(idsOf(answered)).toEqual(bought);
  expect(answered).toMatchObject({
    environment: "Sandbox",
    bundleId: BUNDLE,
    hasMore: false,
    revision: expect.any(String),
  });
  expect(answered).not.toHaveProperty("appAppleId");
  for (const transaction of answered.transactions) {
    expect(transaction.signedDate).toBe(NOW + DAY);
    expect(transaction).not.toHaveProperty("deviceVerification");
  }
});

test("the history comes in pages of twenty, by the last changes", async () => {
  const original = await buy({ purchaseDate: "2024-10-15T12:00:00Z", live: true });
  const first = await history(original);
  expect([first.transactions.length, first.hasMore]).toEqual([20, true]);
  const second = await history(original, {}, first.revision);
  expect([second.transactions.length, second.hasMore]).toEqual([1, false]);
  const all = [...first.transactions, ...second.transactions].map(({ purchaseDate = 0 }) => purchaseDate);
  expect(all).toEqual(all.toSorted((one, other) => one - other));
  const descending = { sort: Order.DESCENDING };
  const latest = await history(original, descending);
  const oldest = await history(original, descending, latest.revision);
  expect([...idsOf(latest), ...idsOf(oldest)]).toEqual([...idsOf(first), ...idsOf(second)].toReversed());
  expect([latest.hasMore, oldest.hasMore]).toEqual([true, false]);
  expect(idsOf(await history(original, descending, oldest.revision))).toEqual([]);
});

test("a revision continues with what is new or has changed since", async () => {
  const refunded = await buy({ type: "Non-Consumable" });
  const kept = await buy({ type: "Non-Consumable" });
  const read = await history(kept);
  const nothing = await history(kept, {}, read.revision);
  expect([idsOf(nothing), nothing.hasMore]).toEqual([[], false]);
  const bought = await buy();
  await under.store.change(refunded, { change: "refund" });
  const changed = await history(kept, {}, nothing.revision);
  expect(idsOf(changed)).toEqual([bought, refunded]);
  expect(idsOf(await history(kept))).toEqual([kept, bought, refunded]);
});

test.each([
  ["sort=UP", APIError.INVALID_SORT],
  ["revoked=true", APIError.GENERAL_BAD_REQUEST],
  ["revision=abc", APIError.INVALID_REQUEST_REVISION],
])("%s is refused", async (query, errorCode) => {
  const original = await buy();
  expect(await under.request("GET", `/inApps/v2/history/${original}?${query}`)).toEqual(refusal(errorCode));
});
