import { DEMO } from "../../local/demo.ts";
import type { WholeService } from "../../testing/support/local-gateway.ts";

/** Any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

/** The one entitlement of an account, as an answer shows it. */
export interface Shown {
  readonly status: string;
  readonly active: boolean;
  readonly expiresAt: string | null;
  readonly willRenew: boolean | null;
  readonly revokedAt: string | null;
}

/** Changes a purchase in its sandbox store. */
export type Change = (change: string, more?: object) => Promise<unknown>;

/** Purchases in the sandbox stores of a whole service, each linked once to an account of its own. */
export interface FollowedPurchases {
  post(path: string, body: unknown): Promise<Json>;
  get(path: string): Promise<Json>;
  now(): Promise<number>;
  /** @returns the time after the move */
  move(to: { readonly at: number } | { readonly advance: string }): Promise<number>;
  /** The account's one entitlement. */
  read(account: string): Promise<Shown>;
  /** Buys on iOS without linking; the answer is a link request. */
  buyOnIos(account: string, transaction?: object): Promise<Json>;
  onIos(account: string, transaction?: object): Promise<Change>;
  onAndroid(account: string): Promise<Change>;
}

export const followPurchases = (service: WholeService): FollowedPurchases => {
  const headers = { Authorization: `Bearer ${service.demo.apiKey}` };
  const post = async (path: string, body: unknown): Promise<Json> => {
    const response = await fetch(service.address + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBeLessThan(300);
    return response.json();
  };
  const get = async (path: string): Promise<Json> =>
    (await fetch(service.address + path, { headers })).json();

  const buyOnIos = async (account: string, transaction: object = {}): Promise<Json> =>
    post("/sandbox/ios-store/purchases", {
      applicationAccountIdentifier: account,
      environment: "production",
      transactions: [{ productIdentifier: DEMO.iosSubscription, period: "P1M", ...transaction }],
    });

  return {
    post,
    get,
    buyOnIos,
    now: async () => Date.parse((await get("/sandbox/clock")).now),
    move: async (to) => {
      const moved = "at" in to ? { at: new Date(to.at).toISOString() } : to;
      return Date.parse((await post("/sandbox/clock", moved)).now);
    },
    read: async (account) => {
      const { entitlements } = await get(`/v1/customers/${account}/entitlements`);
      expect(entitlements).toHaveLength(1);
      return entitlements[0];
    },
    onIos: async (account, transaction) => {
      const bought = await buyOnIos(account, transaction);
      const [original] = bought.originalTransactionIdentifiers;
      await post("/v1/customers/ios-store/link", bought);
      return async (change, more = {}) =>
        post(`/sandbox/ios-store/purchases/${original}`, { change, ...more });
    },
    onAndroid: async (account) => {
      const { purchaseToken } = await post("/sandbox/android-publisher/purchases", {
        packageName: DEMO.packageName,
        productKind: "subscription",
        productIdentifier: DEMO.androidSubscription,
        basePlanIdentifier: DEMO.androidBasePlan,
      });
      await post("/v1/customers/android-store/link", {
        packageName: DEMO.packageName,
        purchaseToken,
        productKind: "subscription",
        applicationAccountIdentifier: account,
      });
      return async (change, more = {}) =>
        post(`/sandbox/android-publisher/purchases/${purchaseToken}`, { change, ...more });
    },
  };
};
