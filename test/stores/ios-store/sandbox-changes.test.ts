import { ImpossibleChange } from "../../../sandbox/impossible-change.ts";
import type { RequestedChange } from "../../../sandbox/ios-store/shop/change.ts";
import { DAY, NOW } from "../../../testing/support/purchases.ts";
import {
  decodedRenewalInfos,
  decodedTransactions,
  openStore,
  type Pushed,
  type StoreUnderTest,
} from "./ios-store-sandbox.ts";

const MONTHLY = "com.example.trails.premium.monthly";
const YEARLY = "com.example.trails.premium.yearly";

let under: StoreUnderTest;
beforeEach(async () => {
  under = await openStore();
});
afterEach(async () => under.stop());

const buy = async (fields: object = {}): Promise<string> => {
  const { originalTransactionIdentifiers } = await under.store.buy({
    appTransactionIdentifier: "704",
    transactions: [{ productIdentifier: MONTHLY, ...fields }],
  });
  await under.pushed();
  return originalTransactionIdentifiers[0] ?? "";
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
const renewalInfoOf = async (original: string) =>
  (await decodedRenewalInfos((await under.store.read(original))?.signedRenewalInfos ?? []))[0];

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
    expect([pushed?.transaction?.appAccountToken, pushed?.renewalInfo?.appAccountToken]).toEqual([
      appAccountToken,
      appAccountToken,
    ]);
  });

  test("in production the app's Apple ID comes with it", async () => {
    await under.store.buy({ environment: "production", transactions: [{ productIdentifier: MONTHLY }] });
    const [pushed] = await under.pushed("production");
    expect(pushed?.body.data).toMatchObject({ environment: "Production", appAppleId: 1_234_567_890 });
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

  test("called off in a grace period, access lasts until its end", async () => {
    const original = await buy();
    await change(original, { change: "fail-billing" });
    await under.moveTo(Date.UTC(2026, 6, 16, 12));
    await change(original, { change: "cancel" });
    await under.moveTo(Date.UTC(2026, 8, 1));
    const [expired] = await under.pushed();
    expect([expired?.name, expired?.body.signedDate]).toEqual([
      "EXPIRED VOLUNTARY",
      Date.UTC(2026, 6, 15, 12) + 16 * DAY,
    ]);
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

  test("an extension that fails changes nothing", async () => {
    const original = await buy();
    const [failure] = await change(original, { change: "fail-extension" });
    expect(failure).toMatchObject({
      name: "RENEWAL_EXTENSION FAILURE",
      transaction: { expiresDate: Date.UTC(2026, 6, 15, 12) },
    });
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

  test("a downgrade is given up by choosing the current product", async () => {
    const original = await buy();
    await change(original, { change: "downgrade", productIdentifier: "lite" });
    const [given] = await change(original, { change: "downgrade", productIdentifier: MONTHLY });
    expect([given?.name, given?.renewalInfo?.autoRenewProductId]).toEqual([
      "DID_CHANGE_RENEWAL_PREF",
      MONTHLY,
    ]);
  });

  test.each(["upgrade", "downgrade"] as const)("an offer for an %s tells of the offer", async (kind) => {
    const original = await buy();
    const pushed = await change(original, {
      change: kind,
      productIdentifier: YEARLY,
      offerIdentifier: "SPRING",
    });
    expect(names(pushed)).toEqual([`OFFER_REDEEMED ${kind.toUpperCase()}`]);
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

  test("bought again within 60 days is the same service, later another", async () => {
    const original = await buy();
    await change(original, { change: "expire" });
    under.now += 59 * DAY;
    const [soon] = await change(original, { change: "resubscribe" });
    expect(soon).toMatchObject({
      name: "SUBSCRIBED RESUBSCRIBE",
      transaction: {
        originalTransactionId: original,
        purchaseDate: under.now,
        transactionReason: "PURCHASE",
      },
      renewalInfo: { recentSubscriptionStartDate: NOW, autoRenewStatus: 1 },
    });
    await change(original, { change: "expire" });
    under.now += 61 * DAY;
    const [late] = await change(original, {
      change: "resubscribe",
      productIdentifier: YEARLY,
      period: "P1Y",
    });
    expect(late).toMatchObject({
      transaction: { productId: YEARLY },
      renewalInfo: { recentSubscriptionStartDate: under.now },
    });
  });
});

describe("a refund", () => {
  test("of the current period ends the subscription", async () => {
    const original = await buy();
    const pushed = await change(original, { change: "refund", reason: 1 });
    expect(names(pushed)).toEqual(["DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "REFUND"]);
    const [disabled, refund] = pushed;
    expect(disabled?.transaction).not.toHaveProperty("revocationDate");
    expect(refund).toMatchObject({
      body: { data: { status: 5 } },
      transaction: {
        transactionId: original,
        revocationDate: under.now,
        revocationReason: 1,
        revocationType: "REFUND_FULL",
        revocationPercentage: 100_000,
      },
      renewalInfo: { autoRenewStatus: 0 },
    });
    expect(refund?.transaction?.signedDate).toBeGreaterThan(disabled?.transaction?.signedDate ?? Infinity);
    expect(under.store.nextEventAt()).toBeNull();
  });

  test("of a period before leaves the current one", async () => {
    const original = await buy();
    await under.moveTo(Date.UTC(2026, 6, 20));
    await under.pushed();
    const pushed = await change(original, { change: "refund", transactionIdentifier: original });
    expect(pushed).toMatchObject([
      {
        name: "REFUND",
        body: { data: { status: 1 } },
        transaction: { transactionId: original, revocationDate: under.now },
        renewalInfo: { autoRenewStatus: 1 },
      },
    ]);
  });

  test("reversed, the period goes on and is not renewed", async () => {
    const original = await buy();
    await change(original, { change: "refund" });
    const [reversed] = await change(original, { change: "reverse-refund" });
    expect(reversed).toMatchObject({
      name: "REFUND_REVERSED",
      body: { data: { status: 1 } },
      renewalInfo: { autoRenewStatus: 0 },
    });
    for (const absent of ["revocationDate", "revocationReason", "revocationType", "revocationPercentage"])
      expect(reversed?.transaction).not.toHaveProperty(absent);
    await under.moveTo(Date.UTC(2026, 6, 15, 12));
    expect(names(await under.pushed())).toEqual(["EXPIRED VOLUNTARY"]);
  });

  test("reversed after the period's end, the subscription has expired", async () => {
    const original = await buy();
    await change(original, { change: "refund" });
    under.now = Date.UTC(2026, 9, 1);
    const [reversed] = await change(original, { change: "reverse-refund" });
    expect(reversed?.body.data?.status).toBe(2);
  });

  test.each([
    [{ refundedQuantity: 1 }, 33_333],
    [{ refundedQuantity: 2 }, 66_667],
    [{ percentage: 12.345 }, 12_345],
  ])("of a share of three passes: %j", async (share, revocationPercentage) => {
    const original = await buy({ type: "Non-Renewing Subscription", quantity: 3 });
    const pushed = await change(original, { change: "refund-partly", ...share });
    expect(pushed).toMatchObject([
      {
        name: "REFUND",
        renewalInfo: null,
        transaction: { quantity: 3, revocationType: "REFUND_PRORATED", revocationPercentage },
      },
    ]);
  });

  test("of a share, then of all", async () => {
    const original = await buy({ type: "Consumable", quantity: 2 });
    await change(original, { change: "refund-partly", refundedQuantity: 1 });
    const [refund] = await change(original, { change: "refund" });
    expect(refund?.transaction?.revocationPercentage).toBe(100_000);
  });

  test("is of every copy of the purchase", async () => {
    const original = await buy({ type: "Non-Consumable" });
    await change(original, { change: "restore" });
    await change(original, { change: "refund" });
    const revoked = (await transactionsOf(original)).map(({ revocationDate }) => revocationDate);
    expect(revoked).toEqual([under.now, under.now]);
  });

  test("asked for, and declined", async () => {
    const original = await buy({ type: "Consumable" });
    const [asked] = await change(original, { change: "consumption-request", reason: "FULFILLMENT_ISSUE" });
    expect(asked?.name).toBe("CONSUMPTION_REQUEST");
    expect(asked?.body.data?.consumptionRequestReason).toBe("FULFILLMENT_ISSUE");
    expect(names(await change(original, { change: "decline-refund" }))).toEqual(["REFUND_DECLINED"]);
  });
});

describe("a family", () => {
  const share = async (original: string): Promise<string> => {
    await under.store.change(original, { change: "share-with-family", appTransactionIdentifier: "705" });
    const all = await under.store.readAll();
    return all[1]?.originalTransactionIdentifiers[0] ?? "";
  };

  test("a member has a lineage of its own, with the purchaser's period", async () => {
    const original = await buy();
    under.now += DAY;
    const member = await share(original);
    const [shared] = await under.pushed();
    expect(member).not.toBe(original);
    expect(shared).toMatchObject({
      name: "SUBSCRIBED INITIAL_BUY",
      transaction: {
        originalTransactionId: member,
        transactionId: member,
        inAppOwnershipType: "FAMILY_SHARED",
        appTransactionId: "705",
        purchaseDate: under.now,
        expiresDate: Date.UTC(2026, 6, 15, 12),
      },
    });
  });

  test("renewals and changes of the purchase happen to the members too", async () => {
    const original = await buy();
    const member = await share(original);
    await under.pushed();
    await under.moveTo(Date.UTC(2026, 6, 15, 12));
    const pushed = [...(await under.pushed()), ...(await change(original, { change: "cancel" }))];
    expect(pushed.map(({ name, transaction }) => [name, transaction?.originalTransactionId])).toEqual([
      ["DID_RENEW", original],
      ["DID_RENEW", member],
      ["DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", original],
      ["DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", member],
    ]);
    await expect(under.store.change(member, { change: "resume" })).rejects.toThrow(ImpossibleChange);
  });

  test.each(["purchaser", "member"])("no longer shared by the %s: the member's is revoked", async (who) => {
    const original = await buy({ type: "Non-Consumable" });
    const member = await share(original);
    await under.pushed();
    const pushed = await change(who === "member" ? member : original, { change: "unshare" });
    expect(pushed).toMatchObject([
      {
        name: "REVOKE",
        transaction: {
          originalTransactionId: member,
          revocationDate: under.now,
          revocationReason: 0,
          revocationType: "FAMILY_REVOKE",
        },
      },
    ]);
    expect(pushed[0]?.transaction).not.toHaveProperty("revocationPercentage");
    expect((await transactionsOf(original))[0]).not.toHaveProperty("revocationDate");
    await expect(under.store.change(original, { change: "unshare" })).rejects.toThrow(ImpossibleChange);
  });

  test("the purchaser's refund revokes the members', for the same reason", async () => {
    const original = await buy();
    const member = await share(original);
    await under.pushed();
    const pushed = await change(original, { change: "refund", reason: 1 });
    expect(names(pushed).slice(1)).toEqual(["REFUND", "REVOKE"]);
    expect(pushed.at(-1)).toMatchObject({
      body: { data: { status: 5 } },
      transaction: { originalTransactionId: member, revocationReason: 1 },
    });
  });

  test("with oneself nothing is shared", async () => {
    const original = await buy();
    const again = { change: "share-with-family", appTransactionIdentifier: "704" } as const;
    await expect(under.store.change(original, again)).rejects.toThrow(ImpossibleChange);
  });
});

describe("a restore", () => {
  test("makes another transaction id of the same event, and is not told", async () => {
    const original = await buy();
    expect(await change(original, { change: "restore" })).toEqual([]);
    const [first, copy] = await transactionsOf(original);
    expect(copy?.transactionId).not.toBe(first?.transactionId);
    expect(copy).toMatchObject({
      originalTransactionId: original,
      webOrderLineItemId: first?.webOrderLineItemId,
      purchaseDate: NOW,
      expiresDate: first?.expiresDate,
    });
  });

  test("of a non-consumable has the restore's date beside the original's", async () => {
    const original = await buy({ type: "Non-Consumable" });
    await change(original, { change: "restore" });
    expect((await transactionsOf(original))[1]).toMatchObject({
      purchaseDate: under.now,
      originalPurchaseDate: NOW,
    });
  });
});

test("a parent's withdrawal tells the app transaction, and no purchase", async () => {
  const original = await buy();
  const [told] = await change(original, { change: "rescind-consent" });
  expect(told).toMatchObject({
    name: "RESCIND_CONSENT",
    transaction: null,
    body: { appData: { bundleId: "com.example.trails", signedAppTransactionInfo: expect.any(String) } },
  });
  expect(told?.body).not.toHaveProperty("data");
});

test.each([
  ["a refund of what is refunded", [{ change: "refund" }, { change: "refund" }]],
  ["a reversal of no refund", [{ change: "reverse-refund" }]],
  ["a second cancellation", [{ change: "cancel" }, { change: "cancel" }]],
  ["a renewal that is on", [{ change: "resume" }]],
  ["a renewal of a cancelled subscription", [{ change: "cancel" }, { change: "renew" }]],
  ["a recovery of no failure", [{ change: "recover" }]],
  ["a second subscription of the same", [{ change: "resubscribe" }]],
  [
    "an upgrade of what has expired",
    [{ change: "expire" }, { change: "upgrade", productIdentifier: YEARLY }],
  ],
  ["a share of more than there is", [{ change: "refund-partly", refundedQuantity: 1 }]],
  ["a share of nothing", [{ change: "refund-partly" }]],
  ["an unknown transaction", [{ change: "refund", transactionIdentifier: "1" }]],
  ["an end of no sharing", [{ change: "unshare" }]],
] satisfies [string, RequestedChange[]][])("%s is impossible, and changes nothing", async (_, changes) => {
  const original = await buy();
  for (const possible of changes.slice(0, -1)) await under.store.change(original, possible);
  const before = under.store.save();
  const impossible = changes.at(-1) ?? { change: "cancel" };
  await expect(under.store.change(original, impossible)).rejects.toThrow(ImpossibleChange);
  expect(under.store.save()).toBe(before);
});

test("what does not renew has no renewal to change", async () => {
  const original = await buy({ type: "Non-Consumable" });
  for (const kind of ["renew", "cancel", "fail-billing", "extend", "fail-extension"] as const)
    await expect(under.store.change(original, { change: kind })).rejects.toThrow(ImpossibleChange);
  expect(await renewalInfoOf(original)).toBeUndefined();
});
