import { DAY, HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { startKit, type Kit } from "../../testing/kit.ts";
import { endOf, subscribersOf, subscriptionManifest, type Subscribers } from "./subscriber.ts";

/** A purchase is linked once, and no store notifies. From then on the service asks. */

let kit: Kit;
let subscribers: Subscribers;
beforeAll(async () => {
  kit = await startKit();
  subscribers = subscribersOf(kit, await kit.application(subscriptionManifest()));
});
afterAll(() => kit?.stop());

/** The schedules that ask the stores. */
const ask = async (): Promise<void> => {
  await kit.run("refresh-ios-store-purchases");
  await kit.run("refresh-android-store-purchases");
  await kit.run("sweep-android-store-refunds");
};

/** Moves the clock, lets the schedules run at each of these moments, and reads. */
const readAt = async (account: string, ...moments: readonly number[]): Promise<CustomerEntitlement> => {
  for (const moment of moments) {
    await kit.clock.moveTo(moment);
    await ask();
  }
  return subscribers.read(account);
};

/** A subscription whose product has no grace period. */
const STORES = {
  "ios-store": async (account: string) => {
    const change = await subscribers.onIos(account, { gracePeriod: null });
    return {
      fail: async () => change({ change: "fail-billing" }),
      recover: async () => change({ change: "recover" }),
    };
  },
  "android-store": async (account: string) => {
    const change = await subscribers.onAndroid(account);
    return {
      fail: async () => change({ change: "fail-billing", gracePeriod: null }),
      recover: async () => change({ change: "recover" }),
    };
  },
} as const;

test.each(["ios-store", "android-store"] as const)(
  "%s: a renewal, a failed payment and its recovery are found",
  async (store) => {
    const account = `${store} subscriber`;
    const { fail, recover } = await STORES[store](account);
    const end = endOf(await subscribers.read(account));

    // Nobody who renews is without access, and the renewal is known within the leeway.
    expect(await readAt(account, end + SECOND)).toMatchObject({ active: true });
    const renewed = await readAt(account, end + 10 * SECOND, end + 2 * MINUTE, end + 10 * MINUTE);
    expect(renewed).toMatchObject({ status: "active", willRenew: true });
    expect(endOf(renewed)).toBeGreaterThan(end + 20 * DAY);

    await fail();
    const next = endOf(renewed);
    const failed = await readAt(account, next + 10 * SECOND, next + 2 * MINUTE, next + 16 * MINUTE);
    expect(failed.status).toBe("billing_retry");
    const held = await readAt(account, next + DAY, next + 3 * DAY);
    expect(held).toMatchObject({ status: "billing_retry", active: false });

    const recoveredAt = kit.clock.now();
    await recover();
    expect(await readAt(account, recoveredAt + DAY + MINUTE)).toMatchObject({
      status: "active",
      active: true,
    });
  },
);

test("ios-store: a grace period before the link is known in minutes", async () => {
  const account = "in grace when first linked";
  const purchases = await subscribers.buyOnIos({ gracePeriod: "P16D" });
  const [original = ""] = purchases.originalTransactionIdentifiers;
  await kit.ios.change(original, { change: "fail-billing" });
  await kit.clock.moveTo(kit.clock.now() + 32 * DAY + 7 * HOUR);
  await subscribers.linkOnIos({ ...purchases, signedRenewalInfos: [] }, account);
  expect(await readAt(account, kit.clock.now() + 2 * MINUTE)).toMatchObject({
    status: "grace_period",
    active: true,
    willRenew: true,
  });
});

test("android-store: the hourly list of voided purchases shows a refund", async () => {
  const account = "refunded by Google";
  const change = await subscribers.onAndroid(account);
  await readAt(account, kit.clock.now() + 2 * HOUR);
  change({ change: "revoke" });
  expect(await subscribers.read(account)).toMatchObject({ active: true });
  expect(await readAt(account, kit.clock.now() + HOUR + 10 * MINUTE)).toMatchObject({
    status: "expired",
    active: false,
  });
});

test("ios-store: a lifetime purchase's refund is found within a day", async () => {
  const account = "refunded by Apple";
  const change = await subscribers.onIos(account, {
    productIdentifier: "lifetime",
    type: "Non-Consumable",
    period: undefined,
  });
  await change({ change: "refund" });
  expect(await subscribers.read(account)).toMatchObject({ status: "active" });
  const refundedAt = kit.clock.now();
  expect(await readAt(account, refundedAt + DAY + MINUTE)).toMatchObject({
    status: "revoked",
    active: false,
  });
  await change({ change: "reverse-refund" });
  expect(await readAt(account, refundedAt + 7 * DAY + MINUTE)).toMatchObject({ status: "active" });
});

test("ios-store: a refund within a period is found before its end", async () => {
  const account = "refunded in the middle";
  const change = await subscribers.onIos(account);
  const end = endOf(await subscribers.read(account));
  await readAt(account, kit.clock.now() + 3 * DAY);
  await change({ change: "refund" });
  expect(await readAt(account, end - HOUR, end - 30 * MINUTE)).toMatchObject({
    status: "revoked",
    active: false,
  });
});
