import { v7 as uuid } from "uuid";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import type { RequestedAndroidChange } from "../../sandbox/android-store/shop/requests.ts";
import type { RequestedChange } from "../../sandbox/ios-store/shop/requests.ts";
import type { PersonsPurchases } from "../../sandbox/ios-store/shop/payloads.ts";
import type { Kit } from "../../testing/kit.ts";
import type { IosGoods, TestApplication } from "../../testing/application.ts";

/** Manifest of an application that sells a monthly subscription in both stores, and asks both. */
export const subscriptionManifest = () => {
  const name = `com.example.s${uuid().replaceAll("-", "")}`;
  const serverApi = {
    issuerIdentifier: "57246542-96fe-1a63-e053-0824d011072a",
    keyIdentifier: "2X9R4HXF34",
    secret: "sandbox/app-store-key",
  };
  return {
    application: { name },
    stores: {
      "ios-store": [{ bundleIdentifier: name, appAppleIdentifier: 1_234_567_890, serverApi }],
      "android-store": [{ packageName: name, credential: { secret: "replaced" } }],
    },
    entitlements: { premium: {} },
    products: [
      { store: "ios-store", productIdentifier: "monthly", grants: ["premium"] },
      { store: "ios-store", productIdentifier: "lifetime", grants: ["premium"] },
      {
        store: "android-store",
        productIdentifier: "premium",
        basePlanIdentifier: "monthly",
        grants: ["premium"],
      },
    ],
  };
};

/** Purchases in the kit's stores, each linked once to an account of its own. */
export const subscribersOf = (kit: Kit, app: TestApplication) => {
  const { key, bundleIdentifier, packageName } = app;
  /** Buys on iOS in production, without a link. */
  const buyOnIos = async (goods: Partial<IosGoods> = {}) =>
    kit.ios.buy({
      bundleIdentifier,
      appAppleIdentifier: 1_234_567_890,
      environment: "production",
      transactions: [{ productIdentifier: "monthly", period: "P1M", ...goods }],
    });
  const linkOnIos = async (purchases: PersonsPurchases, account: string): Promise<void> => {
    const body = { ...purchases, applicationAccountIdentifier: account };
    expect(await kit.call("linkIosStoreCustomer", { key, body })).toMatchObject({ status: 200 });
  };
  return {
    buyOnIos,
    linkOnIos,
    /** @returns changes the purchase in its store */
    onIos: async (account: string) => {
      const purchases = await buyOnIos();
      await linkOnIos(purchases, account);
      const [original = ""] = purchases.originalTransactionIdentifiers;
      return async (change: RequestedChange) => kit.ios.change(original, change);
    },
    onAndroid: async (account: string) => {
      const purchaseToken = app.buyOnAndroid();
      const link = { packageName, purchaseToken, productKind: "subscription" };
      const body = { ...link, applicationAccountIdentifier: account };
      expect(await kit.call("linkAndroidStoreCustomer", { key, body })).toMatchObject({ status: 200 });
      return (change: RequestedAndroidChange) => void kit.android.change(purchaseToken, change);
    },
    /** The account's one entitlement. */
    read: async (account: string): Promise<CustomerEntitlement> => {
      const path = { applicationAccountIdentifier: account };
      const { body } = await kit.call("readAccountEntitlements", { key, path });
      const [shown, ...others] = body.entitlements ?? [];
      if (shown === undefined || others.length > 0) throw new Error("There is not one entitlement.");
      return shown;
    },
  };
};
export type Subscribers = ReturnType<typeof subscribersOf>;

/** End of an entitlement's access, in milliseconds since 1970. */
export const endOf = ({ expiresAt }: CustomerEntitlement): number => Date.parse(expiresAt ?? "");
