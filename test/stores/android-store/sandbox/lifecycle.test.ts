import type { AndroidChange, ChangeDetails } from "../../../../sandbox/android-store/shop/changes.ts";
import { ImpossibleChange } from "../../../../sandbox/impossible-change.ts";
import { isoTime } from "../../../../lib/entitlements/time.ts";
import { DAY, NOW, PACKAGE_NAME } from "../../../../testing/support/android-store.ts";
import { startTimedAndroidStore, type TimedAndroidStore } from "./timed-android-store.ts";

const MINUTE = 60_000;
/** End of the first month. */
const FEBRUARY = Date.UTC(2026, 1, 15, 12);
const MARCH = Date.UTC(2026, 2, 15, 12);

let timed: TimedAndroidStore;
beforeEach(async () => {
  timed = await startTimedAndroidStore();
});
afterEach(() => timed.close());

/** A monthly subscription that is acknowledged; its purchase is told already. */
const subscribe = async (purchase: Parameters<TimedAndroidStore["buy"]>[0] = {}): Promise<string> => {
  const token = timed.buy(purchase);
  await timed.acknowledge(token);
  await timed.told();
  return token;
};

const change = (token: string, change: AndroidChange, details?: ChangeDetails): string =>
  timed.sandbox.change(token, change, details);

const answerOf = (token: string) => {
  const stored = timed.sandbox.read(token);
  if (stored?.productKind !== "subscription") throw new Error("There is no such subscription.");
  return stored.answer;
};
const stateOf = (token: string) => answerOf(token).subscriptionState?.replace("SUBSCRIPTION_STATE_", "");
const endOf = (token: string, line = 0) => answerOf(token).lineItems?.[line]?.expiryTime;

describe("renewals", () => {
  test("a subscription renews at the end of each period, with an order", async () => {
    const token = timed.buy();
    await timed.acknowledge(token);
    const orders = new Set<unknown>();
    for (let month = 1; month <= 12; month += 1) {
      await timed.advanceTo(Date.UTC(2026, month, 15, 12));
      orders.add(answerOf(token).lineItems?.[0]?.latestSuccessfulOrderId);
      expect(endOf(token)).toBe(isoTime(Date.UTC(2026, month + 1, 15, 12)));
      expect(await timed.standing(token)).toBe("entitled");
    }
    expect(orders.size).toBe(12);
    expect(await timed.told()).toEqual(["PURCHASED", ...Array.from({ length: 12 }, () => "RENEWED")]);
    expect(timed.pushes.map(({ notification }) => Number(notification["eventTimeMillis"]))).toEqual(
      Array.from({ length: 13 }, (_, month) => Date.UTC(2026, month, 15, 12)),
    );
  });

  test("a renewal on the 31st moves to the 28th, and stays there", async () => {
    timed.clock.now = Date.UTC(2026, 0, 31);
    const token = await subscribe();
    expect(endOf(token)).toBe(isoTime(Date.UTC(2026, 1, 28)));
    await timed.advanceTo(Date.UTC(2026, 2, 1));
    expect(endOf(token)).toBe(isoTime(Date.UTC(2026, 2, 28)));
  });

  test("a renewal asked for uses the subscription's own period", async () => {
    const token = await subscribe({ period: "P1Y" });
    change(token, "renew");
    expect(endOf(token)).toBe(isoTime(Date.UTC(2028, 0, 15, 12)));
    expect(await timed.told()).toEqual(["RENEWED"]);
  });

  test("nothing happens one millisecond before an end", async () => {
    const token = await subscribe();
    expect(timed.sandbox.nextEventAt()).toBe(FEBRUARY);
    const before = JSON.stringify(answerOf(token));
    await timed.advanceTo(FEBRUARY - 1);
    expect(JSON.stringify(answerOf(token))).toBe(before);
    await timed.advanceTo(FEBRUARY);
    expect(endOf(token)).toBe(isoTime(MARCH));
  });

  test("a purchase put as a raw answer never changes by itself", async () => {
    const token = await subscribe();
    const stored = timed.sandbox.read(token);
    if (stored === undefined) throw new Error("There is no such purchase.");
    timed.sandbox.put(token, stored);
    expect(timed.sandbox.nextEventAt()).toBeNull();
    await timed.advanceTo(NOW + 400 * DAY);
    expect(timed.sandbox.read(token)).toEqual(stored);
    expect(await timed.told()).toEqual([]);
  });

  test("a cancelled subscription expires at its end, and goes 60 days later", async () => {
    const token = await subscribe();
    change(token, "cancel");
    await timed.advanceTo(FEBRUARY - 1);
    expect(stateOf(token)).toBe("CANCELED");
    await timed.advanceTo(FEBRUARY);
    expect(await timed.standing(token)).toBe("expired");
    expect(answerOf(token).canceledStateContext).toHaveProperty("userInitiatedCancellation");
    await timed.advanceTo(FEBRUARY + 60 * DAY - 1);
    expect(await timed.standing(token)).toBe("expired");
    await timed.advanceTo(FEBRUARY + 60 * DAY);
    expect(await timed.standing(token)).toBe("gone");
    expect(await timed.told()).toEqual(["CANCELED", "EXPIRED"]);
    expect(timed.sandbox.nextEventAt()).toBeNull();
  });

  test("a cancellation taken back renews again; after the end it cannot be", async () => {
    const token = await subscribe();
    change(token, "cancel");
    change(token, "restart");
    expect(answerOf(token)).not.toHaveProperty("canceledStateContext");
    await timed.advanceTo(FEBRUARY);
    expect(await timed.told()).toEqual(["CANCELED", "RESTARTED", "RENEWED"]);
    change(token, "cancel");
    await timed.advanceTo(MARCH);
    expect(() => change(token, "restart")).toThrow("not possible");
  });

  test("a deferred renewal comes later, and the next ones count from it", async () => {
    const token = await subscribe();
    change(token, "defer", { period: "P1W" });
    expect(endOf(token)).toBe(isoTime(FEBRUARY + 7 * DAY));
    await timed.advanceTo(FEBRUARY + 7 * DAY);
    expect(endOf(token)).toBe(isoTime(Date.UTC(2026, 2, 22, 12)));
    expect(await timed.told()).toEqual(["DEFERRED", "RENEWED"]);
  });
});

