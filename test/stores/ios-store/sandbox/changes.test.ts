import type { RequestedChange } from "../../../../sandbox/ios-store/shop/change.ts";
import { DAY, NOW } from "../../../../testing/support/purchases.ts";
import { decodedTransactions, MONTHLY, storeForEachTest, type Pushed } from "./store-under-test.ts";

const YEARLY = "com.example.trails.premium.yearly";

const under = storeForEachTest();

const buy = async (goods: object = {}): Promise<string> => {
  const original = await under.buy(goods);
  await under.pushed();
  return original;
};

/** Makes a change an hour later, and returns what is pushed. */
const change = async (original: string, change: RequestedChange): Promise<Pushed[]> => {
  under.now += 3_600_000;
  await under.store.change(original, change);
  return under.pushed();
};

const names = (pushed: readonly Pushed[]): string[] => pushed.map(({ name }) => name);
const transactionsOf = async (original: string) =>
  decodedTransactions((await under.store.read(original))?.signedTransactions ?? []);

describe("sold", () => {
  test.each(["Consumable", "Non-Consumable", "Non-Renewing Subscription"] as const)(
    "%s: one charge, without renewal info or status",
    async (type) => {
      const quantity = type === "Non-Consumable" ? 1 : 3;
      await under.store.buy({ transactions: [{ productIdentifier: "pass", type, quantity }] });
      const [pushed] = await under.pushed();
      expect(pushed).toMatchObject({
        name: "ONE_TIME_CHARGE",
        renewalInfo: null,
        transaction: { type, quantity, purchaseDate: NOW, inAppOwnershipType: "PURCHASED" },
      });
      expect(pushed?.transaction).not.toHaveProperty("expiresDate");
      expect(pushed?.body.data).not.toHaveProperty("status");
      expect(under.store.nextEventAt()).toBeNull();
    },
  );

  test("the app account token is in transaction and renewal info", async () => {
    const appAccountToken = "7e3fb204-2ad0-4ad5-9a5c-7d3d6a8f4a11";
    await under.store.buy({ transactions: [{ productIdentifier: MONTHLY, appAccountToken }] });
    const [pushed] = await under.pushed();
    expect(pushed).toMatchObject({ transaction: { appAccountToken }, renewalInfo: { appAccountToken } });
  });
});

