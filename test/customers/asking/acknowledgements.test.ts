import { askDuePurchases, type AskReport } from "../../../lib/customers/asking/ask-due-purchases.ts";
import { HOUR, MINUTE } from "../../../lib/duration.ts";
import { assertInvariants } from "../../../testing/support/table/invariants.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import { DAY, NOW } from "../../../testing/support/stores/android-store.ts";
import { pendingIn, type TestTable } from "../../../testing/support/table/table.ts";
import { askedGoogle } from "./asked-google.ts";
import { queuedOf } from "../refreshing.ts";

const NONE = { made: 0, due: 0, oldest: 0, nearDeadline: 0, failed: 0 };

let table: TestTable;
beforeEach(() => {
  table = createMemoryTable();
});
afterEach(() => assertInvariants(table));

/** A purchase, and when Google and the functions fail; moments count from the purchase. */
interface Lived {
  readonly sold?: object;
  /** Only a notification tells of it: it belongs to no account. */
  readonly isUnclaimed?: boolean;
  /** Google answers questions, and takes no acknowledgement. */
  readonly refusesUntil?: number;
  readonly downFrom?: number;
  /** The schedule runs no function. */
  readonly outFrom?: number;
  /** How long each outage lasts. */
  readonly lasts?: number;
}

/** A purchase whose acknowledgement failed when it was linked. */
const lived = async ({ sold = {}, isUnclaimed = false, ...faults }: Lived) => {
  const { refusesUntil = 1, downFrom = Infinity, outFrom = Infinity, lasts = 3 * HOUR } = faults;
  const tried: number[] = [];
  const silence = { outcome: "unavailable", status: 503, reason: null, retryAt: null } as const;
  const isIn = (from: number, at: number): boolean => at >= from && at < from + lasts;
  const asked = await askedGoogle(table, (google, now) => ({
    lookUp: (...question) =>
      isIn(downFrom, now() - NOW) ? Promise.resolve(silence) : google.lookUp(...question),
    acknowledge: async (...question) => {
      const at = now() - NOW;
      tried.push(at);
      return isIn(downFrom, at) || at < refusesUntil ? silence : google.acknowledge(...question);
    },
  }));
  const { clock, sandbox, world, run, buy } = asked;
  const purchaseToken = buy(sold);
  const productKind = "productKind" in sold ? "one_time_product" : "subscription";
  const link = () => asked.link(purchaseToken, productKind);
  const hear = (token = purchaseToken) => asked.hear(token, productKind);
  await (isUnclaimed ? hear() : link());
  return {
    buy,
    drop: () => sandbox.drop(purchaseToken),
    change: (what: "revoke" | "acknowledge") => sandbox.change(purchaseToken, { change: what }),
    statusOf: async () => (await world.read("user-1")).entitlements[0]?.status,
    purchaseToken,
    hear,
    link,
    tried,
    isMade: (token = purchaseToken): boolean => asked.isAcknowledged(token),
    pending: async () => (await pendingIn(table)).length,
    queued: () => queuedOf(world),
    /** Runs the schedule each minute, until a moment or until something is so. */
    runUntil: async (end: number, isSo = () => false, every = MINUTE) => {
      const reports: AskReport[] = [];
      while (clock.now <= NOW + end && !isSo()) {
        const next = clock.now + every;
        await sandbox.runUntil(clock.now);
        if (!isIn(outFrom, clock.now - NOW)) reports.push(await askDuePurchases(run, clock.now + MINUTE / 2));
        clock.now = Math.max(next, clock.now);
      }
      return reports;
    },
    close: asked.close,
  };
};

const countsOf = (reports: readonly AskReport[]) => reports.map(({ acknowledgements }) => acknowledgements);

