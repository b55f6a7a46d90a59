import { askDuePurchases } from "../../../lib/customers/asking/ask-due-purchases.ts";
import { isOfThisPurchase } from "../../../lib/customers/storing/store-android-store-purchase.ts";
import { DAY, MINUTE, SECOND } from "../../../lib/duration.ts";
import { referenceText } from "../../../lib/entitlements/purchase.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import { aGoogleError } from "../../../testing/support/stores/android-store.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { refusal } from "../../../testing/support/world.ts";
import { queuedOf, recordedOf } from "../refreshing.ts";
import { askedGoogle } from "./asked-google.ts";

const table = await aUseCaseTable();

let asked: Awaited<ReturnType<typeof askedGoogle>>;
beforeEach(async () => {
  asked = await askedGoogle(table);
});
afterEach(() => asked.close());

const run = () => askDuePurchases(asked.run, asked.clock.now + 5 * MINUTE);

/** The time of the only question. */
const dueAt = async (): Promise<number> => {
  const [queued, recorded] = [await queuedOf(asked.world), await recordedOf(asked.world)];
  expect(queued).toEqual(recorded);
  return Object.values(queued)[0] ?? NaN;
};

/** A linked subscription whose question is due; its end was five seconds ago. */
const ended = async () => {
  const token = asked.buy();
  await asked.link(token);
  asked.clock.now = await dueAt();
  return { token, end: asked.clock.now - 5 * SECOND };
};

describe("a subscription", () => {
  test("that was renewed unheard is read just after each end", async () => {
    const { token, end } = await ended();
    asked.sandbox.change(token, { change: "renew" });
    expect(await run()).toMatchObject({ asked: 1, failed: 0, paused: [] });
    expect(await dueAt()).toBeGreaterThan(end + 20 * DAY);
  });
  test("that the store has dropped is asked about for 60 days", async () => {
    const { token, end } = await ended();
    asked.sandbox.drop(token);
    // Google says so 60 days after the end; sooner it may be a mistake, and the question has the only copy of the token.
    await run();
    expect(await dueAt()).toBe(end + 2 * MINUTE);
    expect(JSON.stringify(await asked.world.items())).toContain(token);
    asked.clock.now = end + 60 * DAY;
    await run();
    expect([await queuedOf(asked.world), await recordedOf(asked.world)]).toEqual([{}, {}]);
    expect(JSON.stringify(await asked.world.items())).not.toContain(token);
  });
  test("of an erased customer that the store has dropped is not linked", async () => {
    const { token } = await ended();
    const [customer = ""] = (await asked.world.read("user-1")).customerIdentifiers;
    await asked.world.erase({ identifier: customerId(customer) });
    asked.sandbox.drop(token);
    expect(await refusal(asked.link(token))).toBe("CUSTOMER_NOT_FOUND");
  });
  test.each([
    [404, "purchaseTokenNotFound"],
    [410, "purchaseTokenNoLongerValid"],
  ])("about which the store once answers %i is asked about again", async (status, reason) => {
    const { token, end } = await ended();
    asked.sandbox.change(token, { change: "renew" });
    asked.sandbox.failNext("publisher", { status, body: aGoogleError(status, reason) });
    await run();
    asked.clock.now = await dueAt();
    expect(asked.clock.now).toBe(end + 2 * MINUTE);
    await run();
    expect(await dueAt()).toBeGreaterThan(end + 20 * DAY);
  });
});

describe("a store that fails", () => {
  const failingWith = async (fault: Fault) => {
    await ended();
    asked.sandbox.failNext("publisher", fault, fault);
    return run();
  };
  test.each<[what: string, fault: Fault, because: string, pause: number]>([
    [
      "limits the rate, for as long as it says",
      { status: 429, headers: { "retry-after": "45" }, body: aGoogleError(429, "rateLimitExceeded") },
      "unavailable",
      45 * SECOND,
    ],
    [
      "refuses the credential",
      { status: 401, body: aGoogleError(401, "authError") },
      "credential-rejected",
      5 * MINUTE,
    ],
  ])("pauses, and heals, where it %s", async (_, fault, because, pause) => {
    const { paused } = await failingWith(fault);
    const until = asked.clock.now + pause;
    expect(paused).toMatchObject([{ because, until }]);
    asked.sandbox.clearFaults();
    asked.clock.now = until - 1;
    expect(await run()).toMatchObject({ asked: 0 });
    asked.clock.now = until;
    expect(await run()).toMatchObject({ asked: 1, paused: [] });
  });
  test("for an unknown reason pauses nothing, and is asked within five minutes", async () => {
    const report = await failingWith({ status: 400, body: aGoogleError(400, "ofNextYear") });
    expect(report).toMatchObject({ failed: 1, paused: [] });
    expect(await dueAt()).toBeGreaterThan(asked.clock.now);
    expect(await dueAt()).toBeLessThanOrEqual(asked.clock.now + 5 * MINUTE);
  });
});

test("a replacement that was never paid has the older purchase asked about again", async () => {
  const { clock, sandbox, world } = asked;
  const older = asked.buy();
  await asked.link(older);
  const key = purchaseKeyOfToken(older);
  const reference = { store: "android-store", environment: "production", key } as const;
  const verifiedAt = async (): Promise<number> => {
    const { identifier } = world.application;
    const known = await world.factStore.table.findFacts(identifier, [], [reference], clock.now);
    return known.purchases.get(referenceText(reference))?.purchase.verifiedAt ?? NaN;
  };
  // Older than a minute, or Google's unchanged answer would be a replay.
  clock.now += 2 * MINUTE;
  const newer = sandbox.change(older, { change: "replace", basePlanIdentifier: "yearly", pending: true });
  await asked.link(newer);
  const before = await verifiedAt();
  clock.now += 2 * MINUTE;
  sandbox.change(newer, { change: "decline" });
  await asked.link(newer);
  expect(await verifiedAt()).toBeGreaterThan(before);
});

test("a link that Google refuses for a while says for how long", async () => {
  const token = asked.buy();
  asked.sandbox.failNext("publisher", { status: 503, headers: { "retry-after": "45" } });
  const refused = { code: "STORE_UNAVAILABLE", retryAfterSeconds: 45 };
  await expect(asked.link(token)).rejects.toMatchObject(refused);
});

test.each([403, 429])("a quota's %i is not of the purchase that was asked about", (status) => {
  const quota = { outcome: "unavailable", status, reason: "quotaExceeded", retryAt: null } as const;
  expect(isOfThisPurchase(quota)).toBe(false);
});
