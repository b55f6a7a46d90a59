import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { readOneTimeProduct } from "../../../lib/stores/android-store/one-time-product.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import {
  aOneTimeAnswer,
  aOneTimeLine,
  DAY,
  NOW,
  PACKAGE_NAME,
} from "../../../testing/support/stores/android-store.ts";

type OneTimeAnswer = androidpublisher_v3.Schema$ProductPurchaseV2;

const TOKEN = "one-time-token.AO-J1O";

/** Reads an answer as it is sent, as JSON. */
const outcome = (answer: OneTimeAnswer, productIdentifier: string | null = null) => {
  const question = { packageName: PACKAGE_NAME, purchaseToken: TOKEN, productIdentifier, answeredAt: NOW };
  return readOneTimeProduct(JSON.parse(JSON.stringify(answer)), question);
};

const read = (...args: Parameters<typeof outcome>) => {
  const reading = outcome(...args);
  if (reading === null || reading === "product-not-in-purchase") throw new Error("The answer is refused.");
  return reading;
};

test("a one-time purchase is keyed by its token's SHA-256 and never ends", () => {
  const reading = read(aOneTimeAnswer());
  expect(reading).toMatchObject({ isPending: false, isClosed: false, acknowledgement: null });
  expect(reading.purchase).toMatchObject({
    store: "android-store",
    environment: "production",
    key: purchaseKeyOfToken(TOKEN),
    lines: [
      {
        productIdentifier: "lifetime",
        nature: "consumable",
        startsAt: NOW - DAY,
        endsAt: null,
        quantity: 1,
        rented: false,
        willRenew: null,
        verifiedAt: NOW,
      },
    ],
    selectedProducts: null,
    verifiedAt: NOW,
  });
});

test.each([
  ["PURCHASED", "entitled"],
  ["CANCELLED", "revoked"],
] as const)("%s has the standing %s", (purchaseState, standing) => {
  const { purchase } = read(aOneTimeAnswer({ purchaseStateContext: { purchaseState } }));
  expect(purchase.lines).toMatchObject([{ standing, revokedAt: null }]);
});

test.each([
  ["PENDING", false, true],
  ["CANCELLED", true, false],
])("without a time of completion nothing was paid: %s", (purchaseState, isClosed, isPending) => {
  const { purchaseCompletionTime: _, ...answer } = aOneTimeAnswer({
    purchaseStateContext: { purchaseState },
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
  });
  expect(read(answer)).toMatchObject({
    purchase: { lines: [] },
    isClosed,
    isPending,
    acknowledgement: null,
  });
});

test.each([
  ["a fully refunded quantity", { quantity: 3, refundableQuantity: 0 }, "revoked", 3, 0],
  [
    "a fully refunded single product, whose quantity the store leaves out",
    { refundableQuantity: 0 },
    "revoked",
    1,
    0,
  ],
  ["a quantity with two refunded", { quantity: 3, refundableQuantity: 1 }, "entitled", 3, 2],
  ["a quantity whose refunds the store leaves out", { quantity: 3 }, "entitled", 3, 0],
] as const)("%s: %j → %s, quantity %i, refunded %i", (_, details, standing, quantity, refunded) => {
  const { purchase } = read(aOneTimeAnswer({ productLineItem: [aOneTimeLine("lifetime", details)] }));
  const revokedSince = standing === "revoked" || refunded > 0 ? NOW : null;
  expect(purchase.lines).toMatchObject([{ standing, quantity, refundedQuantity: refunded, revokedSince }]);
});

test("a test purchase has the sandbox environment", () => {
  const answer = aOneTimeAnswer({ testPurchaseContext: { fopType: "TEST" } });
  expect(read(answer).purchase.environment).toBe("sandbox");
});

const TWO_PRODUCTS = { productLineItem: [aOneTimeLine("maps"), aOneTimeLine("routes")] };

test("productIdentifier selects a line, and all lines are kept", () => {
  const { purchase } = read(aOneTimeAnswer(TWO_PRODUCTS), "routes");
  expect(purchase.selectedProducts).toStrictEqual(["routes"]);
  expect(purchase.lines.map(({ productIdentifier }) => productIdentifier)).toStrictEqual(["maps", "routes"]);
});

test("a purchase without the given product is rejected", () => {
  expect(outcome(aOneTimeAnswer(), "something-else")).toBe("product-not-in-purchase");
});

test("a paid, unacknowledged purchase is to be acknowledged by its product", () => {
  const { acknowledgement } = read(
    aOneTimeAnswer({
      acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
      productLineItem: [aOneTimeLine("maps", { quantity: 1, refundableQuantity: 0 }), aOneTimeLine("routes")],
    }),
  );
  expect(acknowledgement).toStrictEqual({
    purchase: { store: "android-store", environment: "production", key: purchaseKeyOfToken(TOKEN) },
    packageName: PACKAGE_NAME,
    purchaseToken: TOKEN,
    productKind: "one_time_product",
    productIdentifier: "routes",
    deadline: NOW + 2 * DAY,
  });
});

test.each<[string, OneTimeAnswer]>([
  ["an unknown state", { purchaseStateContext: { purchaseState: "LENT" } }],
  ["no state", { purchaseStateContext: {} }],
  ["no lines", { productLineItem: [] }],
  ["a line without a product", { productLineItem: [{ productOfferDetails: {} }] }],
  ["an invalid completion time", { purchaseCompletionTime: "yesterday" }],
  ["PURCHASED, and no completion time", { purchaseCompletionTime: null }],
])("an answer with %s is malformed", (_, changes) => {
  expect(outcome(aOneTimeAnswer(changes))).toBeNull();
});

test.each([
  [{ purchaseOptionId: "rent", rentOfferDetails: {} }, "rent", true],
  [{ purchaseOptionId: "buy" }, "buy", false],
  [{}, null, false],
])("a line has its purchase option and whether it is rented: %j", (details, option, rented) => {
  const { purchase } = read(aOneTimeAnswer({ productLineItem: [aOneTimeLine("film", details)] }));
  expect(purchase.lines).toMatchObject([{ purchaseOptionIdentifier: option, rented, endsAt: null }]);
});