describe("a pending acknowledgement", () => {
  let living: Awaited<ReturnType<typeof lived>> | null = null;
  const live = async (given: Lived) => (living = await lived(given));
  afterEach(() => living?.close());

  const PREPAID = { prepaid: true, period: "P1D" };
  const TESTER = { test: true };
  test.each<[what: string, within: number, given: Lived]>([
    ["three days", 72 * HOUR, { downFrom: 1, outFrom: 3 * HOUR }],
    ["half of a prepaid day", 12 * HOUR, { sold: PREPAID, downFrom: 1, outFrom: 3 * HOUR }],
    ["a tester's three minutes, one silent", 3 * MINUTE, { sold: TESTER, downFrom: 1, lasts: MINUTE }],
    ["a tester's, one without a function", 3 * MINUTE, { sold: TESTER, outFrom: MINUTE, lasts: MINUTE }],
  ])(
    "is made within %s, through three hours without Google and without functions",
    async (_, within, given) => {
      const { runUntil, isMade, tried, pending } = await live(given);
      await runUntil(within, isMade, within < HOUR ? MINUTE : 5 * MINUTE);
      expect([isMade(), await pending()]).toEqual([true, 0]);
      expect(tried.at(-1)).toBeLessThan(within);
    },
  );

  test("is counted while due, near its deadline, and once made", async () => {
    const { runUntil } = await live({ refusesUntil: 50 * HOUR, downFrom: 49 * HOUR, lasts: HOUR / 2 });
    expect(countsOf(await runUntil(0))).toEqual([NONE]);
    expect(countsOf(await runUntil(MINUTE))).toEqual([{ ...NONE, due: 1, oldest: MINUTE }]);
    // Google is silent: it waits in a queue that is paused.
    const silent = countsOf(await runUntil(49 * HOUR + 20 * MINUTE));
    expect(silent.at(-1)).toMatchObject({ due: 1, nearDeadline: 1 });
    expect(silent.every(({ due }) => due <= 1)).toBe(true);
    const made = countsOf(await runUntil(52 * HOUR));
    expect(made.filter((one) => one.made > 0)).toEqual([{ ...NONE, made: 1 }]);
  });

  test.each([
    ["is counted", {}, 1],
    ["of a licence tester is not", { test: true }, 0],
  ])("has failed where Google never knows the purchase: %s", async (_, sold, failed) => {
    const { runUntil, drop, pending } = await live({ sold });
    drop();
    const soon = await runUntil(2 * MINUTE);
    const counts = countsOf([...soon, ...(await runUntil(3 * DAY + HOUR, undefined, 20 * MINUTE))]);
    expect(counts.reduce((sum, one) => sum + one.failed, 0)).toBe(failed);
    expect(Math.max(...counts.map(({ nearDeadline }) => nearDeadline))).toBe(failed);
    expect(await pending()).toBe(0);
  });

  describe.each([
    ["subscription", { basePlanIdentifier: "yearly", period: "P1Y" }, 1],
    ["one-time product", { productKind: "one_time_product", productIdentifier: "lifetime" }, 0],
  ])("of a %s", (_, sold, questions) => {
    const failedIn = (reports: readonly AskReport[]) =>
      countsOf(reports).reduce((sum, { failed }) => sum + failed, 0);
    const ENDED = ["revoked", "expired"];

    test("that nobody could make has failed once Google refunds the purchase", async () => {
      const { runUntil, pending, statusOf } = await live({ sold, refusesUntil: Infinity });
      expect(failedIn(await runUntil(71 * HOUR, undefined, HOUR))).toBe(0);
      expect(await statusOf()).toBe("active");
      expect(failedIn(await runUntil(73 * HOUR, undefined, HOUR))).toBe(1);
      expect(await pending()).toBe(0);
      expect(ENDED).toContain(await statusOf());
    });
    test.each([
      ["was refunded before its deadline", "revoke", ENDED],
      ["the app has acknowledged itself", "acknowledge", ["active"]],
    ] as const)("is made no more where the purchase %s", async (_, what, statuses) => {
      const { runUntil, change, pending, queued, statusOf } = await live({ sold, refusesUntil: Infinity });
      change(what);
      expect(countsOf(await runUntil(HOUR, undefined, HOUR)).at(-1)).toEqual(NONE);
      expect(statuses).toContain(await statusOf());
      expect([await pending(), Object.keys(await queued()).length]).toEqual([0, questions]);
    });
    test("has failed at its deadline while Google is silent", async () => {
      const { runUntil, pending, queued, statusOf } = await live({ sold, downFrom: 1, lasts: 4 * DAY });
      const reports = await runUntil(71 * HOUR, undefined, HOUR);
      expect(countsOf(reports).at(-1)).toMatchObject({ due: 1, nearDeadline: 1, failed: 0 });
      expect(failedIn(await runUntil(74 * HOUR, undefined, HOUR))).toBe(1);
      expect([await pending(), Object.keys(await queued()).length]).toEqual([0, 1]);
      await runUntil(5 * DAY, undefined, HOUR);
      expect(ENDED).toContain(await statusOf());
    });
  });

  test("is made within the hour once another purchase of its customer is linked", async () => {
    const { runUntil, buy, purchaseToken, link, hear, isMade, pending } = await live({ isUnclaimed: true });
    const second = buy({ replaces: purchaseToken });
    await hear(second);
    await link();
    expect(isMade(second)).toBe(false);
    await runUntil(HOUR, () => isMade(second));
    expect([isMade(second), await pending()]).toEqual([true, 0]);
  });
});
