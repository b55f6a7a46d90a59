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
const BOUGHT = { ...NOTHING, transaction: aVerifiedTransaction() };
const LEGAL = { consumptionRequestReason: "LEGAL" };

const asking = (kind: string, fields: Parameters<typeof aVerifiedNotification>[0] = {}) =>
  aVerifiedNotification({ identifier: IDENTIFIER, kind, signedAt: NOW, ...fields });

test.each([
  [
    "a consumption request names purchase, reason and twelve hours to answer",
    asking("CONSUMPTION_REQUEST", LEGAL),
    BOUGHT,
    NOW + 12 * 3_600_000,
    {
      productIdentifier: BOUGHT.transaction.productIdentifier,
      transactionIdentifier: BOUGHT.transaction.transactionIdentifier,
      reason: "LEGAL",
    },
  ],
  [
    "a withdrawn consent names no purchase and no deadline",
    asking("RESCIND_CONSENT"),
    NOTHING,
    null,
    { productIdentifier: null, transactionIdentifier: null },
  ],
])("%s", (_, notification, parts, answerBy, named) => {
  const { kind } = notification;
  const content = { store: "ios-store", kind, environment: "production", bundleIdentifier: BUNDLE, ...named };
  const names = ["ios-store", "production", IDENTIFIER];
  expect(questionIn(notification, parts)).toStrictEqual({ names, askedAt: NOW, answerBy, content });
});

test.each([
  ["the transaction", BOUGHT, "700000000000002"],
  ["the Apple Account", { ...NOTHING, appTransaction: aVerifiedAppTransaction() }, ACCOUNT],
  ["nothing else", NOTHING, ""],
])("without an identifier, repetitions are recognized by kind, app, time and %s", (_, parts, last) => {
  const names = questionIn(asking("CONSUMPTION_REQUEST", { identifier: null }), parts)?.names;
  expect(names).toStrictEqual(["ios-store", "production", "CONSUMPTION_REQUEST", BUNDLE, String(NOW), last]);
});

test("another notification asks nothing", () => {
  expect(questionIn(asking("REFUND"), BOUGHT)).toBeNull();
});
