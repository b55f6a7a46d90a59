import { HOUR } from "../../../../lib/duration.ts";
import type { RequestedChange } from "../../../../sandbox/ios-store/shop/requests.ts";
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
const expire = (
  reason: "voluntary" | "billing-retry" | "price-increase" | "product-not-for-sale" | "other",
) => ({ change: "expire", reason }) as const;
const priced = (priceIncreaseStatus: number) => ({ renewalInfo: { priceIncreaseStatus } });
const extended = { transaction: { expiresDate: EXTENDED }, renewalInfo: { renewalDate: EXTENDED } };
const disabled = { body: { data: { status: 1 } }, renewalInfo: { autoRenewStatus: 0 } };
const expired = (expirationIntent: number) => ({
  transaction: { expiresDate: NOW + HOUR },
  renewalInfo: { expirationIntent, renewalDate: NOW + HOUR, autoRenewStatus: 0 },
});
const upgraded = {
  transaction: {
    productId: YEARLY,
    purchaseDate: NOW + HOUR,
    expiresDate: Date.UTC(2027, 5, 15, 13),
    transactionReason: "PURCHASE",
  },
  renewalInfo: { productId: YEARLY, autoRenewProductId: YEARLY },
};
const downgraded = {
  transaction: { productId: YEARLY },
  renewalInfo: { productId: YEARLY, autoRenewProductId: MONTHLY, autoRenewStatus: 1 },
};
const refunded = (revocationPercentage: number) => ({
  renewalInfo: null,
  transaction: { quantity: 3, revocationType: "REFUND_PRORATED", revocationPercentage },
});
const legal = { body: { data: { consumptionRequestReason: "LEGAL" } } };
const rescinded = { transaction: null, body: { appData: { signedAppTransactionInfo: expect.any(String) } } };

const STATUS = "DID_CHANGE_RENEWAL_STATUS";
const PREFERENCE = "DID_CHANGE_RENEWAL_PREF";
test.each<[name: string, goods: object, changes: readonly RequestedChange[], pushed: object]>([
  [`${STATUS} AUTO_RENEW_DISABLED`, {}, [cancel], disabled],
  [
    `${STATUS} AUTO_RENEW_ENABLED`,
    {},
    [cancel, { change: "resume" }],
    { renewalInfo: { autoRenewStatus: 1 } },
  ],
  ["DID_RENEW", {}, [{ change: "renew" }], { transaction: { purchaseDate: JULY, expiresDate: AUGUST } }],
  ["RENEWAL_EXTENDED", {}, [{ change: "extend", period: "P10D" }], extended],
  ["PRICE_INCREASE PENDING", {}, [{ change: "price-increase" }], priced(0)],
  ["PRICE_INCREASE ACCEPTED", {}, [{ change: "price-increase", consent: "agreed" }], priced(1)],
  [`${PREFERENCE} UPGRADE`, {}, [{ change: "upgrade", ...toYearly }], upgraded],
  [`${PREFERENCE} DOWNGRADE`, toYearly, [{ change: "downgrade", productIdentifier: MONTHLY }], downgraded],
  ["EXPIRED VOLUNTARY", {}, [expire("voluntary")], expired(1)],
  ["EXPIRED BILLING_RETRY", {}, [expire("billing-retry")], expired(2)],
  ["EXPIRED PRICE_INCREASE", {}, [expire("price-increase")], expired(3)],
  ["EXPIRED PRODUCT_NOT_FOR_SALE", {}, [expire("product-not-for-sale")], expired(4)],
  ["EXPIRED", {}, [expire("other")], expired(5)],
  ["REFUND", PASSES, [{ change: "refund-partly", refundedQuantity: 1 }], refunded(33_333)],
  ["REFUND", PASSES, [{ change: "refund-partly", percentage: 12.345 }], refunded(12_345)],
  ["CONSUMPTION_REQUEST", PASSES, [{ change: "consumption-request", reason: "LEGAL" }], legal],
  ["RESCIND_CONSENT", {}, [{ change: "rescind-consent" }], rescinded],
])("%s tells what has changed", async (name, goods, changes, pushed) => {
  const original = await under.buy(goods);
  const all: Pushed[] = [];
  for (const each of changes) all.push(...(await under.change(original, each)));
  expect(all).toHaveLength(changes.length);
  expect(all.at(-1)).toMatchObject({ ...pushed, name });
});

const nextMonth = { purchaseDate: EXTENDED, expiresDate: Date.UTC(2026, 7, 25, 12) };
const third = { purchaseDate: AUGUST, expiresDate: SEPTEMBER };
const yearly = { productId: YEARLY, purchaseDate: JULY };
test.each<[rule: string, asked: RequestedChange, at: number | undefined, renewal: object]>([
  ["an extension moves the cadence", { change: "extend", period: "P10D" }, EXTENDED, nextMonth],
  ["a downgrade begins with the next period", { change: "downgrade", ...toYearly }, JULY, yearly],
  ["a renewal asked for is followed by the next", { change: "renew" }, AUGUST, third],
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
