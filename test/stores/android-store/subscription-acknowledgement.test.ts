import { isoTime } from "../../../lib/entitlements/time.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import { DAY, NOW, PACKAGE_NAME } from "../../../testing/support/stores/android-store.ts";
import { line, read, TOKEN, UNACKNOWLEDGED, unpaid, type SubscriptionAnswer } from "./read-subscription.ts";

test.each([null, "ACKNOWLEDGEMENT_STATE_UNSPECIFIED"])(
  "an answer that does not say acknowledged has an acknowledgement due: %s",
  (acknowledgementState) => {
    expect(read({ acknowledgementState }).acknowledgement).not.toBeNull();
  },
);

/** A prepaid line with `days` days left. */
const prepaid = (days: number, productId = "premium") =>
  line(productId, days, { autoRenewingPlan: undefined, prepaidPlan: {} });

test.each(["ACTIVE", "IN_GRACE_PERIOD", "CANCELED", "PAUSED", "ON_HOLD"])(
  "%s is paid: an unacknowledged purchase needs acknowledgement",
  (state) => {
    const subscriptionState = `SUBSCRIPTION_STATE_${state}`;
    const lineItems = [unpaid("pro"), line("premium", 30)];
    expect(read({ ...UNACKNOWLEDGED, subscriptionState, lineItems }).acknowledgement).toStrictEqual({
      purchase: { store: "android-store", environment: "production", key: purchaseKeyOfToken(TOKEN) },
      packageName: PACKAGE_NAME,
      purchaseToken: TOKEN,
      productKind: "subscription",
      productIdentifier: "premium",
      deadline: NOW + 2 * DAY,
    });
  },
);

const renewing = {
  lineItems: [line("premium", 0, { expiryTime: isoTime(NOW - 1) }), prepaid(-1, "maps")],
  startTime: isoTime(NOW - 30 * DAY),
};
test.each<[string, SubscriptionAnswer, number]>([
  ["a third of that from the answer, where it is past its end and renews", renewing, NOW + DAY],
  ["half of the longest of its prepaid lines", { lineItems: [prepaid(1), prepaid(3, "maps")] }, NOW + DAY],
])("it is to be acknowledged within %s", (_, changes, deadline) => {
  expect(read({ ...UNACKNOWLEDGED, ...changes }).acknowledgement?.deadline).toBe(deadline);
});

const ended = { startTime: isoTime(NOW - 2 * DAY), lineItems: [prepaid(0), prepaid(-1, "maps")] };
test.each<[string, SubscriptionAnswer]>([
  ["an expired subscription", { subscriptionState: "SUBSCRIPTION_STATE_EXPIRED" }],
  ["a subscription without an owned line", { lineItems: [{ productId: "pro", autoRenewingPlan: {} }] }],
  ["a prepaid plan that has ended", ended],
  ["a cancelled one that has ended", { ...ended, subscriptionState: "SUBSCRIPTION_STATE_CANCELED" }],
  ["an acknowledged subscription", { acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED" }],
])("%s is not to be acknowledged", (_, changes) => {
  expect(read({ ...UNACKNOWLEDGED, ...changes }).acknowledgement).toBeNull();
});
