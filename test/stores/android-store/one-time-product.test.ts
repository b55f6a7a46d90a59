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
} from "../../../testing/support/android-store.ts";

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

test("a one-time purchase is keyed by its token's SHA-256 and never ends", async () => {
  expect(await verified(aOneTimeAnswer())).toStrictEqual({
    outcome: "verified",
    purchase: {
      store: "android-store",
      environment: "production",
      key: purchaseKeyOfToken(TOKEN),
      lines: [
        {
          transactionIdentifier: null,
          event: null,
          productIdentifier: "lifetime",
          basePlanIdentifier: null,
          purchaseOptionIdentifier: null,
          nature: "consumable",
          standing: "entitled",
          startsAt: NOW - DAY,
          purchasedAt: null,
          endsAt: null,
          revokedAt: null,
          revokedSince: null,
          quantity: 1,
          refundedQuantity: 0,
          rented: false,
          willRenew: null,
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
  ["PURCHASED", "entitled"],
  ["CANCELLED", "revoked"],
] as const)("%s has the standing %s", async (purchaseState, standing) => {
  const { purchase } = await verified(aOneTimeAnswer({ purchaseStateContext: { purchaseState } }));
  expect(purchase.lines).toMatchObject([{ standing, revokedAt: null }]);
});

test("PENDING is verified and grants nothing: no line, no acknowledgement", async () => {
  const { purchaseCompletionTime: _, ...answer } = aOneTimeAnswer({
    purchaseStateContext: { purchaseState: "PENDING" },
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
  });
  expect(await verified(answer)).toMatchObject({
    purchase: { lines: [] },
    acknowledgement: null,
  });
});

test("a purchase cancelled before payment grants nothing", async () => {
  const { purchaseCompletionTime: _, ...answer } = aOneTimeAnswer({
    purchaseStateContext: { purchaseState: "CANCELLED" },
  });
  expect(await verified(answer)).toMatchObject({ purchase: { lines: [] }, acknowledgement: null });
});

test.each([
  ["PENDING", false, true],
  ["CANCELLED", true, false],
])("without a time of completion nothing was paid: %s", async (purchaseState, isClosed, isPending) => {
  const { purchaseCompletionTime: _, ...answer } = aOneTimeAnswer({
    purchaseStateContext: { purchaseState },
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
  });
  expect(await verified(answer)).toMatchObject({
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
  ["a quantity with one refunded", { quantity: 3, refundableQuantity: 2 }, "entitled", 3, 1],
  ["a quantity with none refunded", { quantity: 3, refundableQuantity: 3 }, "entitled", 3, 0],
  ["a quantity whose refunds the store leaves out", { quantity: 3 }, "entitled", 3, 0],
  ["a quantity with more left than bought", { quantity: 3, refundableQuantity: 4 }, "entitled", 3, 0],
  ["no quantity", {}, "entitled", 1, 0],
] as const)("%s: %j → %s, quantity %i, refunded %i", async (_, details, standing, quantity, refunded) => {
  const { purchase } = await verified(
    aOneTimeAnswer({ productLineItem: [aOneTimeLine("lifetime", details)] }),
  );
  const revokedSince = standing === "revoked" || refunded > 0 ? NOW : null;
  expect(purchase.lines).toMatchObject([{ standing, quantity, refundedQuantity: refunded, revokedSince }]);
});

test.each(["CONSUMPTION_STATE_CONSUMED", "CONSUMPTION_STATE_YET_TO_BE_CONSUMED"])(
  "every one-time product may be consumed, for all that is known: %s",
  async (consumptionState) => {
    const line = aOneTimeLine("coins", { consumptionState });
    const { purchase } = await verified(aOneTimeAnswer({ productLineItem: [line] }));
    expect(purchase.lines).toMatchObject([{ nature: "consumable", standing: "entitled" }]);
  },
);

test.each([
  ["rented, with a purchase option", { purchaseOptionId: "rent", rentOfferDetails: {} }, "rent", true],
  ["rented, without a purchase option", { rentOfferDetails: {} }, null, true],
  ["bought, with a purchase option", { purchaseOptionId: "buy" }, "buy", false],
  ["bought", {}, null, false],
])(
  "a line has its purchase option and whether it is rented: %s",
  async (_, details, purchaseOptionIdentifier, rented) => {
    const { purchase } = await verified(aOneTimeAnswer({ productLineItem: [aOneTimeLine("film", details)] }));
    expect(purchase.lines).toMatchObject([{ purchaseOptionIdentifier, rented, endsAt: null }]);
  },
);

test.each(["hash-of-account", "", "h".repeat(257), "\ud800"])(
  "the obfuscated account id is the client's, and not read: %j",
  async (obfuscatedExternalAccountId) => {
    expect(await verified(aOneTimeAnswer({ obfuscatedExternalAccountId }))).toStrictEqual(
      await verified(aOneTimeAnswer()),
    );
  },
);

test("a test purchase has the sandbox environment", async () => {
  const { purchase } = await verified(aOneTimeAnswer({ testPurchaseContext: { fopType: "TEST" } }));
  expect(purchase.environment).toBe("sandbox");
});

const TWO_PRODUCTS = { productLineItem: [aOneTimeLine("maps"), aOneTimeLine("routes")] };

test("productIdentifier selects a line, and all lines are kept", async () => {
  const { purchase } = await verified(aOneTimeAnswer(TWO_PRODUCTS), "routes");
  expect(purchase.selectedProducts).toStrictEqual(["routes"]);
  expect(purchase.lines.map(({ productIdentifier }) => productIdentifier)).toStrictEqual(["maps", "routes"]);
});

test("without productIdentifier all lines are selected", async () => {
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

test("a paid, unacknowledged purchase is to be acknowledged by its product", async () => {
  const { acknowledgement } = await verified(
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

test("a cancelled purchase is not to be acknowledged", async () => {
  const { acknowledgement } = await verified(
    aOneTimeAnswer({
      acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
      purchaseStateContext: { purchaseState: "CANCELLED" },
    }),
  );
  expect(acknowledgement).toBeNull();
});

test("unknown fields are tolerated", async () => {
  const line = { ...aOneTimeLine("lifetime"), aFieldOfNextYear: [1] };
  const answer = {
    ...aOneTimeAnswer({ productLineItem: [line] }),
    aFieldOfNextYear: { of: ["any", "shape"] },
  };
  expect(await verified(answer)).toStrictEqual(await verified(aOneTimeAnswer()));
});

test.each<[string, androidpublisher_v3.Schema$ProductPurchaseV2]>([
  ["an unknown state", { purchaseStateContext: { purchaseState: "LENT" } }],
  ["no state", { purchaseStateContext: {} }],
  ["no lines", { productLineItem: [] }],
  ["a line without a product", { productLineItem: [{ productOfferDetails: {} }] }],
  ["an invalid completion time", { purchaseCompletionTime: "yesterday" }],
  ["PURCHASED, and no completion time", { purchaseCompletionTime: null }],
])("an answer with %s is malformed: unavailable", async (_, changes) => {
  expect(await lookUp(aOneTimeAnswer(changes))).toMatchObject({
    outcome: "unavailable",
    reason: "malformedAnswer",
  });
});
