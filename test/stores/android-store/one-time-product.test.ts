import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import type { AndroidStoreAnswer } from "../../../lib/stores/android-store/android-store.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import {
  aOneTimeAnswer,
  aOneTimeLine,
  DAY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../support/android-store.ts";

let local: LocalAndroidStore;
beforeAll(async () => {
  local = await startAndroidStore();
});
afterAll(() => local.close());

const TOKEN = "one-time-token.AO-J1O";

const lookUp = (
  answer: androidpublisher_v3.Schema$ProductPurchaseV2,
  productIdentifier: string | null = null,
): Promise<AndroidStoreAnswer> => {
  local.sandbox.put(TOKEN, { packageName: PACKAGE_NAME, productKind: "one_time_product", answer });
  const request = { purchaseToken: TOKEN, productKind: "one_time_product", productIdentifier } as const;
  return local.store().lookUp(local.androidPackage, request);
};

const verified = async (...args: Parameters<typeof lookUp>) => {
  const answer = await lookUp(...args);
  if (answer.outcome !== "verified") throw new Error(`expected verified, got ${JSON.stringify(answer)}`);
  return answer;
};

test("a one-time purchase is a purchase keyed by the SHA-256 of its token, with a line that never ends", async () => {
  expect(await verified(aOneTimeAnswer())).toStrictEqual({
    outcome: "verified",
    purchase: {
      store: "android-store",
      environment: "production",
      key: purchaseKeyOfToken(TOKEN),
      lines: [
        {
          transactionIdentifier: null,
          productIdentifier: "lifetime",
          basePlanIdentifier: null,
          nature: "non_consumable",
          standing: "entitled",
          startsAt: NOW - DAY,
          endsAt: null,
          revokedAt: null,
          willRenew: null,
          verifiedAt: NOW,
        },
      ],
      selectedProducts: null,
      replacedBy: null,
      verifiedAt: NOW,
    },
    identities: { obfuscatedAccountIdentifier: null },
    replaces: null,
    samePerson: [],
    acknowledgement: null,
  });
});

test.each([
  ["PURCHASED", "entitled"],
  ["CANCELLED", "revoked"],
] as const)("%s stands as %s", async (purchaseState, standing) => {
  const { purchase } = await verified(aOneTimeAnswer({ purchaseStateContext: { purchaseState } }));
  expect(purchase.lines).toMatchObject([{ standing, revokedAt: null }]);
});

test("PENDING is verified and gives nothing: no line, nothing acknowledged", async () => {
  const { purchaseCompletionTime: _, ...answer } = aOneTimeAnswer({
    purchaseStateContext: { purchaseState: "PENDING" },
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
    obfuscatedExternalAccountId: "account",
  });
  expect(await verified(answer)).toMatchObject({
    purchase: { lines: [] },
    identities: { obfuscatedAccountIdentifier: "account" },
    acknowledgement: null,
  });
});

test.each([
  ["a fully refunded quantity", { quantity: 3, refundableQuantity: 0 }, "revoked"],
  ["a fully refunded single one, whose quantity the store leaves out", { refundableQuantity: 0 }, "revoked"],
  ["a partly refunded quantity", { quantity: 3, refundableQuantity: 1 }, "entitled"],
  ["a quantity that is not refunded", { quantity: 3, refundableQuantity: 3 }, "entitled"],
  ["a quantity whose refunds the store leaves out", { quantity: 3 }, "entitled"],
] as const)("%s stands so: %j → %s", async (_, details, standing) => {
  const { purchase } = await verified(
    aOneTimeAnswer({ productLineItem: [aOneTimeLine("lifetime", details)] }),
  );
  expect(purchase.lines).toMatchObject([{ standing }]);
});

test("what was consumed is a consumable", async () => {
  const consumed = aOneTimeLine("coins", { consumptionState: "CONSUMPTION_STATE_CONSUMED" });
  const { purchase } = await verified(aOneTimeAnswer({ productLineItem: [consumed] }));
  expect(purchase.lines).toMatchObject([{ nature: "consumable" }]);
});

test("a test purchase is of the sandbox environment", async () => {
  const { purchase } = await verified(aOneTimeAnswer({ testPurchaseContext: { fopType: "TEST" } }));
  expect(purchase.environment).toBe("sandbox");
});

const TWO_PRODUCTS = { productLineItem: [aOneTimeLine("maps"), aOneTimeLine("routes")] };

test("productIdentifier selects among the lines, all of which are kept", async () => {
  const { purchase } = await verified(aOneTimeAnswer(TWO_PRODUCTS), "routes");
  expect(purchase.selectedProducts).toStrictEqual(["routes"]);
  expect(purchase.lines.map(({ productIdentifier }) => productIdentifier)).toStrictEqual(["maps", "routes"]);
});

test("without productIdentifier every line is selected", async () => {
  expect((await verified(aOneTimeAnswer(TWO_PRODUCTS))).purchase.selectedProducts).toBeNull();
});

test.each(["PURCHASED", "CANCELLED", "PENDING"])(
  "a %s purchase without the given product is rejected",
  async (purchaseState) => {
    const answer = await lookUp(
      aOneTimeAnswer({ purchaseStateContext: { purchaseState } }),
      "something-else",
    );
    expect(answer).toMatchObject({ outcome: "rejected", reason: "productNotInPurchase" });
  },
);

test("a paid purchase that the store has pending is to be acknowledged, with a product that is not refunded", async () => {
  const { acknowledgement } = await verified(
    aOneTimeAnswer({
      acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
      productLineItem: [aOneTimeLine("maps", { quantity: 1, refundableQuantity: 0 }), aOneTimeLine("routes")],
    }),
  );
  expect(acknowledgement).toStrictEqual({
    packageName: PACKAGE_NAME,
    purchaseToken: TOKEN,
    productKind: "one_time_product",
    productIdentifier: "routes",
  });
});

test("a cancelled purchase is not to be acknowledged", async () => {
  const { acknowledgement } = await verified(
    aOneTimeAnswer({
      acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
      purchaseStateContext: { purchaseState: "CANCELLED" },
    }),
  );
  expect(acknowledgement).toBeNull();
});

test.each<[string, androidpublisher_v3.Schema$ProductPurchaseV2]>([
  ["an unknown state", { purchaseStateContext: { purchaseState: "LENT" } }],
  ["no state", { purchaseStateContext: {} }],
  ["no lines", { productLineItem: [] }],
  ["a line without a product", { productLineItem: [{ productOfferDetails: {} }] }],
  ["a completion time that is no time", { purchaseCompletionTime: "yesterday" }],
])("an answer with %s is no verdict: unavailable", async (_, changes) => {
  expect(await lookUp(aOneTimeAnswer(changes))).toMatchObject({
    outcome: "unavailable",
    reason: "malformedAnswer",
  });
});