describe("failed payments", () => {
  test("the silent day, grace, the hold and the end follow each other", async () => {
    const token = await subscribe({ silentPeriod: "P1D" });
    change(token, "fail-billing");
    await timed.advanceTo(FEBRUARY);
    expect([stateOf(token), endOf(token)]).toEqual(["ACTIVE", isoTime(FEBRUARY)]);
    expect(await timed.told()).toEqual([]);
    await timed.advanceTo(FEBRUARY + DAY);
    expect([stateOf(token), endOf(token)]).toEqual(["IN_GRACE_PERIOD", isoTime(FEBRUARY + 4 * DAY)]);
    expect(await timed.standing(token)).toBe("grace_period");
    await timed.advanceTo(FEBRUARY + 4 * DAY);
    expect([stateOf(token), endOf(token)]).toEqual(["ON_HOLD", isoTime(FEBRUARY + 4 * DAY)]);
    expect(await timed.standing(token)).toBe("billing_retry");
    await timed.advanceTo(FEBRUARY + 34 * DAY);
    expect([stateOf(token), endOf(token)]).toEqual(["EXPIRED", isoTime(FEBRUARY + 4 * DAY)]);
    expect(answerOf(token).canceledStateContext).toEqual({ systemInitiatedCancellation: {} });
    expect(await timed.told()).toEqual(["IN_GRACE_PERIOD", "ON_HOLD", "CANCELED", "EXPIRED"]);
    await timed.advanceTo(FEBRUARY + 94 * DAY);
    expect(await timed.standing(token)).toBe("gone");
  });

  test.each<[ChangeDetails, string[]]>([
    [{ gracePeriod: null }, ["ON_HOLD", "CANCELED", "EXPIRED"]],
    [{ accountHold: null }, ["IN_GRACE_PERIOD", "CANCELED", "EXPIRED"]],
    [{ gracePeriod: null, accountHold: null }, ["CANCELED", "EXPIRED"]],
    [{ silentPeriod: "P2D", gracePeriod: null, accountHold: null }, ["CANCELED", "EXPIRED"]],
  ])("with %j are told as %j", async (details, expected) => {
    const token = await subscribe();
    change(token, "fail-billing", details);
    await timed.advanceTo(FEBRUARY + 50 * DAY);
    expect(await timed.told()).toEqual(expected);
    expect(stateOf(token)).toBe("EXPIRED");
  });

  test.each([
    ["in the silent day", "P2D", FEBRUARY + DAY, "RENEWED", MARCH],
    ["in grace", null, FEBRUARY + DAY, "RENEWED", MARCH],
    ["on hold", null, FEBRUARY + 10 * DAY, "RECOVERED", Date.UTC(2026, 2, 25, 12)],
  ])("that recover %s begin a new period", async (_, silentPeriod, at, expected, end) => {
    const token = await subscribe({ silentPeriod });
    change(token, "fail-billing");
    await timed.advanceTo(at);
    await timed.told();
    change(token, "recover");
    expect([stateOf(token), endOf(token)]).toEqual(["ACTIVE", isoTime(end)]);
    expect(await timed.told()).toEqual([expected]);
    await timed.advanceTo(end);
    expect(await timed.told()).toEqual(["RENEWED"]);
    expect(answerOf(token)).not.toHaveProperty("onHoldStateContext");
  });

  test("that recover before the end are not told", async () => {
    const token = await subscribe();
    change(token, "fail-billing");
    change(token, "recover");
    await timed.advanceTo(FEBRUARY);
    expect(await timed.told()).toEqual(["RENEWED"]);
    expect(() => change(token, "recover")).toThrow("No payment fails");
  });

  test("that begin now go on by themselves", async () => {
    const [graced, held] = [await subscribe(), await subscribe()];
    change(graced, "grace", { period: "P1D" });
    change(held, "hold");
    await timed.told();
    await timed.advanceTo(NOW + DAY);
    expect(await timed.told()).toEqual(["ON_HOLD"]);
    await timed.advanceTo(NOW + 31 * DAY);
    expect([stateOf(graced), stateOf(held)]).toEqual(["EXPIRED", "EXPIRED"]);
  });

  test("a subscription cancelled on hold expires at once", async () => {
    const token = await subscribe();
    change(token, "hold");
    await timed.advanceTo(NOW + DAY);
    change(token, "cancel");
    await timed.advanceTo(NOW + DAY);
    expect(await timed.told()).toEqual(["ON_HOLD", "CANCELED", "EXPIRED"]);
    expect(timed.pushes.at(-1)?.notification["eventTimeMillis"]).toBe(String(NOW + DAY));
  });
});

