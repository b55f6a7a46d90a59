import { DAY, HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import { startKit, type Kit } from "../../testing/kit.ts";
import { endOf, subscribersOf, subscriptionManifest, type Subscribers } from "./subscriber.ts";

/** Purchases that are linked once while no store notifies: from then on the service asks. */

let kit: Kit;
let subscribers: Subscribers;
beforeAll(async () => {
  kit = await startKit();
  subscribers = subscribersOf(kit, await kit.application(subscriptionManifest()));
});
afterAll(() => kit?.stop());

const SCHEDULES = [
  "refresh-ios-store-purchases",
  "refresh-android-store-purchases",
  "sweep-android-store-refunds",
];

/** Moves the clock, lets the schedules run at each of these moments, and reads. */
const readAt = async (account: string, ...moments: readonly number[]) => {
  for (const moment of moments) {
    await kit.clock.moveTo(moment);
    for (const schedule of SCHEDULES) await kit.run(schedule);
  }
  return subscribers.read(account);
};

test.each(["onIos", "onAndroid"] as const)("%s: a renewal is found within the leeway", async (subscribe) => {
  const account = `${subscribe} renewal`;
  await subscribers[subscribe](account);
  const end = endOf(await subscribers.read(account));
  const renewed = await readAt(account, end + 10 * SECOND, end + 2 * MINUTE);
  expect(renewed).toMatchObject({ status: "active", willRenew: true });
  expect(endOf(renewed)).toBeGreaterThan(end + 20 * DAY);
});

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
