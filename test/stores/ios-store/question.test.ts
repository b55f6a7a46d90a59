import { questionIn } from "../../../lib/stores/ios-store/notification.ts";
import {
  ACCOUNT,
  aVerifiedAppTransaction,
  aVerifiedNotification,
  aVerifiedTransaction,
  BUNDLE,
} from "../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const IDENTIFIER = "0198c0de-0000-7000-8000-000000000001";

const NOTHING = { transaction: null, renewalInfo: null, appTransaction: null, notUnderstood: [] };

const asking = (kind: string, fields: Parameters<typeof aVerifiedNotification>[0] = {}) =>
  aVerifiedNotification({ identifier: IDENTIFIER, kind, signedAt: NOW, ...fields });

test("a consumption request names purchase, reason and twelve hours to answer", () => {
  const transaction = aVerifiedTransaction();
  const notification = asking("CONSUMPTION_REQUEST", { consumptionRequestReason: "LEGAL" });
  expect(questionIn(notification, { ...NOTHING, transaction })).toStrictEqual({
    names: ["ios-store", "production", IDENTIFIER],
    askedAt: NOW,
    answerBy: NOW + 12 * 3_600_000,
    content: {
      store: "ios-store",
      kind: "CONSUMPTION_REQUEST",
      productIdentifier: transaction.productIdentifier,
      transactionIdentifier: transaction.transactionIdentifier,
      environment: "production",
      bundleIdentifier: BUNDLE,
      reason: "LEGAL",
    },
  });
});

test("a withdrawn consent names no purchase and no deadline", () => {
  expect(questionIn(asking("RESCIND_CONSENT"), NOTHING)).toStrictEqual({
    names: ["ios-store", "production", IDENTIFIER],
    askedAt: NOW,
    answerBy: null,
    content: {
      store: "ios-store",
      kind: "RESCIND_CONSENT",
      productIdentifier: null,
      transactionIdentifier: null,
      environment: "production",
      bundleIdentifier: BUNDLE,
    },
  });
});

test.each([
  ["the transaction", { ...NOTHING, transaction: aVerifiedTransaction() }, "700000000000002"],
  ["the Apple Account", { ...NOTHING, appTransaction: aVerifiedAppTransaction() }, ACCOUNT],
  ["nothing else", NOTHING, ""],
])("without an identifier, repetitions are recognized by kind, app, time and %s", (_, parts, last) => {
  const names = questionIn(asking("CONSUMPTION_REQUEST", { identifier: null }), parts)?.names;
  expect(names).toStrictEqual(["ios-store", "production", "CONSUMPTION_REQUEST", BUNDLE, String(NOW), last]);
});

test("another notification asks nothing", () => {
  expect(questionIn(asking("REFUND"), { ...NOTHING, transaction: aVerifiedTransaction() })).toBeNull();
});