describe("pauses", () => {
  test("a scheduled pause begins at the period's end and ends by itself", async () => {
    const token = await subscribe();
    change(token, "schedule-pause", { period: "P1M" });
    expect(stateOf(token)).toBe("ACTIVE");
    await timed.advanceTo(FEBRUARY);
    expect(await timed.standing(token)).toBe("paused");
    expect(answerOf(token).pausedStateContext).toEqual({ autoResumeTime: isoTime(MARCH) });
    await timed.advanceTo(MARCH);
    expect([stateOf(token), endOf(token)]).toEqual(["ACTIVE", isoTime(Date.UTC(2026, 3, 15, 12))]);
    expect(answerOf(token)).not.toHaveProperty("pausedStateContext");
    expect(await timed.told()).toEqual(["PAUSE_SCHEDULE_CHANGED", "PAUSED", "RECOVERED"]);
  });

  test("a pause that the user ends begins a new period then", async () => {
    const token = await subscribe();
    change(token, "pause");
    await timed.advanceTo(NOW + 3 * DAY);
    change(token, "resume");
    expect(endOf(token)).toBe(isoTime(Date.UTC(2026, 1, 18, 12)));
    expect(await timed.told()).toEqual(["PAUSED", "RECOVERED"]);
  });

  test("a pause taken back before it begins renews instead", async () => {
    const token = await subscribe();
    change(token, "schedule-pause");
    change(token, "resume");
    await timed.advanceTo(FEBRUARY);
    expect(await timed.told()).toEqual(["PAUSE_SCHEDULE_CHANGED", "PAUSE_SCHEDULE_CHANGED", "RENEWED"]);
  });

  test("a pause that ends without payment leads to a hold, without grace", async () => {
    const token = await subscribe();
    change(token, "pause");
    change(token, "fail-billing");
    await timed.advanceTo(FEBRUARY);
    expect(await timed.told()).toEqual(["PAUSED", "ON_HOLD"]);
  });
});

