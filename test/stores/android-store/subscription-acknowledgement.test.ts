import { isoTime } from "../../../lib/entitlements/time.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  DAY,
  NOW,
  PACKAGE_NAME,
} from "../../../testing/support/stores/android-store.ts";
import { read, TOKEN, type SubscriptionAnswer } from "./read-subscription.ts";

const UNACKNOWLEDGED = { acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING" };

test.each([null, "ACKNOWLEDGEMENT_STATE_UNSPECIFIED"])(
  "an answer that does not say acknowledged has an acknowledgement due: %s",
  (acknowledgementState) => {
    expect(read(aSubscriptionAnswer({ acknowledgementState })).acknowledgement).not.toBeNull();
  },
);

/** A prepaid line with `days` days left. */
const prepaid = (days: number, productId = "premium") => {
  const { autoRenewingPlan: _, ...line } = aSubscriptionLine({
    productId,
    expiryTime: isoTime(NOW + days * DAY),
  });
  return { ...line, prepaidPlan: {} };
};

test.each(["ACTIVE", "IN_GRACE_PERIOD", "CANCELED", "PAUSED", "ON_HOLD"])(
  "%s is paid: an unacknowledged purchase needs acknowledgement",
  (state) => {
    const { latestSuccessfulOrderId: _, ...deferred } = aSubscriptionLine({ productId: "pro" });
    const { acknowledgement } = read(
      aSubscriptionAnswer({
        ...UNACKNOWLEDGED,
        subscriptionState: `SUBSCRIPTION_STATE_${state}`,
        lineItems: [deferred, aSubscriptionLine()],
      }),
    );
    expect(acknowledgement).toStrictEqual({
      purchase: { store: "android-store", environment: "production", key: purchaseKeyOfToken(TOKEN) },
      packageName: PACKAGE_NAME,
      purchaseToken: TOKEN,
      productKind: "subscription",
      productIdentifier: "premium",
      deadline: NOW + 2 * DAY,
    });
  },
);

test.each<[string, SubscriptionAnswer, number]>([
  [
    "a third of that from the answer, where it is past its end and renews",
    {
      lineItems: [aSubscriptionLine({ expiryTime: isoTime(NOW - 1) }), prepaid(-1, "maps")],
      startTime: isoTime(NOW - 30 * DAY),
    },
    NOW + DAY,
  ],
  ["half of the longest of its prepaid lines", { lineItems: [prepaid(1), prepaid(3, "maps")] }, NOW + DAY],
])("it is to be acknowledged within %s", (_, changes, deadline) => {
  const { acknowledgement } = read(aSubscriptionAnswer({ ...UNACKNOWLEDGED, ...changes }));
  expect(acknowledgement?.deadline).toBe(deadline);
});

test.each<[string, SubscriptionAnswer]>([
  ["an expired subscription", { ...UNACKNOWLEDGED, subscriptionState: "SUBSCRIPTION_STATE_EXPIRED" }],
  [
    "a subscription without an owned line",
    { ...UNACKNOWLEDGED, lineItems: [{ productId: "pro", autoRenewingPlan: {} }] },
  ],
  ...["ACTIVE", "CANCELED"].map((state): [string, SubscriptionAnswer] => [
    `a prepaid plan that has ended and is ${state}`,
    {
      ...UNACKNOWLEDGED,
      subscriptionState: `SUBSCRIPTION_STATE_${state}`,
      startTime: isoTime(NOW - 2 * DAY),
      lineItems: [prepaid(0), prepaid(-1, "maps")],
    },
  ]),
  ["an acknowledged subscription", {}],
])("%s is not to be acknowledged", (_, changes) => {
  expect(read(aSubscriptionAnswer(changes)).acknowledgement).toBeNull();
});
