import { DEMO } from "../../local/demo.ts";
import { startWholeService, type WholeService } from "../support/local-gateway.ts";

/** A purchase is linked once, and no store notifies. From then on the service asks. */

let service: WholeService;

/** Any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const post = async (path: string, body: unknown): Promise<Json> => {
  const response = await fetch(service.address + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.demo.apiKey}` },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
  return response.json();
};

const moveTo = async (moment: number): Promise<void> => {
  await post("/sandbox/clock", { at: new Date(moment).toISOString() });
};
const now = async (): Promise<number> =>
  Date.parse(((await (await fetch(`${service.address}/sandbox/clock`)).json()) as Json).now);

interface Shown {
  readonly status: string;
  readonly active: boolean;
  readonly expiresAt: string | null;
  readonly willRenew: boolean | null;
}

const read = async (account: string): Promise<Shown> => {
  const response = await fetch(`${service.address}/v1/customers/${account}/entitlements`, {
    headers: { Authorization: `Bearer ${service.demo.apiKey}` },
  });
  const { entitlements }: Json = await response.json();
  expect(entitlements).toHaveLength(1);
  return entitlements[0];
};

const endOf = ({ expiresAt }: Shown): number => Date.parse(expiresAt ?? "");

type Change = (change: string, more?: object) => Promise<Json>;

const onIos = async (account: string, transaction: object = {}): Promise<Change> => {
  const bought = await post("/sandbox/ios-store/purchases", {
    applicationAccountIdentifier: account,
    environment: "production",
    transactions: [{ productIdentifier: DEMO.iosSubscription, period: "P1M", ...transaction }],
  });
  const [original] = bought.originalTransactionIdentifiers;
  await post("/v1/customers/ios-store/link", bought);
  return async (change, more = {}) => post(`/sandbox/ios-store/purchases/${original}`, { change, ...more });
};

const onAndroid = async (account: string): Promise<Change> => {
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
};

/** A subscription whose product has no grace period. */
const STORES = {
  "ios-store": async (account: string) => onIos(account, { gracePeriod: null }),
  "android-store": onAndroid,
} as const;
const WITHOUT_GRACE = { "ios-store": {}, "android-store": { gracePeriod: null } } as const;

beforeAll(async () => {
  service = await startWholeService();
  await post("/sandbox/ios-store/notifications", { enabled: false });
  await post("/sandbox/android-publisher/notifications", { enabled: false });
}, 90_000);

afterAll(async () => {
  await service?.stop();
});

/** A move stops at a day's steps and after each event of a store; these tests read between them too. */
const readAt = async (account: string, moment: number): Promise<Shown> => {
  await moveTo(moment);
  return read(account);
};

test.each(["ios-store", "android-store"] as const)(
  "%s: a renewal is caught; a failed payment and its recovery are caught",
  async (store) => {
    const account = `${store} subscriber`;
    const change = await STORES[store](account);
    const end = endOf(await read(account));

    // Nobody who renews is without access, and the renewal is known within the leeway.
    expect(await readAt(account, end + SECOND)).toMatchObject({ active: true });
    const renewed = await readAt(account, end + 10 * MINUTE + 5 * SECOND);
    expect(renewed).toMatchObject({ status: "active", willRenew: true });
    expect(endOf(renewed)).toBeGreaterThan(end + 20 * DAY);

    await change("fail-billing", WITHOUT_GRACE[store]);
    const failed = await readAt(account, endOf(renewed) + 16 * MINUTE);
    expect(["billing_retry", "active"]).toContain(failed.status);
    // Google keeps a payer for its silent day, and then holds the subscription.
    const held = await readAt(account, endOf(renewed) + 3 * DAY);
    expect(held).toMatchObject({ status: "billing_retry", active: false });

    const recoveredAt = await now();
    await change("recover");
    expect(await readAt(account, recoveredAt + DAY + MINUTE)).toMatchObject({
      status: "active",
      active: true,
    });
  },
  120_000,
);

test("android-store: a refund is caught by the hourly list of voided purchases", async () => {
  const account = "refunded by Google";
  const change = await onAndroid(account);
  await moveTo((await now()) + 2 * HOUR);
  await change("revoke");
  expect(await read(account)).toMatchObject({ active: true });
  expect(await readAt(account, (await now()) + HOUR + 10 * MINUTE)).toMatchObject({
    status: "expired",
    active: false,
  });
}, 120_000);

test("ios-store: a refund of a lifetime purchase is caught after a day, and its reversal too", async () => {
  const account = "refunded by Apple";
  const change = await onIos(account, {
    productIdentifier: DEMO.iosNonConsumable,
    type: "Non-Consumable",
    period: undefined,
  });
  await change("refund");
  expect(await read(account)).toMatchObject({ status: "active" });
  const refundedAt = await now();
  expect(await readAt(account, refundedAt + DAY + MINUTE)).toMatchObject({
    status: "revoked",
    active: false,
  });
  await change("reverse-refund");
  expect(await readAt(account, refundedAt + 7 * DAY + MINUTE)).toMatchObject({ status: "active" });
}, 120_000);

test("ios-store: a refund in the middle of a period is caught before its end", async () => {
  const account = "refunded in the middle";
  const change = await onIos(account);
  const end = endOf(await read(account));
  await moveTo((await now()) + 3 * DAY);
  await change("refund");
  expect(await readAt(account, end - 30 * MINUTE)).toMatchObject({ status: "revoked", active: false });
}, 120_000);
