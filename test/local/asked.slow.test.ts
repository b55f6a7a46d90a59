import { DEMO } from "../../local/demo.ts";
import { followPurchases, type FollowedPurchases, type Shown } from "../support/followed-purchases.ts";
import { startWholeService, type WholeService } from "../../testing/support/local-gateway.ts";

/** A purchase is linked once, and no store notifies. From then on the service asks. */

let service: WholeService;
let followed: FollowedPurchases;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const endOf = ({ expiresAt }: Shown): number => Date.parse(expiresAt ?? "");

/** A subscription whose product has no grace period. */
const STORES = {
  "ios-store": async (account: string) => followed.onIos(account, { gracePeriod: null }),
  "android-store": async (account: string) => followed.onAndroid(account),
} as const;
const WITHOUT_GRACE = { "ios-store": {}, "android-store": { gracePeriod: null } } as const;

beforeAll(async () => {
  service = await startWholeService();
  followed = followPurchases(service);
  await followed.post("/sandbox/ios-store/notifications", { enabled: false });
  await followed.post("/sandbox/android-publisher/notifications", { enabled: false });
}, 90_000);

afterAll(async () => {
  await service?.stop();
});

/** A move stops at a day's steps and after each event of a store; these tests read between them too. */
const readAt = async (account: string, moment: number): Promise<Shown> => {
  await followed.move({ at: moment });
  return followed.read(account);
};

test.each(["ios-store", "android-store"] as const)(
  "%s: a renewal is caught; a failed payment and its recovery are caught",
  async (store) => {
    const account = `${store} subscriber`;
    const change = await STORES[store](account);
    const end = endOf(await followed.read(account));

    // Nobody who renews is without access, and the renewal is known within the leeway.
    expect(await readAt(account, end + SECOND)).toMatchObject({ active: true });
    const renewed = await readAt(account, end + 10 * MINUTE + 5 * SECOND);
    expect(renewed).toMatchObject({ status: "active", willRenew: true });
    expect(endOf(renewed)).toBeGreaterThan(end + 20 * DAY);

    await change("fail-billing", WITHOUT_GRACE[store]);
    const failed = await readAt(account, endOf(renewed) + 16 * MINUTE);
    expect(failed.status).toBe("billing_retry");
    const held = await readAt(account, endOf(renewed) + 3 * DAY);
    expect(held).toMatchObject({ status: "billing_retry", active: false });

    const recoveredAt = await followed.now();
    await change("recover");
    expect(await readAt(account, recoveredAt + DAY + MINUTE)).toMatchObject({
      status: "active",
      active: true,
    });
  },
  120_000,
);

test("ios-store: a grace period that ran before anybody showed the subscription is known within two minutes", async () => {
  const account = "in grace when first linked";
  const [original] = (await followed.buyOnIos(account, { gracePeriod: "P16D" }))
    .originalTransactionIdentifiers;
  const path = `/sandbox/ios-store/purchases/${original}`;
  await followed.post(path, { change: "fail-billing" });
  await followed.move({ at: (await followed.now()) + 32 * DAY + 7 * HOUR });
  const { signedAppTransaction, signedTransactions } = await followed.get(path);
  const transactions = { signedAppTransaction, signedTransactions, applicationAccountIdentifier: account };
  await followed.post("/v1/customers/ios-store/link", transactions);
  expect(await readAt(account, (await followed.now()) + 2 * MINUTE)).toMatchObject({
    status: "grace_period",
    active: true,
    willRenew: true,
  });
}, 120_000);

test("android-store: a refund is caught by the hourly list of voided purchases", async () => {
  const account = "refunded by Google";
  const change = await followed.onAndroid(account);
  await followed.move({ at: (await followed.now()) + 2 * HOUR });
  await change("revoke");
  expect(await followed.read(account)).toMatchObject({ active: true });
  expect(await readAt(account, (await followed.now()) + HOUR + 10 * MINUTE)).toMatchObject({
    status: "expired",
    active: false,
  });
}, 120_000);

test("ios-store: a refund of a lifetime purchase is caught after a day, and its reversal too", async () => {
  const account = "refunded by Apple";
  const change = await followed.onIos(account, {
    productIdentifier: DEMO.iosNonConsumable,
    type: "Non-Consumable",
    period: undefined,
  });
  await change("refund");
  expect(await followed.read(account)).toMatchObject({ status: "active" });
  const refundedAt = await followed.now();
  expect(await readAt(account, refundedAt + DAY + MINUTE)).toMatchObject({
    status: "revoked",
    active: false,
  });
  await change("reverse-refund");
  expect(await readAt(account, refundedAt + 7 * DAY + MINUTE)).toMatchObject({ status: "active" });
}, 120_000);

test("ios-store: a refund in the middle of a period is caught before its end", async () => {
  const account = "refunded in the middle";
  const change = await followed.onIos(account);
  const end = endOf(await followed.read(account));
  await followed.move({ at: (await followed.now()) + 3 * DAY });
  await change("refund");
  expect(await readAt(account, end - 30 * MINUTE)).toMatchObject({ status: "revoked", active: false });
}, 120_000);
