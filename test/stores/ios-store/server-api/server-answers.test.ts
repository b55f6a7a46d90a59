import {
  readAppTransaction,
  readHistory,
  readNotifications,
  readStatuses,
  readTransaction,
} from "../../../../lib/stores/ios-store/server-api/server-answers.ts";

test("statuses are the last facts of each subscription, and which are in grace", () => {
  const lastTransactions = [
    { status: 4, signedTransactionInfo: "t1", signedRenewalInfo: "r1" },
    { status: 3, signedTransactionInfo: "t2", signedRenewalInfo: "r2" },
    { status: "4", signedTransactionInfo: "t3", signedRenewalInfo: "r3" },
    { status: 4, signedTransactionInfo: "t4" },
  ];
  const data = [{ lastTransactions }, { lastTransactions: [{ signedTransactionInfo: "t5" }] }];
  expect(readStatuses({ data })).toStrictEqual({
    signedTransactions: ["t1", "t2", "t3", "t4", "t5"],
    signedRenewalInfos: ["r1", "r2", "r3"],
    signedInGrace: ["r1"],
  });
  expect(readStatuses({ data: [] })).toStrictEqual({ signedTransactions: [], signedRenewalInfos: [] });
});

test.each([{}, { revision: "" }, { revision: null }, { revision: "this" }])(
  "a history's last page may name any next one: %j",
  (named) => {
    expect(readHistory({ signedTransactions: ["t"], hasMore: false, ...named }, "this")).toStrictEqual({
      signedTransactions: ["t"],
      next: null,
    });
  },
);

const subscriptions = (...lastTransactions: object[]) => ({ data: [{ lastTransactions }] });
const page = { history: { signedTransactions: [] }, notifications: { notificationHistory: [] } };

test.each<[string, (answer: unknown, page: string) => unknown, unknown]>([
  ["no transaction", readTransaction, {}],
  ["a transaction that is no text", readTransaction, { signedTransactionInfo: { payload: {} } }],
  ["no app transaction", readAppTransaction, {}],
  ["groups without transactions", readStatuses, { data: [{}] }],
  ["a subscription without its transaction", readStatuses, subscriptions({ signedRenewalInfo: "r" })],
  [
    "renewal info that is no text",
    readStatuses,
    subscriptions({ signedTransactionInfo: "t", signedRenewalInfo: 1 }),
  ],
  ["a history without transactions", readHistory, { hasMore: false }],
  ["a history that does not say whether it ends", readHistory, { ...page.history, revision: "r" }],
  ["a history without its next page", readHistory, { ...page.history, hasMore: true }],
  ["a history with an empty next page", readHistory, { ...page.history, hasMore: true, revision: "" }],
  [
    "a history page that names itself as next",
    readHistory,
    { ...page.history, hasMore: true, revision: "this" },
  ],
  ["notifications without a list", readNotifications, { hasMore: false }],
  ["a notification without its payload", readNotifications, { notificationHistory: [{}], hasMore: false }],
  ["notifications without their next page", readNotifications, { ...page.notifications, hasMore: true }],
  [
    "a notification page that names itself as next",
    readNotifications,
    { ...page.notifications, hasMore: true, paginationToken: "this" },
  ],
])("%s is malformed", (_, read, answer) => {
  expect(read(answer, "this")).toBeNull();
});
