import type { AndroidChange, ChangeDetails } from "../../../../sandbox/android-store/shop/changes.ts";
import { isoTime } from "../../../../lib/entitlements/time.ts";
import { DAY, NOW } from "../../../../testing/support/stores/android-store.ts";
import { timedStoreForEachTest, type TimedAndroidStore } from "./timed-android-store.ts";

const MINUTE = 60_000;
/** End of the first month. */
const FEBRUARY = Date.UTC(2026, 1, 15, 12);
const MARCH = Date.UTC(2026, 2, 15, 12);

const timed = timedStoreForEachTest();

const change = (token: string, change: AndroidChange, details?: ChangeDetails): string =>
  timed.sandbox.change(token, change, details);

const answerOf = (token: string) => {
  const stored = timed.sandbox.read(token);
  if (stored?.productKind !== "subscription") throw new Error("There is no such subscription.");
  return stored.answer;
};
const stateOf = (token: string) => answerOf(token).subscriptionState?.replace("SUBSCRIPTION_STATE_", "");
const endOf = (token: string, line = 0) => answerOf(token).lineItems?.[line]?.expiryTime;

const APRIL = Date.UTC(2026, 3, 15, 12);
const on = (moment: number, change: AndroidChange, details: ChangeDetails = {}) => ({
  moment,
  change,
  details,
});
const fails = (details?: ChangeDetails) => on(NOW, "fail-billing", details);
const cancels = on(NOW, "cancel");
const deferred = on(NOW, "defer", { period: "P1W" });
const pauses = on(NOW, "schedule-pause", { period: "P1M" });
const GRACED = FEBRUARY + 3 * DAY;
const PAUSED = "PAUSE_SCHEDULE_CHANGED PAUSED RECOVERED";

test.each<
  [rule: string, steps: ReturnType<typeof on>[], until: number, told: string, state: string, end: number]
>([
  ["it renews at the end of its period", [], FEBRUARY, "RENEWED", "ACTIVE", MARCH],
  ["cancelled, it expires", [cancels], FEBRUARY, "CANCELED EXPIRED", "EXPIRED", FEBRUARY],
  [
    "restarted, it renews",
    [cancels, on(NOW, "restart")],
    FEBRUARY,
    "CANCELED RESTARTED RENEWED",
    "ACTIVE",
    MARCH,
  ],
  [
    "deferred, it renews later",
    [deferred],
    FEBRUARY + 7 * DAY,
    "DEFERRED RENEWED",
    "ACTIVE",
    MARCH + 7 * DAY,
  ],
  ["unpaid, it is silent for a day", [fails({ silentPeriod: "P1D" })], FEBRUARY, "", "ACTIVE", FEBRUARY],
  ["unpaid, it has grace", [fails()], FEBRUARY, "IN_GRACE_PERIOD", "IN_GRACE_PERIOD", GRACED],
  ["after grace it is held", [fails()], GRACED, "IN_GRACE_PERIOD ON_HOLD", "ON_HOLD", GRACED],
  [
    "without a hold it ends",
    [fails({ accountHold: null })],
    GRACED,
    "IN_GRACE_PERIOD CANCELED EXPIRED",
    "EXPIRED",
    GRACED,
  ],
  [
    "recovered in grace, it goes on",
    [fails(), on(FEBRUARY + DAY, "recover")],
    FEBRUARY + DAY,
    "IN_GRACE_PERIOD RENEWED",
    "ACTIVE",
    MARCH,
  ],
  [
    "recovered on hold, it begins anew",
    [fails(), on(FEBRUARY + 10 * DAY, "recover")],
    FEBRUARY + 10 * DAY,
    "IN_GRACE_PERIOD ON_HOLD RECOVERED",
    "ACTIVE",
    MARCH + 10 * DAY,
  ],
  ["a pause ends by itself", [pauses], MARCH, PAUSED, "ACTIVE", APRIL],
  [
    "resumed, it begins anew",
    [on(NOW, "pause"), on(NOW + 3 * DAY, "resume")],
    NOW + 3 * DAY,
    "PAUSED RECOVERED",
    "ACTIVE",
    FEBRUARY + 3 * DAY,
  ],
])("a monthly subscription: %s", async (_, steps, until, told, state, end) => {
  const token = await timed.own();
  for (const step of steps) {
    await timed.advanceTo(step.moment);
    change(token, step.change, step.details);
  }
  await timed.advanceTo(until);
  expect([(await timed.told()).join(" "), stateOf(token), endOf(token)]).toEqual([told, state, isoTime(end)]);
});

