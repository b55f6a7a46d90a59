import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { readOneTimeProduct } from "../../../lib/stores/android-store/one-time-product.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import {
  aOneTimeAnswer,
  aOneTimeLine,
  DAY,
  NOW,
  PACKAGE_NAME,
} from "../../../testing/support/stores/android-store.ts";
import { aLine, aPurchase } from "../../../testing/support/stores/purchases.ts";

type OneTimeAnswer = androidpublisher_v3.Schema$ProductPurchaseV2;

const TOKEN = "one-time-token.AO-J1O";
const UNACKNOWLEDGED = { acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING" };

/** Reads the usual answer with these changes, as it is sent, as JSON. */
const outcome = (changes: OneTimeAnswer = {}, productIdentifier: string | null = null) => {
  const question = { packageName: PACKAGE_NAME, purchaseToken: TOKEN, productIdentifier, answeredAt: NOW };
  return readOneTimeProduct(JSON.parse(JSON.stringify(aOneTimeAnswer(changes))), question);
};

const read = (...args: Parameters<typeof outcome>) => {
  const reading = outcome(...args);
  if (reading === null || reading === "product-not-in-purchase") throw new Error("The answer is refused.");
  return reading;
};

test("a one-time purchase is keyed by its token's SHA-256 and never ends", () => {
  const line = aLine({
    transactionIdentifier: null,
    productIdentifier: "lifetime",
    nature: "consumable",
    startsAt: NOW - DAY,
    purchasedAt: null,
    endsAt: null,
    verifiedAt: NOW,
  });
  const purchase = aPurchase({ store: "android-store", key: purchaseKeyOfToken(TOKEN), lines: [line] });
  expect(read()).toMatchObject({ purchase, isPending: false, isClosed: false, acknowledgement: null });
});

test.each([
  ["PENDING", { isClosed: false, isPending: true }],
  ["CANCELLED", { isClosed: true, isPending: false }],
])("without a time of completion nothing was paid: %s", (purchaseState, expected) => {
  const unpaid: object = { purchaseStateContext: { purchaseState }, purchaseCompletionTime: undefined };
  const answer = { ...UNACKNOWLEDGED, ...unpaid };
  expect(read(answer)).toMatchObject({ purchase: { lines: [] }, acknowledgement: null, ...expected });
});

const inState = (purchaseState: string) => ({ purchaseStateContext: { purchaseState } });
const having = (details: Parameters<typeof aOneTimeLine>[1]) => ({
  productLineItem: [aOneTimeLine("lifetime", details)],
});
const whole = { quantity: 1, refundedQuantity: 0, revokedSince: null };
const option = { purchaseOptionIdentifier: null, rented: false, endsAt: null };

test.each<[string, OneTimeAnswer, line: object]>([
  ["PURCHASED", inState("PURCHASED"), { standing: "entitled", revokedAt: null }],
  ["CANCELLED", inState("CANCELLED"), { standing: "revoked", revokedAt: null }],
  [
    "a fully refunded quantity",
    having({ quantity: 3, refundableQuantity: 0 }),
    { standing: "revoked", quantity: 3, refundedQuantity: 0, revokedSince: NOW },
  ],
  [
    "a fully refunded single product, whose quantity the store leaves out",
    having({ refundableQuantity: 0 }),
    { ...whole, standing: "revoked", revokedSince: NOW },
  ],
  [
    "a quantity with two refunded",
    having({ quantity: 3, refundableQuantity: 1 }),
    { standing: "entitled", quantity: 3, refundedQuantity: 2, revokedSince: NOW },
  ],
  [
    "a quantity whose refunds the store leaves out",
    having({ quantity: 3 }),
    { ...whole, standing: "entitled", quantity: 3 },
  ],
  [
    "a rental",
    having({ purchaseOptionId: "rent", rentOfferDetails: {} }),
    { ...option, purchaseOptionIdentifier: "rent", rented: true },
  ],
  ["an option", having({ purchaseOptionId: "buy" }), { ...option, purchaseOptionIdentifier: "buy" }],
  ["no option", having({}), option],
])("a line is read of %s", (_, answer, line) => {
  expect(read(answer).purchase.lines).toMatchObject([line]);
});

test("a test purchase has the sandbox environment", () => {
  expect(read({ testPurchaseContext: { fopType: "TEST" } }).purchase.environment).toBe("sandbox");
});

test("productIdentifier selects a line, and all lines are kept", () => {
  const { purchase } = read({ productLineItem: [aOneTimeLine("maps"), aOneTimeLine("routes")] }, "routes");
  expect(purchase.selectedProducts).toStrictEqual(["routes"]);
  expect(purchase.lines.map(({ productIdentifier }) => productIdentifier)).toStrictEqual(["maps", "routes"]);
});

test("a purchase without the given product is rejected", () => {
  expect(outcome({}, "something-else")).toBe("product-not-in-purchase");
});

test("a paid, unacknowledged purchase is to be acknowledged by its product", () => {
  const productLineItem = [
    aOneTimeLine("maps", { quantity: 1, refundableQuantity: 0 }),
    aOneTimeLine("routes"),
  ];
  expect(read({ ...UNACKNOWLEDGED, productLineItem }).acknowledgement).toStrictEqual({
    purchase: { store: "android-store", environment: "production", key: purchaseKeyOfToken(TOKEN) },
    packageName: PACKAGE_NAME,
    purchaseToken: TOKEN,
    productKind: "one_time_product",
    productIdentifier: "routes",
    deadline: NOW + 2 * DAY,
  });
});

test.each<[string, OneTimeAnswer]>([
  ["an unknown state", inState("LENT")],
  ["no state", { purchaseStateContext: {} }],
  ["no lines", { productLineItem: [] }],
  ["a line without a product", { productLineItem: [{ productOfferDetails: {} }] }],
  ["an invalid completion time", { purchaseCompletionTime: "yesterday" }],
  ["PURCHASED, and no completion time", { purchaseCompletionTime: null }],
])("an answer with %s is malformed", (_, changes) => {
  expect(outcome(changes)).toBeNull();
});