describe("replacements", () => {
  test("at once: the new token names the old one, which is over", async () => {
    const older = await subscribe();
    const newer = change(older, "replace", { productIdentifier: "pro", period: "P1Y" });
    expect(answerOf(newer)).toMatchObject({ linkedPurchaseToken: older, lineItems: [{ productId: "pro" }] });
    expect(stateOf(older)).toBe("EXPIRED");
    expect(answerOf(older).canceledStateContext).toEqual({ replacementCancellation: {} });
    expect(await timed.told()).toEqual(["PURCHASED", "EXPIRED"]);
    await timed.acknowledge(newer);
    await timed.advanceTo(Date.UTC(2027, 0, 15, 12));
    expect(await timed.told()).toEqual(["RENEWED"]);
  });

  test("deferred: the old product stays until its end, then the new renews", async () => {
    const older = await subscribe();
    await timed.advanceTo(NOW + DAY);
    const newer = change(older, "upgrade", { productIdentifier: "pro", deferred: true });
    expect(await timed.told()).toEqual(["PURCHASED", "EXPIRED"]);
    expect(stateOf(older)).toBe("EXPIRED");
    const [carried, next] = answerOf(newer).lineItems ?? [];
    expect(carried).toMatchObject({
      productId: "premium",
      expiryTime: isoTime(FEBRUARY),
      deferredItemReplacement: { productId: "pro" },
    });
    expect(next).toMatchObject({ productId: "pro" });
    expect(next).not.toHaveProperty("expiryTime");
    await timed.acknowledge(newer);
    await timed.advanceTo(FEBRUARY);
    expect(await timed.told()).toEqual(["RENEWED"]);
    expect(answerOf(newer).lineItems?.[0]).not.toHaveProperty("deferredItemReplacement");
    expect([endOf(newer, 0), endOf(newer, 1)]).toEqual([isoTime(FEBRUARY), isoTime(MARCH)]);
    expect(await timed.standing(newer)).toBe("expired,entitled");
    await timed.advanceTo(MARCH);
    expect([endOf(newer, 0), endOf(newer, 1)]).toEqual([
      isoTime(FEBRUARY),
      isoTime(Date.UTC(2026, 3, 15, 12)),
    ]);
  });

  test.each([
    ["complete", ["PURCHASED", "EXPIRED"], "EXPIRED"],
    ["decline", ["PENDING_PURCHASE_CANCELED"], "ACTIVE"],
  ] as const)("pending: %s is told as %j, and the old one is %s", async (outcome, expected, state) => {
    const older = await subscribe();
    const newer = change(older, "replace", { basePlanIdentifier: "yearly", pending: true });
    expect([await timed.told(), stateOf(older)]).toEqual([[], "ACTIVE"]);
    change(newer, outcome);
    expect([await timed.told(), stateOf(older)]).toEqual([expected, state]);
  });

  test("a deferred one needs a subscription that goes on", async () => {
    const over = await subscribe();
    change(over, "expire");
    expect(() => timed.buy({ replaces: over, deferred: true })).toThrow("deferred");
    expect(() => change(over, "replace")).toThrow("has not ended");
    const running = await subscribe();
    expect(() => change(running, "replace", { deferred: true, pending: true })).toThrow("deferred");
  });
});

describe("prepaid plans", () => {
  test("end by themselves, and are extended by top-ups under new tokens", async () => {
    const first = await subscribe({ prepaid: true });
    await timed.advanceTo(NOW + 10 * DAY);
    const second = change(first, "top-up", { period: "P2W" });
    expect(endOf(second)).toBe(isoTime(FEBRUARY + 14 * DAY));
    expect(answerOf(second).linkedPurchaseToken).toBe(first);
    await timed.acknowledge(second);
    await timed.advanceTo(FEBRUARY + 14 * DAY);
    expect(stateOf(second)).toBe("EXPIRED");
    expect(await timed.told()).toEqual(["PURCHASED", "EXPIRED", "EXPIRED"]);
  });

  test("do not fail, pause or renew; others are not topped up", async () => {
    const prepaid = await subscribe({ prepaid: true });
    expect(() => change(prepaid, "fail-billing")).toThrow("does not renew");
    expect(() => change(prepaid, "schedule-pause")).toThrow("does not renew");
    const renewing = await subscribe();
    expect(() => change(renewing, "top-up")).toThrow("prepaid plan");
  });
});