describe("the renewal", () => {
  test("turned off, and on again", async () => {
    const original = await buy();
    const [off] = await change(original, { change: "cancel" });
    expect([off?.name, off?.body.data?.status, off?.renewalInfo?.autoRenewStatus]).toEqual([
      "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
      1,
      0,
    ]);
    expect(off?.renewalInfo).not.toHaveProperty("renewalPrice");
    const [on] = await change(original, { change: "resume" });
    expect([on?.name, on?.renewalInfo?.autoRenewStatus]).toEqual([
      "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED",
      1,
    ]);
  });

  test("called off in a billing retry, the subscription is over", async () => {
    const original = await buy({ gracePeriod: null, period: "P1D" });
    await change(original, { change: "fail-billing" });
    await under.moveTo(NOW + 2 * DAY);
    await under.pushed();
    const pushed = await change(original, { change: "cancel" });
    expect(names(pushed)).toEqual(["DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "EXPIRED VOLUNTARY"]);
    const [disabled, expired] = pushed.map(({ renewalInfo }) => renewalInfo);
    expect(expired?.signedDate).toBeGreaterThan(disabled?.signedDate ?? Infinity);
  });

  test("made now, the next period follows the current one", async () => {
    const original = await buy();
    const [renewal] = await change(original, { change: "renew" });
    expect(renewal).toMatchObject({
      name: "DID_RENEW",
      transaction: { purchaseDate: Date.UTC(2026, 6, 15, 12), expiresDate: Date.UTC(2026, 7, 15, 12) },
    });
  });

  test("extended, the same transaction ends later, and the cadence follows", async () => {
    const original = await buy();
    const [extension] = await change(original, { change: "extend", period: "P10D" });
    const end = Date.UTC(2026, 6, 25, 12);
    expect(extension).toMatchObject({
      name: "RENEWAL_EXTENDED",
      transaction: { transactionId: original, expiresDate: end },
      renewalInfo: { renewalDate: end },
    });
    await under.moveTo(end);
    expect(await under.pushed()).toMatchObject([
      { name: "DID_RENEW", transaction: { purchaseDate: end, expiresDate: Date.UTC(2026, 7, 25, 12) } },
    ]);
  });

  test("a raised price: who agrees is renewed, who does not is not", async () => {
    const [agreeing, silent] = [await buy(), await buy()];
    const [asked] = await change(agreeing, { change: "price-increase" });
    expect([asked?.name, asked?.renewalInfo?.priceIncreaseStatus]).toEqual(["PRICE_INCREASE PENDING", 0]);
    const [agreed] = await change(agreeing, { change: "price-increase", consent: "agreed" });
    expect([agreed?.name, agreed?.renewalInfo?.priceIncreaseStatus]).toEqual(["PRICE_INCREASE ACCEPTED", 1]);
    await change(silent, { change: "price-increase", consent: "pending" });
    await under.moveTo(Date.UTC(2026, 6, 15, 12));
    const [renewed, expired] = await under.pushed();
    expect([renewed?.name, renewed?.transaction?.originalTransactionId]).toEqual(["DID_RENEW", agreeing]);
    expect(expired).toMatchObject({
      name: "EXPIRED PRICE_INCREASE",
      transaction: { originalTransactionId: silent },
      renewalInfo: { expirationIntent: 3, priceIncreaseStatus: 0 },
    });
  });

  test("an offer is redeemed, and the next period is charged at it", async () => {
    const original = await buy();
    const offer = { offerType: 3, offerIdentifier: "SPRING" };
    const [redeemed] = await change(original, { change: "redeem-offer", offerIdentifier: "SPRING" });
    expect(redeemed).toMatchObject({ name: "OFFER_REDEEMED", renewalInfo: offer });
    await under.moveTo(Date.UTC(2026, 6, 15, 12));
    const [renewal] = await under.pushed();
    expect(renewal?.transaction).toMatchObject(offer);
    expect(renewal?.renewalInfo).not.toHaveProperty("offerIdentifier");
  });
});

describe("another product", () => {
  test("an upgrade begins at once, and ends the transaction before", async () => {
    const original = await buy();
    const [upgrade] = await change(original, {
      change: "upgrade",
      productIdentifier: YEARLY,
      period: "P1Y",
    });
    expect(upgrade).toMatchObject({
      name: "DID_CHANGE_RENEWAL_PREF UPGRADE",
      transaction: {
        productId: YEARLY,
        originalTransactionId: original,
        purchaseDate: under.now,
        expiresDate: Date.UTC(2027, 5, 15, 13),
        transactionReason: "PURCHASE",
      },
      renewalInfo: { productId: YEARLY, autoRenewProductId: YEARLY },
    });
    expect((await transactionsOf(original)).map(({ isUpgraded }) => isUpgraded)).toEqual([true, false]);
  });

  test("a downgrade begins with the next period", async () => {
    const original = await buy({ productIdentifier: YEARLY, period: "P1Y" });
    const [downgrade] = await change(original, {
      change: "downgrade",
      productIdentifier: MONTHLY,
      period: "P1M",
    });
    expect(downgrade).toMatchObject({
      name: "DID_CHANGE_RENEWAL_PREF DOWNGRADE",
      transaction: { productId: YEARLY },
      renewalInfo: { productId: YEARLY, autoRenewProductId: MONTHLY, autoRenewStatus: 1 },
    });
    const end = Date.UTC(2027, 5, 15, 12);
    await under.moveTo(end);
    expect(await under.pushed()).toMatchObject([
      {
        name: "DID_RENEW",
        transaction: { productId: MONTHLY, purchaseDate: end, expiresDate: Date.UTC(2027, 6, 15, 12) },
        renewalInfo: { productId: MONTHLY, autoRenewProductId: MONTHLY },
      },
    ]);
  });
});

describe("the end", () => {
  test.each([
    ["voluntary", "EXPIRED VOLUNTARY", 1],
    ["billing-retry", "EXPIRED BILLING_RETRY", 2],
    ["price-increase", "EXPIRED PRICE_INCREASE", 3],
    ["product-not-for-sale", "EXPIRED PRODUCT_NOT_FOR_SALE", 4],
    ["other", "EXPIRED", 5],
  ] as const)("now, for %s", async (reason, name, expirationIntent) => {
    const original = await buy();
    const [expired] = await change(original, { change: "expire", reason });
    expect(expired).toMatchObject({
      name,
      transaction: { expiresDate: under.now },
      renewalInfo: { expirationIntent, renewalDate: under.now, autoRenewStatus: 0 },
    });
    expect(under.store.nextEventAt()).toBeNull();
  });

  test.each([
    ["within 60 days is the same service", 59, () => NOW],
    ["later is another", 61, () => under.now],
  ])("a subscription bought again %s", async (_, days, startsAt) => {
    const original = await buy();
    await change(original, { change: "expire" });
    under.now += days * DAY;
    const goods = { productIdentifier: YEARLY, period: "P1Y" } as const;
    const [again] = await change(original, { change: "resubscribe", ...goods });
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
});