test("an expired subscription goes 60 days later", async () => {
  const token = await timed.own();
  change(token, "cancel");
  await timed.advanceTo(FEBRUARY + 60 * DAY - 1);
  expect(await timed.standing(token)).toBe("expired");
  await timed.advanceTo(FEBRUARY + 60 * DAY);
  expect(await timed.standing(token)).toBe("gone");
  expect(timed.sandbox.nextEventAt()).toBeNull();
});

describe("replacements", () => {
  test("at once: the new token names the old one, which is over", async () => {
    const older = await timed.own();
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
    const older = await timed.own();
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
    expect([endOf(newer, 0), endOf(newer, 1)]).toEqual([isoTime(FEBRUARY), isoTime(APRIL)]);
  });

  test.each([
    ["complete", ["PURCHASED", "EXPIRED"], "EXPIRED"],
    ["decline", ["PENDING_PURCHASE_CANCELED"], "ACTIVE"],
  ] as const)("pending: %s is told as %j, and the old one is %s", async (outcome, expected, state) => {
    const older = await timed.own();
    const newer = change(older, "replace", { basePlanIdentifier: "yearly", pending: true });
    expect([await timed.told(), stateOf(older)]).toEqual([[], "ACTIVE"]);
    change(newer, outcome);
    expect([await timed.told(), stateOf(older)]).toEqual([expected, state]);
  });
});

test("prepaid plans end by themselves, and are extended by top-ups under new tokens", async () => {
  const first = await timed.own({ prepaid: true });
  await timed.advanceTo(NOW + 10 * DAY);
  const second = change(first, "top-up", { period: "P2W" });
  expect(endOf(second)).toBe(isoTime(FEBRUARY + 14 * DAY));
  expect(answerOf(second).linkedPurchaseToken).toBe(first);
  await timed.acknowledge(second);
  await timed.advanceTo(FEBRUARY + 14 * DAY);
  expect(stateOf(second)).toBe("EXPIRED");
  expect(await timed.told()).toEqual(["PURCHASED", "EXPIRED", "EXPIRED"]);
});

test("an add-on comes at once, and ends with the period when removed", async () => {
  const token = await timed.own();
  change(token, "items-changed", { adds: "maps" });
  expect(await timed.standing(token)).toBe("entitled,entitled");
  await timed.advanceTo(FEBRUARY);
  expect([endOf(token, 0), endOf(token, 1)]).toEqual([isoTime(MARCH), isoTime(MARCH)]);
  change(token, "items-changed", { removes: "maps" });
  expect(answerOf(token).lineItems?.[1]).toHaveProperty("deferredItemRemoval");
  await timed.advanceTo(MARCH + DAY);
  expect([endOf(token, 0), endOf(token, 1)]).toEqual([isoTime(APRIL), isoTime(MARCH)]);
  expect(await timed.told()).toEqual(["ITEMS_CHANGED", "RENEWED", "ITEMS_CHANGED", "RENEWED"]);
  expect(() => change(token, "items-changed", { removes: "premium" })).toThrow("last item");
});

const SUBSCRIPTION_LOST = ["expired", "PURCHASED REVOKED VOIDED subscription full"] as const;
const ONCE_LOST = ["revoked", "ONE_TIME PURCHASED VOIDED one-time full"] as const;
const once = { productKind: "one_time_product" } as const;
test.each<[purchase: Parameters<TimedAndroidStore["buy"]>[0], within: number, string, string]>([
  [{}, 3 * DAY, ...SUBSCRIPTION_LOST],
  [{ test: true }, 3 * MINUTE, ...SUBSCRIPTION_LOST],
  [{ prepaid: true, period: "P3D" }, 1.5 * DAY, ...SUBSCRIPTION_LOST],
  [once, 3 * DAY, ...ONCE_LOST],
  [{ ...once, test: true }, 3 * MINUTE, ...ONCE_LOST],
])("unacknowledged, %j is refunded by the store after %i ms", async (purchase, within, standing, told) => {
  const token = timed.buy(purchase);
  await timed.advanceTo(NOW + within - 1);
  expect(await timed.standing(token, purchase?.productKind)).toBe("entitled");
  await timed.advanceTo(NOW + within);
  expect(await timed.standing(token, purchase?.productKind)).toBe(standing);
  expect((await timed.told()).join(" ")).toBe(told);
});
