import { isoTime } from "../../../lib/entitlements/time.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import { DAY, NOW } from "../../../testing/support/stores/android-store.ts";
import { aLine, aPurchase } from "../../../testing/support/stores/purchases.ts";
import {
  line,
  linesOf,
  read,
  readOrRefuse,
  TOKEN,
  UNACKNOWLEDGED,
  unpaid,
  type SubscriptionAnswer,
} from "./read-subscription.ts";

test("a subscription is keyed by its token's SHA-256, with its product's line", () => {
  const premium = aLine({
    transactionIdentifier: null,
    productIdentifier: "premium",
    basePlanIdentifier: "monthly",
    startsAt: NOW - DAY,
    purchasedAt: null,
    endsAt: NOW + 30 * DAY,
    willRenew: true,
    verifiedAt: NOW,
  });
  expect(read()).toStrictEqual({
    purchase: aPurchase({ store: "android-store", key: purchaseKeyOfToken(TOKEN), lines: [premium] }),
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
  ["ACTIVE", "entitled, renews"],
  ["IN_GRACE_PERIOD", "grace_period, renews"],
  ["CANCELED", "entitled"],
  ["ON_HOLD", "billing_retry, renews"],
  ["PAUSED", "paused, renews"],
  ["EXPIRED", "expired"],
])("%s has its standing until the line's expiryTime: %s", (state, standing) => {
  expect(linesOf({ subscriptionState: `SUBSCRIPTION_STATE_${state}` })).toEqual([`premium 30 ${standing}`]);
});

test.each(["PENDING", "PENDING_PURCHASE_CANCELED", "PENDING_PURCHASE_EXPIRED"])(
  "%s is verified and grants, replaces and acknowledges nothing",
  (state) => {
    const pending = read({
      ...UNACKNOWLEDGED,
      subscriptionState: `SUBSCRIPTION_STATE_${state}`,
      linkedPurchaseToken: "older-token",
      outOfAppPurchaseContext: { expiredPurchaseToken: "expired-token" },
      lineItems: [{ productId: "premium", autoRenewingPlan: {} }],
    });
    const nothing = { replaces: null, samePerson: [], predecessors: [], acknowledgement: null };
    expect(pending).toMatchObject({ purchase: { lines: [] }, ...nothing });
  },
);

const EXPIRED = { subscriptionState: "SUBSCRIPTION_STATE_EXPIRED" };
const unnamed = { lineItems: [unpaid("premium", 30), unpaid("pro")] };
const bare = { ...EXPIRED, lineItems: [{ productId: "premium" }] };
const prepaid = { autoRenewingPlan: null, prepaidPlan: { allowExtendAfterTime: isoTime(NOW) } };
const ending = (expiryTime: string) => ({ lineItems: [line("premium", 0, { expiryTime })] });
const days = (moment: number) => (moment - NOW) / DAY;

test.each<[rule: string, answer: SubscriptionAnswer, expected: string]>([
  [
    "a deferred one is not owned yet",
    { lineItems: [line("premium", 1), unpaid("pro")] },
    "1 entitled, renews",
  ],
  ["expired, without named orders, those with an end", { ...EXPIRED, ...unnamed }, "30 expired"],
  ["active, without named orders, those with an end", unnamed, "30 entitled, renews"],
  ["expired, without an end: the purchase's start, which no answer moves", bare, "-1 expired"],
  ["without a start: the beginning of time", { ...bare, startTime: null }, `${days(0)} expired`],
  ["a prepaid plan does not renew", { lineItems: [line("premium", 30, prepaid)] }, "30 entitled"],
  [
    "a plan that is not called renewing does not",
    { lineItems: [line("premium", 30, { autoRenewingPlan: {} })] },
    "30 entitled",
  ],
  [
    "times are RFC 3339, of nanoseconds",
    ending("2026-02-14T12:00:00.123456789Z"),
    `${days(Date.UTC(2026, 1, 14, 12, 0, 0, 123))} entitled, renews`,
  ],
  [
    "times are RFC 3339, with an offset",
    ending("2026-02-14T13:30:00.5+01:30"),
    `${days(Date.UTC(2026, 1, 14, 12, 0, 0, 500))} entitled, renews`,
  ],
])("lines: %s", (_, answer, expected) => {
  expect(linesOf(answer)).toEqual([`premium ${expected}`]);
});

test("an active purchase without named orders is paid, unless it is pending", () => {
  const paid = { isPending: false, acknowledgement: { productIdentifier: "premium" } };
  expect(read({ ...UNACKNOWLEDGED, ...unnamed })).toMatchObject(paid);
  const subscriptionState = "SUBSCRIPTION_STATE_PENDING";
  expect(read({ subscriptionState, ...unnamed })).toMatchObject({ isPending: true });
});

const OLDER = purchaseKeyOfToken("older");
const linked = { linkedPurchaseToken: "older" };
test.each<[string, SubscriptionAnswer, string | null, string[]]>([
  ["linkedPurchaseToken names the purchase that is replaced", linked, OLDER, []],
  [
    "without an owned line it names the same person's",
    { ...linked, lineItems: [{ productId: "pro", autoRenewingPlan: {} }] },
    null,
    [OLDER],
  ],
  ["a purchase does not replace itself", { linkedPurchaseToken: TOKEN }, null, []],
  ["an expired one without named orders replaces none", { ...EXPIRED, ...linked, ...unnamed }, null, [OLDER]],
  [
    "a resubscription outside the app names the person's expired purchase",
    { outOfAppPurchaseContext: { expiredPurchaseToken: "older" } },
    null,
    [OLDER],
  ],
])("%s", (_, changes, replaces, samePerson) => {
  expect(read(changes)).toMatchObject({ replaces, samePerson });
});

test("a test purchase has the sandbox environment", () => {
  expect(read({ testPurchase: {} }).purchase.environment).toBe("sandbox");
});

test("the obfuscated account id is the client's, and not read", () => {
  const externalAccountIdentifiers = { obfuscatedExternalAccountId: "\ud800" };
  expect(read({ externalAccountIdentifiers })).toStrictEqual(read());
});

test.each<[string, SubscriptionAnswer]>([
  ["an unknown state", { subscriptionState: "SUBSCRIPTION_STATE_OF_NEXT_YEAR" }],
  ["no lines", { lineItems: [] }],
  ["an owned line without an end", { lineItems: [line("premium", 1, { expiryTime: null })] }],
  ["a line without a product", { lineItems: [line("premium", 1, { productId: null })] }],
  ["a line that ends after the year 9999", ending("9999-12-31T23:59:59-01:00")],
])("an answer with %s is malformed", (_, changes) => {
  expect(readOrRefuse(changes)).toBeNull();
});
