import { HOUR } from "../../../../lib/duration.ts";
import type { RequestedChange } from "../../../../sandbox/ios-store/shop/change.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { MONTHLY, storeForEachTest, type Pushed } from "./store-under-test.ts";

const YEARLY = "com.example.trails.premium.yearly";

const under = storeForEachTest();

test.each(["Consumable", "Non-Consumable", "Non-Renewing Subscription"] as const)(
  "%s: one charge, without renewal info or status",
  async (type) => {
    await under.buy({ type, quantity: 3 });
    const [pushed] = await under.pushed();
    expect(pushed).toMatchObject({
      name: "ONE_TIME_CHARGE",
      renewalInfo: null,
      transaction: { type, quantity: 3, purchaseDate: NOW, inAppOwnershipType: "PURCHASED" },
    });
    expect(pushed?.transaction).not.toHaveProperty("expiresDate");
    expect(pushed?.body.data).not.toHaveProperty("status");
    expect(under.store.nextEventAt()).toBeNull();
  },
);

/** Ends of the first three months. */
const [JULY, AUGUST, SEPTEMBER] = [6, 7, 8].map((month) => Date.UTC(2026, month, 15, 12));
const EXTENDED = Date.UTC(2026, 6, 25, 12);
const PASSES = { type: "Non-Renewing Subscription", quantity: 3 };
const toYearly = { productIdentifier: YEARLY, period: "P1Y" } as const;
const cancel = { change: "cancel" } as const;
const ask = { change: "consumption-request" } as const;
const expire = (
  reason: "voluntary" | "billing-retry" | "price-increase" | "product-not-for-sale" | "other",
) => ({ change: "expire", reason }) as const;
const renewalInfo = (fields: object) => ({ renewalInfo: fields });
const transaction = (fields: object) => ({ transaction: fields });
const expired = (expirationIntent: number) => ({
  ...transaction({ expiresDate: NOW + HOUR }),
  ...renewalInfo({ expirationIntent, renewalDate: NOW + HOUR, autoRenewStatus: 0 }),
});
const extended = {
  ...transaction({ expiresDate: EXTENDED }),
  ...renewalInfo({ renewalDate: EXTENDED }),
};
const upgraded = {
  ...transaction({
    productId: YEARLY,
    purchaseDate: NOW + HOUR,
    expiresDate: Date.UTC(2027, 5, 15, 13),
    transactionReason: "PURCHASE",
  }),
  ...renewalInfo({ productId: YEARLY, autoRenewProductId: YEARLY }),
};
const downgraded = {
  ...transaction({ productId: YEARLY }),
  ...renewalInfo({ productId: YEARLY, autoRenewProductId: MONTHLY, autoRenewStatus: 1 }),
};
const refunded = (revocationPercentage: number) => ({
  renewalInfo: null,
  transaction: { quantity: 3, revocationType: "REFUND_PRORATED", revocationPercentage },
});
const rescinded = { transaction: null, body: { appData: { signedAppTransactionInfo: expect.any(String) } } };
const legal = { body: { data: { consumptionRequestReason: "LEGAL" } } };
const disabled = { body: { data: { status: 1 } }, ...renewalInfo({ autoRenewStatus: 0 }) };

test.each<[name: string, goods: object, changes: readonly RequestedChange[], pushed: object]>([
  ["DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", {}, [cancel], disabled],
  [
    "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED",
    {},
    [cancel, { change: "resume" }],
    renewalInfo({ autoRenewStatus: 1 }),
  ],
  ["DID_RENEW", {}, [{ change: "renew" }], transaction({ purchaseDate: JULY, expiresDate: AUGUST })],
  ["RENEWAL_EXTENDED", {}, [{ change: "extend", period: "P10D" }], extended],
  ["RENEWAL_EXTENSION FAILURE", {}, [{ change: "fail-extension" }], transaction({ expiresDate: JULY })],
  ["PRICE_INCREASE PENDING", {}, [{ change: "price-increase" }], renewalInfo({ priceIncreaseStatus: 0 })],
  [
    "PRICE_INCREASE ACCEPTED",
    {},
    [{ change: "price-increase", consent: "agreed" }],
    renewalInfo({ priceIncreaseStatus: 1 }),
  ],
  ["DID_CHANGE_RENEWAL_PREF UPGRADE", {}, [{ change: "upgrade", ...toYearly }], upgraded],
  [
    "DID_CHANGE_RENEWAL_PREF DOWNGRADE",
    toYearly,
    [{ change: "downgrade", productIdentifier: MONTHLY }],
    downgraded,
  ],
  ["EXPIRED VOLUNTARY", {}, [expire("voluntary")], expired(1)],
  ["EXPIRED BILLING_RETRY", {}, [expire("billing-retry")], expired(2)],
  ["EXPIRED PRICE_INCREASE", {}, [expire("price-increase")], expired(3)],
  ["EXPIRED PRODUCT_NOT_FOR_SALE", {}, [expire("product-not-for-sale")], expired(4)],
  ["EXPIRED", {}, [expire("other")], expired(5)],
  ["REFUND", PASSES, [{ change: "refund-partly", refundedQuantity: 1 }], refunded(33_333)],
  ["REFUND", PASSES, [{ change: "refund-partly", percentage: 12.345 }], refunded(12_345)],
  ["CONSUMPTION_REQUEST", PASSES, [{ ...ask, reason: "LEGAL" }], legal],
  ["REFUND_DECLINED", PASSES, [ask, { change: "decline-refund" }], {}],
  ["RESCIND_CONSENT", {}, [{ change: "rescind-consent" }], rescinded],
])("%s tells what has changed", async (name, goods, changes, pushed) => {
  const original = await under.buy(goods);
  const all: Pushed[] = [];
  for (const each of changes) all.push(...(await under.change(original, each)));
  expect(all).toHaveLength(changes.length);
  expect(all.at(-1)).toMatchObject({ ...pushed, name });
});

test.each<[rule: string, asked: RequestedChange, at: number | undefined, renewal: object]>([
  [
    "an extension moves the cadence",
    { change: "extend", period: "P10D" },
    EXTENDED,
    { purchaseDate: EXTENDED, expiresDate: Date.UTC(2026, 7, 25, 12) },
  ],
  [
    "a downgrade begins with the next period",
    { change: "downgrade", ...toYearly },
    JULY,
    { productId: YEARLY, purchaseDate: JULY },
  ],
  [
    "a renewal asked for is followed by the next",
    { change: "renew" },
    AUGUST,
    { purchaseDate: AUGUST, expiresDate: SEPTEMBER },
  ],
])("%s", async (_, asked, at = 0, transaction) => {
  const original = await under.buy();
  await under.change(original, asked);
  await under.moveTo(at);
  expect(await under.pushed()).toMatchObject([{ name: "DID_RENEW", transaction }]);
});

test.each([
  ["within 60 days is the same service", 59, () => NOW],
  ["later is another", 61, () => under.now],
])("a subscription bought again %s", async (_, days, startsAt) => {
  const original = await under.buy();
  await under.change(original, { change: "expire" });
  under.now += days * DAY;

  const [again] = await under.change(original, { change: "resubscribe", ...toYearly });
  expect(again).toMatchObject({
    name: "SUBSCRIBED RESUBSCRIBE",
    transaction: {
      originalTransactionId: original,
      productId: YEARLY,
      purchaseDate: under.now,
      transactionReason: "PURCHASE",
    },
    renewalInfo: { recentSubscriptionStartDate: startsAt(), autoRenewStatus: 1 },
  });
});
