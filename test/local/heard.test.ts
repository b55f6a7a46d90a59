import { DEMO } from "../../local/demo.ts";
import { startWholeService, type WholeService } from "../support/local-gateway.ts";

/** A purchase is linked once. From then on only the stores speak. */

let service: WholeService;

beforeAll(async () => {
  service = await startWholeService();
}, 90_000);

afterAll(async () => {
  await service?.stop();
});

/** Any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

const post = async (path: string, body: unknown, apiKey = ""): Promise<Json> => {
  const response = await fetch(service.address + path, {
    method: "POST",
    headers: apiKey === "" ? {} : { Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
  return response.json();
};

const move = async (body: object): Promise<number> => Date.parse((await post("/sandbox/clock", body)).now);

interface Shown {
  readonly status: string;
  readonly active: boolean;
  readonly expiresAt: string;
  readonly willRenew: boolean | null;
  readonly revokedAt: string | null;
}

const read = async (account: string): Promise<Shown> => {
  const response = await fetch(`${service.address}/v1/customers/${account}/entitlements`, {
    headers: { Authorization: `Bearer ${service.demo.apiKey}` },
  });
  const { entitlements }: Json = await response.json();
  expect(entitlements).toHaveLength(1);
  return entitlements[0];
};

const ios = async (account: string) => {
  const bought = await post("/sandbox/ios-store/purchases", {
    applicationAccountIdentifier: account,
    transactions: [{ productIdentifier: DEMO.iosSubscription, period: "P1M" }],
  });
  const [original] = bought.originalTransactionIdentifiers;
  await post("/v1/customers/ios-store/link", bought, service.demo.apiKey);
  return async (change: string) => post(`/sandbox/ios-store/purchases/${original}`, { change });
};

const android = async (account: string) => {
  const { purchaseToken } = await post("/sandbox/android-publisher/purchases", {
    packageName: DEMO.packageName,
    productKind: "subscription",
    productIdentifier: DEMO.androidSubscription,
    basePlanIdentifier: DEMO.androidBasePlan,
  });
  await post(
    "/v1/customers/android-store/link",
    {
      packageName: DEMO.packageName,
      purchaseToken,
      productKind: "subscription",
      applicationAccountIdentifier: account,
    },
    service.demo.apiKey,
  );
  return async (change: string) => post(`/sandbox/android-publisher/purchases/${purchaseToken}`, { change });
};

const STORES = {
  "ios-store": { buy: ios, refund: "refund", refunded: "revoked" },
  // Google says that the subscription is over, and not that it was refunded.
  "android-store": { buy: android, refund: "revoke", refunded: "expired" },
} as const;

test.each(["ios-store", "android-store"] as const)(
  "%s: a purchase that is linked once is followed through renewal, grace period, retry, recovery and refund",
  async (store) => {
    const { buy, refund, refunded } = STORES[store];
    const change = await buy(store);
    const first = await read(store);
    expect(first).toMatchObject({ status: "active", willRenew: true });

    const renewed = await move({ advance: "P1M" });
    const second = await read(store);
    expect(second).toMatchObject({ status: "active", willRenew: true });
    expect(Date.parse(second.expiresAt)).toBeGreaterThan(renewed);

    await change("fail-billing");
    const failed = await move({ at: new Date(Date.parse(second.expiresAt) + 1000).toISOString() });
    const inGrace = await read(store);
    expect(inGrace).toMatchObject({ status: "grace_period", active: true });
    expect(Date.parse(inGrace.expiresAt)).toBeGreaterThan(failed);

    await move({ at: new Date(Date.parse(inGrace.expiresAt) + 1000).toISOString() });
    expect(await read(store)).toMatchObject({ status: "billing_retry", active: false });

    await change("recover");
    expect(await read(store)).toMatchObject({ status: "active", active: true, willRenew: true });

    await change(refund);
    expect(await read(store)).toMatchObject({ status: refunded, active: false, willRenew: false });
  },
  120_000,
);

test("a subscription renews for a year without a link, and ends once it is cancelled", async () => {
  const changes = await Promise.all([ios("ios-year"), android("android-year")]);
  const later = await move({ advance: "P1Y" });
  for (const account of ["ios-year", "android-year"]) {
    const shown = await read(account);
    expect(shown).toMatchObject({ status: "active", willRenew: true });
    expect(Date.parse(shown.expiresAt)).toBeGreaterThan(later);
  }
  for (const change of changes) await change("cancel");
  for (const account of ["ios-year", "android-year"])
    expect(await read(account)).toMatchObject({ status: "active", willRenew: false });
  await move({ advance: "P1M" });
  for (const account of ["ios-year", "android-year"])
    expect(await read(account)).toMatchObject({ status: "expired", active: false });
}, 120_000);

test("a refund that is told before anybody linked the purchase counts after the link", async () => {
  const bought = await post("/sandbox/ios-store/purchases", {
    applicationAccountIdentifier: "late",
    transactions: [{ productIdentifier: DEMO.iosSubscription, period: "P1M" }],
  });
  await post(`/sandbox/ios-store/purchases/${bought.originalTransactionIdentifiers[0]}`, {
    change: "refund",
  });
  await post("/v1/customers/ios-store/link", bought, service.demo.apiKey);
  expect(await read("late")).toMatchObject({ status: "revoked", active: false });
});
