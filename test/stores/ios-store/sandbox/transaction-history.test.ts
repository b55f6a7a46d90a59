import {
  APIError,
  GetTransactionHistoryVersion,
  InAppOwnershipType,
  Order,
  ProductType,
  type TransactionHistoryRequest,
} from "@apple/app-store-server-library";
import { BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { refusal, servedStoreForEachTest } from "./served-store.ts";
import { decodedTransactions } from "./store-under-test.ts";

const HOUR = 3_600_000;

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

test.each<[string, TransactionHistoryRequest, (keyof Awaited<ReturnType<typeof variety>>)[]]>([
  ["productId", { productIds: ["maps", "coins"] }, ["maps", "coins"]],
  ["productType", { productTypes: [ProductType.AUTO_RENEWABLE] }, ["subscription", "shared"]],
  [
    "productTypes",
    { productTypes: [ProductType.CONSUMABLE, ProductType.NON_CONSUMABLE, ProductType.NON_RENEWABLE] },
    ["maps", "coins", "pass"],
  ],
  [
    "inAppOwnershipType",
    { inAppOwnershipType: InAppOwnershipType.PURCHASED },
    ["subscription", "maps", "coins", "pass"],
  ],
  ["inAppOwnershipType", { inAppOwnershipType: InAppOwnershipType.FAMILY_SHARED }, ["shared"]],
  ["revoked", { revoked: true }, ["coins"]],
  ["not revoked", { revoked: false }, ["subscription", "maps", "pass", "shared"]],
  ["startDate", { startDate: NOW + 2 * HOUR }, ["coins", "pass", "shared"]],
  ["endDate", { endDate: NOW + 2 * HOUR }, ["subscription", "maps"]],
])("can be limited by %s", async (_, request, expected) => {
  const bought = await variety();
  const found = idsOf(await history(bought.maps, request));
  expect(found.toSorted()).toEqual(expected.map((name) => bought[name]).toSorted());
});

const variety = async () => {
  const subscription = await buy();
  under.now += HOUR;
  const maps = await buy({ productIdentifier: "maps", type: "Non-Consumable" });
  under.now += HOUR;
  const coins = await buy({ productIdentifier: "coins", type: "Consumable" });
  const pass = await buy({ productIdentifier: "pass", type: "Non-Renewing Subscription" });
  const purchaser = await buy({}, { appTransactionIdentifier: "705" });
  const sharing = { change: "share-with-family", appTransactionIdentifier: "704" } as const;
  const { originalTransactionIdentifiers } = await under.store.change(purchaser, sharing);
  await under.store.change(coins, { change: "refund" });
  const known = new Set([subscription, maps, coins, pass]);
  const shared = originalTransactionIdentifiers.find((identifier) => !known.has(identifier)) ?? "";
  return { subscription, maps, coins, pass, shared };
};

test.each([
  ["sort=UP", APIError.INVALID_SORT],
  ["startDate=today", APIError.INVALID_START_DATE],
  ["startDate=2&endDate=2", APIError.START_DATE_AFTER_END_DATE],
  ["revision=abc", APIError.INVALID_REQUEST_REVISION],
])("%s is refused", async (query, errorCode) => {
  const original = await buy();
  expect(await under.request("GET", `/inApps/v2/history/${original}?${query}`)).toEqual(refusal(errorCode));
});
