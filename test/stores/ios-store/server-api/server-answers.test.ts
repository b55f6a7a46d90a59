import {
  readAppTransaction,
  readHistory,
  readNotifications,
  readStatuses,
} from "../../../../lib/stores/ios-store/server-answers.ts";

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
    const last = { signedTransactions: ["t"], hasMore: false, ...named };
    expect(readHistory(last, "this")).toStrictEqual({ signedTransactions: ["t"], next: null });
  },
);

const ofPerson = (subscription: object) => ({ data: [{ lastTransactions: [subscription] }] });
const history = (more: object) => ({ signedTransactions: [], hasMore: true, ...more });
const notifications = (more: object) => ({ notificationHistory: [], hasMore: true, ...more });
const endless = { hasMore: undefined, revision: "r" };

test.each<[string, (answer: unknown, page: string) => unknown, unknown]>([
  ["no app transaction", readAppTransaction, {}],
  ["an app transaction that is no text", readAppTransaction, { signedAppTransactionInfo: { payload: {} } }],
  ["groups without transactions", readStatuses, { data: [{}] }],
  ["a subscription without its transaction", readStatuses, ofPerson({ signedRenewalInfo: "r" })],
  ["renewal info of no text", readStatuses, ofPerson({ signedTransactionInfo: "t", signedRenewalInfo: 1 })],
  ["a history without transactions", readHistory, { hasMore: false }],
  ["a history that does not say whether it ends", readHistory, history(endless)],
  ["a history without its next page", readHistory, history({})],
  ["a history with an empty next page", readHistory, history({ revision: "" })],
  ["a history page that names itself as next", readHistory, history({ revision: "this" })],
  ["notifications without a list", readNotifications, { hasMore: false }],
  ["a notification without its payload", readNotifications, { notificationHistory: [{}], hasMore: false }],
  ["notifications without their next page", readNotifications, notifications({})],
  ["a page that names itself as next", readNotifications, notifications({ paginationToken: "this" })],
])("%s is malformed", (_, read, answer) => {
  expect(read(answer, "this")).toBeNull();
});
