import { DAY, HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import { startAsking, type Asking } from "./asking.ts";
import { endOf } from "./subscriber.ts";

let asking: Asking;
beforeAll(async () => {
  asking = await startAsking();
});
afterAll(() => asking?.kit.stop());

test.each(["onIos", "onAndroid"] as const)("%s: a renewal is found within the leeway", async (subscribe) => {
  const account = `${subscribe} renewal`;
  await asking.subscribers[subscribe](account);
  const end = endOf(await asking.subscribers.read(account));
  const renewed = await asking.readAt(account, end + 10 * SECOND, end + 2 * MINUTE);
  expect(renewed).toMatchObject({ status: "active", willRenew: true });
  expect(endOf(renewed)).toBeGreaterThan(end + 20 * DAY);
});

test("ios-store: a grace period before the link is known in minutes", async () => {
  const account = "in grace when first linked";
  const purchases = await asking.subscribers.buyOnIos({ gracePeriod: "P16D" });
  const [original = ""] = purchases.originalTransactionIdentifiers;
  await asking.kit.ios.change(original, { change: "fail-billing" });
  await asking.kit.clock.moveTo(asking.kit.clock.now() + 32 * DAY + 7 * HOUR);
  await asking.subscribers.linkOnIos({ ...purchases, signedRenewalInfos: [] }, account);
  expect(await asking.readAt(account, asking.kit.clock.now() + 2 * MINUTE)).toMatchObject({
    status: "grace_period",
    active: true,
    willRenew: true,
  });
});

test("android-store: the hourly list of voided purchases shows a refund", async () => {
  const account = "refunded by Google";
  const change = await asking.subscribers.onAndroid(account);
  await asking.readAt(account, asking.kit.clock.now() + 2 * HOUR);
  change({ change: "revoke" });
  expect(await asking.subscribers.read(account)).toMatchObject({ active: true });
  expect(await asking.readAt(account, asking.kit.clock.now() + HOUR + 10 * MINUTE)).toMatchObject({
    status: "expired",
    active: false,
  });
});

test("ios-store: a refund within a period is found before its end", async () => {
  const account = "refunded in the middle";
  const change = await asking.subscribers.onIos(account);
  const end = endOf(await asking.subscribers.read(account));
  await asking.readAt(account, asking.kit.clock.now() + 3 * DAY);
  await change({ change: "refund" });
  expect(await asking.readAt(account, end - HOUR, end - 30 * MINUTE)).toMatchObject({
    status: "revoked",
    active: false,
  });
});
