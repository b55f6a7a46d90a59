import { startKit, type Kit } from "../../testing/kit.ts";
import { endOf, subscribersOf, subscriptionManifest, type Subscribers } from "./subscriber.ts";

/** A purchase is linked once. From then on only the stores speak. */

let kit: Kit;
let subscribers: Subscribers;
beforeAll(async () => {
  kit = await startKit({ notifies: true });
  subscribers = subscribersOf(kit, await kit.application(subscriptionManifest()));
});
afterAll(() => kit?.stop());

/** Google says that the subscription is over, and not that it was refunded. */
const STORES = {
  "ios-store": async (account: string) => {
    const change = await subscribers.onIos(account);
    return { change, refund: async () => change({ change: "refund" }), refunded: "revoked" };
  },
  "android-store": async (account: string) => {
    const change = await subscribers.onAndroid(account);
    return { change, refund: async () => change({ change: "revoke" }), refunded: "expired" };
  },
} as const;

test.each(["ios-store", "android-store"] as const)(
  "%s: notifications tell renewal, grace period, retry, recovery and refund",
  async (store) => {
    const read = async () => subscribers.read(store);
    const { change, refund, refunded } = await STORES[store](store);
    expect(await read()).toMatchObject({ status: "active", willRenew: true });

    await kit.clock.advance("P1M");
    const renewed = await read();
    expect(renewed).toMatchObject({ status: "active", willRenew: true });
    expect(endOf(renewed)).toBeGreaterThan(kit.clock.now());

    await change({ change: "fail-billing" });
    await kit.clock.moveTo(endOf(renewed) + 1000);
    const inGrace = await read();
    expect(inGrace).toMatchObject({ status: "grace_period", active: true });
    expect(endOf(inGrace)).toBeGreaterThan(kit.clock.now());

    await kit.clock.moveTo(endOf(inGrace) + 1000);
    expect(await read()).toMatchObject({ status: "billing_retry", active: false });

    await change({ change: "recover" });
    await kit.clock.advance("PT1M");
    expect(await read()).toMatchObject({ status: "active", active: true, willRenew: true });

    await refund();
    await kit.clock.advance("PT1M");
    expect(await read()).toMatchObject({ status: refunded, active: false, willRenew: false });
  },
);

test("a subscription renews for three months, and ends once it is cancelled", async () => {
  const onIos = await subscribers.onIos("ios-renewing");
  const onAndroid = await subscribers.onAndroid("android-renewing");
  const readBoth = async () =>
    Promise.all(["ios-renewing", "android-renewing"].map(async (account) => subscribers.read(account)));
  await kit.clock.advance("P3M");
  for (const shown of await readBoth()) {
    expect(shown).toMatchObject({ status: "active", willRenew: true });
    expect(endOf(shown)).toBeGreaterThan(kit.clock.now());
  }
  await onIos({ change: "cancel" });
  onAndroid({ change: "cancel" });
  await kit.clock.advance("PT1M");
  for (const shown of await readBoth()) expect(shown).toMatchObject({ status: "active", willRenew: false });
  await kit.clock.advance("P1M");
  for (const shown of await readBoth()) expect(shown).toMatchObject({ status: "expired", active: false });
});

test("a refund that is notified before the link counts after it", async () => {
  const purchases = await subscribers.buyOnIos();
  const [original = ""] = purchases.originalTransactionIdentifiers;
  await kit.ios.change(original, { change: "refund" });
  await subscribers.linkOnIos(purchases, "late");
  expect(await subscribers.read("late")).toMatchObject({ status: "revoked", active: false });
});
