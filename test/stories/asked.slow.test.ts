import { DAY, MINUTE, SECOND } from "../../lib/duration.ts";
import { startAsking, type Asking } from "./asking.ts";
import { endOf } from "./subscriber.ts";

let asking: Asking;
beforeAll(async () => {
  asking = await startAsking();
});
afterAll(() => asking?.kit.stop());

test.each(["ios-store", "android-store"] as const)(
  "%s: a renewal, a failed payment and its recovery are found",
  async (store) => {
    const account = `${store} subscriber`;
    const { fail, recover } = await asking.subscribe[store](account);
    const end = endOf(await asking.subscribers.read(account));

    // Nobody who renews is without access, and the renewal is known within the leeway.
    expect(await asking.readAt(account, end + SECOND)).toMatchObject({ active: true });
    const renewed = await asking.readAt(account, end + 10 * SECOND, end + 2 * MINUTE, end + 10 * MINUTE);
    expect(renewed).toMatchObject({ status: "active", willRenew: true });
    expect(endOf(renewed)).toBeGreaterThan(end + 20 * DAY);

    await fail();
    const next = endOf(renewed);
    const failed = await asking.readAt(account, next + 10 * SECOND, next + 2 * MINUTE, next + 16 * MINUTE);
    expect(failed.status).toBe("billing_retry");
    const held = await asking.readAt(account, next + DAY, next + 3 * DAY);
    expect(held).toMatchObject({ status: "billing_retry", active: false });

    const recoveredAt = asking.kit.clock.now();
    await recover();
    expect(await asking.readAt(account, recoveredAt + DAY + MINUTE)).toMatchObject({
      status: "active",
      active: true,
    });
  },
);

test("ios-store: a lifetime purchase's refund is found within a day", async () => {
  const account = "refunded by Apple";
  const change = await asking.subscribers.onIos(account, {
    productIdentifier: "lifetime",
    type: "Non-Consumable",
    period: undefined,
  });
  await change({ change: "refund" });
  expect(await asking.subscribers.read(account)).toMatchObject({ status: "active" });
  const refundedAt = asking.kit.clock.now();
  expect(await asking.readAt(account, refundedAt + DAY + MINUTE)).toMatchObject({
    status: "revoked",
    active: false,
  });
  await change({ change: "reverse-refund" });
  expect(await asking.readAt(account, refundedAt + 7 * DAY + MINUTE)).toMatchObject({ status: "active" });
});
