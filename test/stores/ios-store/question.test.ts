import { questionIn } from "../../../lib/stores/ios-store/notification.ts";
import {
  aVerifiedNotification,
  aVerifiedTransaction,
  BUNDLE,
} from "../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const IDENTIFIER = "0198c0de-0000-7000-8000-000000000001";

const asking = (kind: string, fields: Parameters<typeof aVerifiedNotification>[0] = {}) =>
  aVerifiedNotification({ identifier: IDENTIFIER, kind, signedAt: NOW, ...fields });

test("a consumption request names purchase, reason and twelve hours to answer", () => {
  const transaction = aVerifiedTransaction();
  const notification = asking("CONSUMPTION_REQUEST", { consumptionRequestReason: "LEGAL" });
  expect(questionIn(notification, transaction)).toStrictEqual({
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
  expect(questionIn(asking("RESCIND_CONSENT"), null)).toStrictEqual({
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

test("without an identifier, repetitions are recognized by kind, app and time", () => {
  const question = questionIn(asking("CONSUMPTION_REQUEST", { identifier: null }), aVerifiedTransaction());
  expect(question?.names).toStrictEqual([
    "ios-store",
    "production",
    "CONSUMPTION_REQUEST",
    BUNDLE,
    String(NOW),
  ]);
});

test("another notification asks nothing", () => {
  expect(questionIn(asking("REFUND"), aVerifiedTransaction())).toBeNull();
});
