import fc from "fast-check";
import { readNotification } from "../../../lib/stores/android-store/notification.ts";
import { cases } from "../../../testing/support/proof.ts";

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");

const read = (members: object) =>
  readNotification(
    encoded({ packageName: "com.example.trails", eventTimeMillis: "1768478400000", ...members }),
  );

const TOKEN = "abc.AO-J1O";

const subscription = (notificationType: number, purchaseToken = TOKEN) => ({
  subscriptionNotification: { version: "1.0", notificationType, purchaseToken },
});
const voided = (fields: object) => ({
  voidedPurchaseNotification: { purchaseToken: TOKEN, orderId: "GPA.1", ...fields },
});
const oneTime = (notificationType: number) => ({
  oneTimeProductNotification: { version: "1.0", notificationType, purchaseToken: TOKEN, sku: "coins" },
});
const PURCHASE = { purchaseToken: TOKEN, productKind: "subscription" };
const ONCE = { purchaseToken: TOKEN, productKind: "one_time_product" };

test.each<[about: string, members: object, type: string, purchase: object | null]>([
  ["a subscription", subscription(2), "subscription 2", PURCHASE],
  ["a new type", subscription(999), "subscription 999", PURCHASE],
  ["an empty token", subscription(2, ""), "subscription 2", null],
  ["too long a token", subscription(2, "a".repeat(4097)), "subscription 2", null],
  ["a product that was bought", oneTime(1), "one_time_product 1", ONCE],
  ["a product that was cancelled", oneTime(2), "one_time_product 2", ONCE],
  ["a voided subscription", voided({ productType: 1 }), "voided_purchase 1", PURCHASE],
  ["a voided product", voided({ productType: 2 }), "voided_purchase 2", ONCE],
  ["a voided product of an unknown kind", voided({ productType: 3 }), "voided_purchase 3", null],
  ["nothing, as a test", { testNotification: { version: "1.0" } }, "test", null],
  ["something new", { newNotification: { purchaseToken: TOKEN } }, "unknown", null],
  ["a subscription that is no object", { subscriptionNotification: TOKEN }, "unknown", null],
])("a notification about %s is read", (_, members, type, purchase) => {
  const named = { packageName: "com.example.trails", sentAt: 1_768_478_400_000, refundReview: null };
  expect(read(members)).toMatchObject({ ...named, type, purchase });
});

test.each<[fields: object, fullyVoidedAt: number | null]>([
  [{ productType: 2, refundType: 1 }, 1_768_478_400_000],
  [{ productType: 2, refundType: 2 }, null],
  [{ productType: 2 }, null],
  [{ productType: 1, refundType: 1 }, null],
])("a void says whether it is of a whole one-time purchase: %j", (fields, fullyVoidedAt) => {
  expect(read(voided(fields))?.fullyVoidedAt).toBe(fullyVoidedAt);
});

const REVIEW = { pendingRefundToken: "p", orderId: "GPA.1", refundReason: 7 };
test.each([
  [{ version: "1.0", ...REVIEW }, REVIEW],
  [{ purchaseToken: TOKEN }, { purchaseToken: TOKEN }],
  [{ pendingRefundToken: "p".repeat(4097), orderId: "G".repeat(257), refundReason: "CHARGEBACK" }, {}],
  [{ pendingRefundToken: "", orderId: 1 }, {}],
])("a refund to be reviewed names what its answer takes: %j", (pendingRefundReviewNotification, named) => {
  const { type, purchase, refundReview } = read({ pendingRefundReviewNotification }) ?? {};
  expect({ type, purchase }).toEqual({ type: "pending_refund_review", purchase: null });
  expect(refundReview).toEqual(named);
});

test.each([
  ["nothing", ""],
  ["no JSON", Buffer.from("{").toString("base64")],
  ["bytes that are no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]).toString("base64")],
  ["no package", encoded({ testNotification: {} })],
  ["a package that is no text", encoded({ packageName: ["com.example.trails"] })],
  ["a package of 257 characters", encoded({ packageName: "p".repeat(257) })],
])("%s is no notification", (_, data) => {
  expect(readNotification(data)).toBeNull();
});

test("64 KiB of nesting is no notification, around a package neither", () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  expect(readNotification(Buffer.from(nested(24_000)).toString("base64"))).toBeNull();
  const around = `{"packageName":"a.b","testNotification":${nested(20_000)}}`;
  expect(readNotification(Buffer.from(around).toString("base64"))?.type).toBe("unknown");
});

test("reading a push never fails, and its type is short", () => {
  const member = fc.constantFrom(
    "packageName",
    "subscriptionNotification",
    "oneTimeProductNotification",
    "voidedPurchaseNotification",
    "testNotification",
    "notificationType",
    "productType",
    "purchaseToken",
  );
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.string(),
      fc.double(),
      fc.integer(),
      fc.constant(null),
      fc.dictionary(member, tie("value"), { maxKeys: 5 }),
    ),
  })).value;
  const notification = fc
    .tuple(fc.dictionary(member, value), fc.boolean())
    .map(([members, named]) => (named ? { ...members, packageName: "a.b" } : members));
  fc.assert(
    fc.property(fc.oneof(notification.map(encoded), fc.string(), fc.base64String()), (data) => {
      expect(readNotification(data)?.type ?? "test").toMatch(/^[a-z_]+(?: \d{1,4})?$/);
    }),
    cases(100, 10_000),
  );
});
