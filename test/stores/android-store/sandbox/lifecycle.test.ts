import type { AndroidChange, ChangeDetails } from "../../../../sandbox/android-store/shop/requests.ts";
import { isoTime } from "../../../../lib/entitlements/time.ts";
import { DAY, NOW } from "../../../../testing/support/stores/android-store.ts";
import { timedAndroidStoreForEachTest, type TimedAndroidStore } from "./timed-android-store.ts";

const MINUTE = 60_000;
/** End of the first month. */
const FEBRUARY = Date.UTC(2026, 1, 15, 12);
const MARCH = Date.UTC(2026, 2, 15, 12);

const timed = timedAndroidStoreForEachTest();

const change = (token: string, change: AndroidChange, details?: ChangeDetails): string =>
  timed.sandbox.change(token, { change, ...details });

const answerOf = (token: string) => {
  const stored = timed.sandbox.read(token);
  if (stored?.productKind !== "subscription") throw new Error("There is no such subscription.");
  return stored.answer;
};
const stateOf = (token: string) => answerOf(token).subscriptionState?.replace("SUBSCRIPTION_STATE_", "");
/** Ends of all lines. */
const endsOf = (token: string) =>
  answerOf(token).lineItems?.map(({ expiryTime }) => Date.parse(expiryTime ?? ""));

const APRIL = Date.UTC(2026, 3, 15, 12);
const GRACED = FEBRUARY + 3 * DAY;
const HELD = FEBRUARY + 10 * DAY;
const on = (moment: number, change: AndroidChange, details: ChangeDetails = {}) => ({
  moment,
  change,
  details,
});
const fails = (details?: ChangeDetails) => on(NOW, "fail-billing", details);
const recovers = (moment: number) => on(moment, "recover");
const cancels = on(NOW, "cancel");
const restarts = on(NOW, "restart");
const defers = on(NOW, "defer", { period: "P1W" });
const pauses = on(NOW, "schedule-pause", { period: "P1M" });
const resumes = [on(NOW, "pause"), on(NOW + 3 * DAY, "resume")];

const GRACE = "IN_GRACE_PERIOD";
const PAUSE = "PAUSE_SCHEDULE_CHANGED PAUSED";
test.each<
  [rule: string, steps: ReturnType<typeof on>[], until: number, told: string, state: string, end: number]
>([
  ["it renews at the end of its period", [], FEBRUARY, "RENEWED", "ACTIVE", MARCH],
  ["cancelled, it expires", [cancels], FEBRUARY, "CANCELED EXPIRED", "EXPIRED", FEBRUARY],
  ["restarted, it renews", [cancels, restarts], FEBRUARY, "CANCELED RESTARTED RENEWED", "ACTIVE", MARCH],
  ["deferred, it renews later", [defers], FEBRUARY + 7 * DAY, "DEFERRED RENEWED", "ACTIVE", MARCH + 7 * DAY],
  ["unpaid, it is silent for a day", [fails({ silentPeriod: "P1D" })], FEBRUARY, "", "ACTIVE", FEBRUARY],
  ["unpaid, it has grace", [fails()], FEBRUARY, GRACE, GRACE, GRACED],
  ["after grace it is held", [fails()], GRACED, `${GRACE} ON_HOLD`, "ON_HOLD", GRACED],
  [
    "without a hold it ends",
    [fails({ accountHold: null })],
    GRACED,
    `${GRACE} CANCELED EXPIRED`,
    "EXPIRED",
    GRACED,
  ],
  [
    "recovered in grace, it goes on",
    [fails(), recovers(GRACED - 1)],
    GRACED - 1,
    `${GRACE} RENEWED`,
    "ACTIVE",
    MARCH,
  ],
  [
    "recovered on hold, it begins anew",
    [fails(), recovers(HELD)],
    HELD,
    `${GRACE} ON_HOLD RECOVERED`,
    "ACTIVE",
    MARCH + 10 * DAY,
  ],
  ["a pause ends by itself", [pauses], MARCH, `${PAUSE} RECOVERED`, "ACTIVE", APRIL],
  ["resumed, it begins anew", resumes, NOW + 3 * DAY, "PAUSED RECOVERED", "ACTIVE", FEBRUARY + 3 * DAY],
])("a monthly subscription: %s", async (_, steps, until, told, state, end) => {
  const token = await timed.own();
  for (const step of steps) {
    await timed.advanceTo(step.moment);
    change(token, step.change, step.details);
  }
  await timed.advanceTo(until);
  expect([(await timed.told()).join(" "), stateOf(token), endsOf(token)]).toEqual([told, state, [end]]);
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
    expect(endsOf(newer)).toEqual([FEBRUARY, MARCH]);
    expect(await timed.standing(newer)).toBe("expired,entitled");
    await timed.advanceTo(MARCH);
    expect(endsOf(newer)).toEqual([FEBRUARY, APRIL]);
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
  expect(endsOf(second)).toEqual([FEBRUARY + 14 * DAY]);
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
  expect(endsOf(token)).toEqual([MARCH, MARCH]);
  change(token, "items-changed", { removes: "maps" });
  expect(answerOf(token).lineItems?.[1]).toHaveProperty("deferredItemRemoval");
  await timed.advanceTo(MARCH + DAY);
  expect(endsOf(token)).toEqual([APRIL, MARCH]);
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
