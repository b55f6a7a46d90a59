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
const NOTHING = { transaction: null, renewalInfo: null, appTransaction: null, isPartlyUnderstood: false };
const BOUGHT = { ...NOTHING, transaction: aVerifiedTransaction() };

// What it asks is shown by `test/customers/notifications/ios-store-questions.test.ts`.

const UNNAMED = ["CONSUMPTION_REQUEST", BUNDLE, String(NOW)];
test.each([
  ["its identifier", IDENTIFIER, BOUGHT, [IDENTIFIER]],
  ["kind, app, time and the transaction", null, BOUGHT, [...UNNAMED, "700000000000002"]],
  [
    "kind, app, time and the Apple Account",
    null,
    { ...NOTHING, appTransaction: aVerifiedAppTransaction() },
    [...UNNAMED, ACCOUNT],
  ],
  ["kind, app and time", null, NOTHING, [...UNNAMED, ""]],
])("a question's repetitions are recognized by %s", (_, identifier, parts, names) => {
  const notification = aVerifiedNotification({ identifier, kind: "CONSUMPTION_REQUEST", signedAt: NOW });
  expect(questionIn(notification, parts)?.names).toStrictEqual(["ios-store", "production", ...names]);
});

test("another notification asks nothing", () => {
  expect(questionIn(aVerifiedNotification({ kind: "REFUND" }), BOUGHT)).toBeNull();
});
