import { isoTime } from "../../../lib/entitlements/time.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  DAY,
  NOW,
} from "../../../testing/support/stores/android-store.ts";
import { read, readOrRefuse, TOKEN, type SubscriptionAnswer } from "./read-subscription.ts";

const UNACKNOWLEDGED = { acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING" };

test("a subscription is keyed by its token's SHA-256, with its product's line", () => {
  expect(read(aSubscriptionAnswer())).toStrictEqual({
    purchase: {
      store: "android-store",
      environment: "production",
      key: purchaseKeyOfToken(TOKEN),
      lines: [
        {
          transactionIdentifier: null,
          event: null,
          productIdentifier: "premium",
          basePlanIdentifier: "monthly",
          purchaseOptionIdentifier: null,
          nature: "auto_renewable",
          standing: "entitled",
          startsAt: NOW - DAY,
          purchasedAt: null,
          endsAt: NOW + 30 * DAY,
          revokedAt: null,
          revokedSince: null,
          quantity: 1,
          refundedQuantity: 0,
          rented: false,
          willRenew: true,
          verifiedAt: NOW,
        },
      ],
      selectedProducts: null,
      replacedBy: null,
      replacedAt: null,
      renewal: null,
      verifiedAt: NOW,
    },
    replaces: null,
    samePerson: [],
    predecessors: [],
    isPending: false,
    isClosed: false,
    goesOn: null,
    acknowledgement: null,
  });
});

test.each([
  ["ACTIVE", "entitled", true],
  ["IN_GRACE_PERIOD", "grace_period", true],
  ["CANCELED", "entitled", false],
  ["ON_HOLD", "billing_retry", true],
  ["PAUSED", "paused", true],
  ["EXPIRED", "expired", false],
] as const)(
  "%s has the standing %s until the line's expiryTime; it renews: %s",
  (state, standing, willRenew) => {
    const answer = aSubscriptionAnswer({ subscriptionState: `SUBSCRIPTION_STATE_${state}` });
    const { purchase } = read(answer);
    expect(purchase.lines).toMatchObject([{ standing, endsAt: NOW + 30 * DAY, willRenew }]);
  },
);

test.each(["PENDING", "PENDING_PURCHASE_CANCELED", "PENDING_PURCHASE_EXPIRED"])(
  "%s is verified and grants, replaces and acknowledges nothing",
  (state) => {
    const answer = aSubscriptionAnswer({
      ...UNACKNOWLEDGED,
      subscriptionState: `SUBSCRIPTION_STATE_${state}`,
      linkedPurchaseToken: "older-token",
      outOfAppPurchaseContext: { expiredPurchaseToken: "expired-token" },
      lineItems: [{ productId: "premium", autoRenewingPlan: {} }],
    });
    const nothing = { replaces: null, samePerson: [], predecessors: [], acknowledgement: null };
    expect(read(answer)).toMatchObject({ purchase: { lines: [] }, ...nothing });
  },
);

test("a deferred line has no successful order and is not owned yet", () => {
  const { latestSuccessfulOrderId: _, expiryTime: __, ...deferred } = aSubscriptionLine({ productId: "pro" });
  const { purchase } = read(aSubscriptionAnswer({ lineItems: [aSubscriptionLine(), deferred] }));
  expect(purchase.lines.map(({ productIdentifier }) => productIdentifier)).toStrictEqual(["premium"]);
});

test("an expired purchase without named orders has the lines with an end", () => {
  const { latestSuccessfulOrderId: _, ...refunded } = aSubscriptionLine({ expiryTime: isoTime(NOW - 1) });
  const { expiryTime: __, ...incoming } = refunded;
  const lineItems = [refunded, { ...incoming, productId: "pro" }];
  const expired = aSubscriptionAnswer({ subscriptionState: "SUBSCRIPTION_STATE_EXPIRED", lineItems });
  const { purchase } = read(expired);
  expect(purchase.lines).toMatchObject([
    { productIdentifier: "premium", standing: "expired", endsAt: NOW - 1 },
  ]);

  // It ends no other purchase.
  const linked = read({ ...expired, linkedPurchaseToken: "older" });
  expect(linked).toMatchObject({ replaces: null, predecessors: ["older"] });
});

test("an active purchase without named orders has the lines with an end", () => {
  const { latestSuccessfulOrderId: _, ...promoted } = aSubscriptionLine();
  const { expiryTime: __, ...incoming } = promoted;
  const lineItems = [promoted, { ...incoming, productId: "pro" }];
  const reading = read(aSubscriptionAnswer({ ...UNACKNOWLEDGED, lineItems }));
  expect(reading.purchase.lines.map(({ productIdentifier }) => productIdentifier)).toEqual(["premium"]);
  expect(reading).toMatchObject({ isPending: false, acknowledgement: { productIdentifier: "premium" } });
  const pending = { subscriptionState: "SUBSCRIPTION_STATE_PENDING", lineItems };
  expect(read(aSubscriptionAnswer(pending))).toMatchObject({ isPending: true });
});

test.each([
  ["the purchase's start, which no answer moves", {}, NOW - DAY],
  ["the beginning of time, where it has no start", { startTime: null }, 0],
])("an expired purchase without any line's end ended at %s", (_, changes, endsAt) => {
  const subscriptionState = "SUBSCRIPTION_STATE_EXPIRED";
  const lineItems = [{ productId: "premium" }];
  const { purchase } = read(aSubscriptionAnswer({ subscriptionState, lineItems, ...changes }));
  expect(purchase.lines).toMatchObject([{ productIdentifier: "premium", standing: "expired", endsAt }]);
});

test.each<[string, object]>([
  ["a prepaid plan", { autoRenewingPlan: null, prepaidPlan: { allowExtendAfterTime: isoTime(NOW) } }],
  ["a plan that is not called renewing", { autoRenewingPlan: {} }],
])("%s ends at its expiryTime and does not renew", (_, changes) => {
  const { purchase } = read(aSubscriptionAnswer({ lineItems: [aSubscriptionLine(changes)] }));
  expect(purchase.lines).toMatchObject([{ endsAt: NOW + 30 * DAY, willRenew: false }]);
});

const OLDER = purchaseKeyOfToken("older");
test.each<[string, SubscriptionAnswer, string | null, string[]]>([
  ["linkedPurchaseToken names the purchase that is replaced", { linkedPurchaseToken: "older" }, OLDER, []],
  [
    "without an owned line it names the same person's",
    { linkedPurchaseToken: "older", lineItems: [{ productId: "pro", autoRenewingPlan: {} }] },
    null,
    [OLDER],
  ],
  ["a purchase does not replace itself", { linkedPurchaseToken: TOKEN }, null, []],
  [
    "a resubscription outside the app names the person's expired purchase",
    { outOfAppPurchaseContext: { expiredPurchaseToken: "older" } },
    null,
    [OLDER],
  ],
])("%s", (_, changes, replaces, samePerson) => {
  expect(read(aSubscriptionAnswer(changes))).toMatchObject({ replaces, samePerson });
});

test.each([
  ["2026-02-14T12:00:00.123456789Z", Date.UTC(2026, 1, 14, 12, 0, 0, 123)],
  ["2026-02-14T13:30:00.5+01:30", Date.UTC(2026, 1, 14, 12, 0, 0, 500)],
])("times are read as RFC 3339: %s", (expiryTime, endsAt) => {
  const { purchase } = read(aSubscriptionAnswer({ lineItems: [aSubscriptionLine({ expiryTime })] }));
  expect(purchase.lines).toMatchObject([{ endsAt }]);
});

test("a test purchase has the sandbox environment", () => {
  expect(read(aSubscriptionAnswer({ testPurchase: {} })).purchase.environment).toBe("sandbox");
});

test("the obfuscated account id is the client's, and not read", () => {
  const externalAccountIdentifiers = { obfuscatedExternalAccountId: "\ud800" };
  expect(read(aSubscriptionAnswer({ externalAccountIdentifiers }))).toStrictEqual(
    read(aSubscriptionAnswer()),
  );
});

test.each<[string, SubscriptionAnswer]>([
  ["an unknown state", { subscriptionState: "SUBSCRIPTION_STATE_OF_NEXT_YEAR" }],
  ["no lines", { lineItems: [] }],
  ["an owned line without an end", { lineItems: [aSubscriptionLine({ expiryTime: null })] }],
  ["a line without a product", { lineItems: [aSubscriptionLine({ productId: null })] }],
  [
    "a line that ends after the year 9999",
    { lineItems: [aSubscriptionLine({ expiryTime: "9999-12-31T23:59:59-01:00" })] },
  ],
])("an answer with %s is malformed", (_, changes) => {
  expect(readOrRefuse(aSubscriptionAnswer(changes))).toBeNull();
});