describe("prices and items", () => {
  test.each([
    ["price-change", "price-change-consent", ["PRICE_CHANGE_UPDATED", "PRICE_CHANGE_CONFIRMED"]],
    ["price-step-up", "price-step-up-consent", ["PRICE_STEP_UP_CONSENT_UPDATED"]],
  ] as const)(
    "a %s with consent renews, and without it ends with the period",
    async (asks, consents, told) => {
      const [agreed, silent] = [await subscribe(), await subscribe()];
      change(agreed, asks);
      change(silent, asks);
      await timed.told();
      change(agreed, consents);
      expect(await timed.told()).toEqual(told);
      expect(() => change(agreed, consents)).toThrow(ImpossibleChange);
      await timed.advanceTo(FEBRUARY);
      expect([stateOf(agreed), stateOf(silent)]).toEqual(["ACTIVE", "EXPIRED"]);
      expect(await timed.told()).toEqual(["RENEWED", "CANCELED", "EXPIRED"]);
      await timed.advanceTo(MARCH);
      expect(await timed.told()).toEqual(["RENEWED"]);
    },
  );

  test("an add-on comes at once, and ends with the period when removed", async () => {
    const token = await subscribe();
    change(token, "items-changed", { adds: "maps" });
    expect(await timed.standing(token)).toBe("entitled,entitled");
    await timed.advanceTo(FEBRUARY);
    expect([endOf(token, 0), endOf(token, 1)]).toEqual([isoTime(MARCH), isoTime(MARCH)]);
    change(token, "items-changed", { removes: "maps" });
    expect(answerOf(token).lineItems?.[1]).toHaveProperty("deferredItemRemoval");
    await timed.advanceTo(MARCH + DAY);
    expect([endOf(token, 0), endOf(token, 1)]).toEqual([isoTime(Date.UTC(2026, 3, 15, 12)), isoTime(MARCH)]);
    expect(await timed.told()).toEqual(["ITEMS_CHANGED", "RENEWED", "ITEMS_CHANGED", "RENEWED"]);
    expect(() => change(token, "items-changed", { removes: "premium" })).toThrow("last item");
  });
});

describe("an unacknowledged purchase", () => {
  test.each([
    ["a subscription", {}, 3 * DAY],
    ["of a licence tester", { test: true }, 3 * MINUTE],
    ["a short prepaid plan", { prepaid: true, period: "P3D" }, 1.5 * DAY],
    ["a long prepaid plan", { prepaid: true, period: "P1M" }, 3 * DAY],
  ])("%s %j is refunded and revoked by the store", async (_, purchase, within) => {
    const token = timed.buy(purchase);
    await timed.advanceTo(NOW + within - 1);
    expect(stateOf(token)).toBe("ACTIVE");
    await timed.advanceTo(NOW + within);
    expect(await timed.standing(token)).toBe("expired");
    expect(await timed.told()).toEqual(["PURCHASED", "REVOKED", "VOIDED subscription full"]);
  });

  test.each([
    [false, 3 * DAY],
    [true, 3 * MINUTE],
  ])("one-time (a tester's: %p) is cancelled by the store", async (test, within) => {
    const token = timed.buy({ productKind: "one_time_product", test });
    await timed.advanceTo(NOW + within - 1);
    expect(await timed.standing(token, "one_time_product")).toBe("entitled");
    await timed.advanceTo(NOW + within);
    expect(await timed.standing(token, "one_time_product")).toBe("revoked");
    expect(await timed.told()).toEqual(["ONE_TIME PURCHASED", "VOIDED one-time full"]);
  });

  test("is counted from its payment", async () => {
    const token = timed.buy({ pending: true });
    await timed.advanceTo(NOW + 10 * DAY);
    expect(stateOf(token)).toBe("PENDING");
    change(token, "complete");
    await timed.advanceTo(NOW + 13 * DAY - 1);
    expect(stateOf(token)).toBe("ACTIVE");
    await timed.advanceTo(NOW + 13 * DAY);
    expect(stateOf(token)).toBe("EXPIRED");
  });

  test("that is acknowledged stays", async () => {
    const token = timed.buy({ productKind: "one_time_product" });
    await timed.acknowledge(token, "one_time_product");
    await timed.advanceTo(NOW + 400 * DAY);
    expect(await timed.standing(token, "one_time_product")).toBe("entitled");
  });
});

test("a rental and its purchase option are in the answer", () => {
  const token = timed.sandbox.buy({
    packageName: PACKAGE_NAME,
    productKind: "one_time_product",
    productIdentifier: "film",
    purchaseOptionIdentifier: "two-days",
    rental: true,
    quantity: 2,
  });
  expect(timed.sandbox.read(token)?.answer).toMatchObject({
    productLineItem: [
      { productOfferDetails: { purchaseOptionId: "two-days", rentOfferDetails: {}, quantity: 2 } },
    ],
  });
});
