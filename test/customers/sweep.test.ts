import type { Application, AndroidStoreConfiguration } from "../../lib/applications/application.ts";
import { verifiedAs, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { ApplicationId } from "../../lib/identifiers.ts";
import {
  sweepApplications,
  type PeriodOutcome,
  type SweepReport,
} from "../../lib/customers/notifications/sweep.ts";
import type { StoreInEnvironment } from "../../lib/customers/asking/store-in-environment.ts";
import { sweepAndroidStoreRefunds } from "../../lib/customers/sweep-android-store-refunds.ts";
import { purchaseKeyOfToken } from "../../lib/stores/android-store/purchase-token.ts";
import type {
  AndroidStore,
  VoidedPurchase,
  VoidedPurchasesAnswer,
} from "../../lib/stores/android-store/android-store.ts";
import { createWatermarks } from "../../lib/table/queues/watermarks.ts";
import { aCatalog, aLine, aPurchase, aProduct, DAY, NOW } from "../../testing/support/purchases.ts";
import { aUseCaseTable } from "../../testing/support/use-case-table.ts";
import { aName } from "./refreshing.ts";
import { byCredential, createWorld } from "../../testing/support/world.ts";
import { anApplication } from "../../testing/support/application.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Lists are read up to a minute ago. */
const PRESENT = NOW - MINUTE;
const FURTHEST = 30 * DAY - HOUR;
const PACKAGE_NAME = "com.example.trails";

const table = await aUseCaseTable();

const PACKAGE: AndroidStoreConfiguration = {
  packageName: PACKAGE_NAME,
  credential: { secret: "s" },
  environments: ["production", "sandbox"],
  notifications: null,
};

const sweptOf = (application: ApplicationId): StoreInEnvironment => ({
  application,
  store: "android-store",
  environment: "production",
  bundleOrPackage: PACKAGE_NAME,
});

/** The application of the tests, with one package and so one list. */
const withOneList = (identifier: ApplicationId): Application =>
  anApplication({ identifier, androidStore: [PACKAGE] });

/** Applications with one list each, whose periods are read as a test says. */
const aSweep = (applications: readonly ApplicationId[] = [aName()]) => {
  const watermarks = createWatermarks(table);
  const clock = { now: NOW };
  const periods: (readonly [application: ApplicationId, from: Instant, to: Instant])[] = [];
  const failures: unknown[] = [];
  const read = (): Promise<PeriodOutcome> => Promise.resolve({ outcome: "read", found: 1 });
  return {
    clock,
    periods,
    failures,
    markOf: (application = applications[0] ?? aName()) => watermarks.read(sweptOf(application)),
    mark: (at: Instant, application = applications[0] ?? aName()) =>
      watermarks.raise(sweptOf(application), at),
    run: (
      answer: (application: ApplicationId) => Promise<PeriodOutcome> = read,
      until = Infinity,
      find = (identifier: ApplicationId): Promise<Application | null> =>
        Promise.resolve(withOneList(identifier)),
    ): Promise<SweepReport> =>
      sweepApplications(
        {
          watermarks,
          directory: { byIdentifier: find },
          applications: () => Promise.resolve(applications),
          now: () => clock.now,
          onFailure: (error) => failures.push(error),
        },
        "android-store",
        ({ identifier }, _swept, { from, to }) => {
          periods.push([identifier, from, to]);
          return answer(identifier);
        },
        until,
      ),
  };
};

describe("a list", () => {
  test("that was never read is read from the store's oldest, piecewise", async () => {
    const sweep = aSweep();
    expect(await sweep.run()).toEqual({ found: 32, behind: 0 });
    const hours = sweep.periods.map(([, from, to]) => (to - from) / HOUR);
    expect(hours).toEqual([4, 8, 16, ...Array(28).fill(24), 19]);
    expect(sweep.periods[0]?.[1]).toBe(PRESENT - FURTHEST);
    expect(sweep.periods.slice(1).map(([, from]) => from)).toEqual(
      sweep.periods.slice(0, -1).map(([, , to]) => to),
    );
    expect(sweep.periods.at(-1)?.[2]).toBe(PRESENT);
    expect(await sweep.markOf()).toBe(PRESENT);
  });
  test.each<[what: string, environment: "production" | "sandbox", days: number]>([
    ["Apple's, 180 days", "production", 180],
    ["Apple's sandbox's, 30 days", "sandbox", 30],
  ])("is read as far back as its store keeps it: %s", async (_, environment, days) => {
    const identifier = aName();
    const serverApi = { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" };
    const application: Application = {
      ...withOneList(identifier),
      iosStore: [
        {
          bundleIdentifier: PACKAGE_NAME,
          appAppleIdentifier: 1,
          environments: [environment],
          xcodeCertificates: [],
          serverApi,
          notifications: null,
        },
      ],
      androidStore: [],
    };
    const froms: Instant[] = [];
    await sweepApplications(
      {
        watermarks: createWatermarks(table),
        directory: { byIdentifier: () => Promise.resolve(application) },
        applications: () => Promise.resolve([identifier]),
        now: () => NOW,
        onFailure: (error) => {
          throw error;
        },
      },
      "ios-store",
      (_application, _swept, { from }) => {
        froms.push(from);
        return Promise.resolve({ outcome: "read", found: 0 });
      },
      Infinity,
    );
    expect(froms[0]).toBe(PRESENT - days * DAY + HOUR);
  });
  test("is read again from two hours before the last time", async () => {
    const sweep = aSweep();
    await sweep.mark(PRESENT - HOUR);
    await sweep.run();
    expect(sweep.periods.map(([, from, to]) => [from, to])).toEqual([[PRESENT - 3 * HOUR, PRESENT]]);
  });
  test.each<[age: number, periods: number]>([
    [50 * MINUTE - 1, 0],
    [50 * MINUTE, 1],
  ])("that was read %s ms ago is read %s times", async (age, periods) => {
    const sweep = aSweep();
    await sweep.mark(PRESENT - age);
    expect(await sweep.run()).toEqual({ found: periods, behind: 0 });
    expect(sweep.periods).toHaveLength(periods);
  });
  test("that the store stops giving is read from the same time again", async () => {
    const sweep = aSweep();
    await sweep.mark(PRESENT - 3 * DAY);
    const stop = () => Promise.resolve({ outcome: "stopped" as const, found: 2 });
    expect(await sweep.run(stop)).toEqual({ found: 2, behind: 1 });
    expect(await sweep.markOf()).toBe(PRESENT - 3 * DAY);
    await sweep.run();
    expect(sweep.periods.map(([, from]) => from).slice(0, 2)).toEqual(
      Array(2).fill(PRESENT - 3 * DAY - 2 * HOUR),
    );
  });
  test("whose time runs out keeps what was read", async () => {
    const sweep = aSweep();
    await sweep.mark(PRESENT - 10 * DAY);
    const slow = () => {
      sweep.clock.now += MINUTE;
      return Promise.resolve({ outcome: "read" as const, found: 0 });
    };
    expect(await sweep.run(slow, NOW + MINUTE)).toEqual({ found: 0, behind: 1 });
    expect(await sweep.markOf()).toBe(PRESENT - 10 * DAY + 2 * HOUR);
  });
  test("of which a day exceeds a run makes progress each run", async () => {
    const sweep = aSweep();
    await sweep.mark(PRESENT - 3 * DAY);
    for (let hour = 0; hour < 48; hour += 1) {
      sweep.clock.now = NOW + hour * HOUR;
      const until = sweep.clock.now + 4 * MINUTE;
      await sweep.run(() => {
        const [, from = 0, to = 0] = sweep.periods.at(-1) ?? [];
        sweep.clock.now += ((to - from) / DAY) * 5 * MINUTE;
        const outcome = sweep.clock.now < until ? ("read" as const) : ("stopped" as const);
        return Promise.resolve({ outcome, found: 0 });
      }, until);
    }
    expect((await sweep.markOf()) ?? 0).toBeGreaterThan(sweep.clock.now - DAY);
  });
});

test("slow applications do not keep the others from their turn", async () => {
  const applications = Array.from({ length: 8 }, aName);
  const sweep = aSweep(applications);
  for (let hour = 0; hour < 48; hour += 1) {
    sweep.clock.now = NOW + hour * HOUR;
    await sweep.run(
      () => {
        sweep.clock.now += MINUTE;
        return Promise.resolve({ outcome: "stopped", found: 0 });
      },
      sweep.clock.now + 4 * MINUTE,
    );
  }
  expect(new Set(sweep.periods.map(([application]) => application)).size).toBe(8);
});

describe("a failure of one application", () => {
  const failure = new Error("The list cannot be read.");
  test("does not stop the others", async () => {
    const [one, other] = [aName(), aName()];
    const sweep = aSweep([one, other]);
    const report = await sweep.run((application) =>
      application === one ? Promise.reject(failure) : Promise.resolve({ outcome: "read", found: 0 }),
    );
    expect(report).toEqual({ found: 0, behind: 1 });
    expect(sweep.failures).toEqual([failure]);
    expect([await sweep.markOf(one), await sweep.markOf(other)]).toEqual([null, PRESENT]);
  });
  test("that cannot even be loaded does not stop the others", async () => {
    const [one, other] = [aName(), aName()];
    const sweep = aSweep([one, other]);
    const report = await sweep.run(undefined, undefined, (identifier) =>
      identifier === one ? Promise.reject(failure) : Promise.resolve(withOneList(identifier)),
    );
    expect(report).toEqual({ found: 32, behind: 1 });
    expect(sweep.failures).toEqual([failure]);
  });
});

const TOKEN = "the-purchase-token";

/** A package whose list of voided purchases has these pages. */
const aPackage = async (...pages: readonly VoidedPurchasesAnswer[]) => {
  const application = anApplication({
    androidStore: [PACKAGE],
    catalog: aCatalog([aProduct({ store: "android-store" })]),
  });
  const world = createWorld(table, { application });
  await createWatermarks(table).raise(sweptOf(application.identifier), PRESENT - HOUR);
  const asked: string[] = [];
  const left = [...pages];
  const owned = new Map<string, Purchase>();
  const androidStore: AndroidStore = {
    lookUp: (_, { purchaseToken }) => {
      asked.push(purchaseToken);
      const purchase = owned.get(purchaseToken);
      if (purchase === undefined) return Promise.resolve({ outcome: "gone", status: 410, reason: null });
      return Promise.resolve({
        outcome: "verified",
        purchase: verifiedAs(purchase, NOW),
        replaces: null,
        samePerson: [],
        predecessors: [],
        isPending: false,
        isClosed: false,
        goesOn: null,
        acknowledgement: null,
      });
    },
    acknowledge: () => Promise.reject(new Error("Nothing is acknowledged.")),
    voidedPurchases: () => Promise.resolve(left.shift() ?? page(null)),
  };
  const { directory } = world;
  const sweepWith = (changes: Partial<AndroidStore>, now: () => Instant, until: Instant = Infinity) =>
    sweepAndroidStoreRefunds(
      {
        ...world.factStore,
        now,
        directory,
        androidStore: { ...androidStore, ...changes },
        asks: { acknowledged: () => Promise.resolve() },
        watermarks: createWatermarks(table),
        applications: () => Promise.resolve([application.identifier]),
        onFailure: (error) => {
          throw error;
        },
      },
      until,
    );
  return {
    world,
    asked,
    lookUp: androidStore.lookUp,
    swept: sweptOf(application.identifier),
    markOf: () => createWatermarks(table).read(sweptOf(application.identifier)),
    own: (
      token: string,
      environment: "production" | "sandbox",
      verifiedAt: Instant,
      line: Partial<Line> = {},
    ) => {
      const purchase = aPurchase({
        store: "android-store",
        environment,
        key: purchaseKeyOfToken(token),
        lines: [aLine({ transactionIdentifier: null, event: null, verifiedAt, ...line })],
      });
      owned.set(token, purchase);
      return world.store({ environment, purchases: [purchase] }, byCredential("user-1"));
    },
    /** Sweeps at a time, with the list's answers, and whether the store answers about a purchase. */
    sweepAt: (
      moment: Instant,
      listed: (period: VoidedPeriod) => VoidedPurchasesAnswer,
      isAnswered: (purchaseToken: string) => boolean,
    ) =>
      sweepWith(
        {
          voidedPurchases: (_, period) => Promise.resolve(listed(period)),
          lookUp: async (...question) => {
            const answer = isAnswered(question[1].purchaseToken)
              ? await androidStore.lookUp(...question)
              : ({ outcome: "unavailable", retryAfterSeconds: 1, status: 503, reason: null } as const);
            return answer.outcome === "verified"
              ? { ...answer, purchase: verifiedAs(answer.purchase, moment) }
              : answer;
          },
        },
        () => moment,
      ),
    /** Sweeps the same pages until a time, on a clock that each look-up may move. */
    sweepFrom: (
      now: () => Instant,
      until: Instant,
      pages: readonly VoidedPurchasesAnswer[],
      onAsked: (purchaseToken: string) => void,
    ) =>
      sweepWith(
        {
          voidedPurchases: (_of, _period, place) => Promise.resolve(pages[Number(place ?? 0)] ?? page(null)),
          lookUp: async (...question) => {
            onAsked(question[1].purchaseToken);
            const answer = await androidStore.lookUp(...question);
            return answer.outcome === "verified"
              ? { ...answer, purchase: verifiedAs(answer.purchase, now()) }
              : answer;
          },
        },
        now,
        until,
      ),
    sweep: (
      lookUp: AndroidStore["lookUp"] = androidStore.lookUp,
      { now = world.factStore.now, until = Infinity }: { now?: () => Instant; until?: Instant } = {},
    ) => sweepWith({ lookUp }, now, until),
  };
};

type VoidedPeriod = Parameters<AndroidStore["voidedPurchases"]>[1];

const page = (
  next: string | null,
  ...voided: readonly (string | VoidedPurchase)[]
): VoidedPurchasesAnswer => ({
  outcome: "answered",
  voided: voided.map((one) =>
    typeof one === "string" ? { purchaseToken: one, fullyVoidedAt: NOW - HOUR } : one,
  ),
  next,
});

describe("the list of voided purchases", () => {
  test.each(["production", "sandbox"] as const)(
    "asks about a purchase that is known in %s",
    async (environment) => {
      const swept = await aPackage(page(null, TOKEN));
      await swept.own(TOKEN, environment, NOW - DAY);
      expect(await swept.sweep()).toEqual({ found: 1, behind: 0 });
      expect(swept.asked).toEqual([TOKEN]);
    },
  );
  test("asks about none that is unknown", async () => {
    const swept = await aPackage(page(null, "unknown"));
    expect(await swept.sweep()).toEqual({ found: 0, behind: 0 });
    expect(swept.asked).toEqual([]);
  });
  test("asks about one verified a moment ago, as voids come late", async () => {
    const swept = await aPackage(page(null, TOKEN));
    await swept.own(TOKEN, "production", NOW);
    await swept.sweep();
    expect(swept.asked).toEqual([TOKEN]);
  });
  test.each<[when: string, after: number, asked: readonly string[]]>([
    ["so soon after a period that the answer may not show its voids", 10 * MINUTE, [TOKEN]],
    ["later than that", 10 * MINUTE + 1, []],
  ])("asks about one that was verified %s: %s", async (_, after, asked) => {
    const swept = await aPackage(page(null, TOKEN));
    await createWatermarks(table).raise(swept.swept, PRESENT - 2 * DAY);
    const to = PRESENT - 2 * DAY + 2 * HOUR;
    await swept.own(TOKEN, "production", to + after);
    await swept.sweep();
    expect(swept.asked).toEqual(asked);
  });
  test.each<[what: string, line: Partial<Line>, asked: readonly string[]]>([
    ["is revoked already", { revokedAt: NOW - 2 * DAY }, []],
    ["the store has called expired", { standing: "expired" }, []],
    ["does not renew, and was heard of after its end", { willRenew: false, endsAt: NOW - 2 * DAY }, []],
    ["does not renew, and was heard of before its end", { willRenew: false }, [TOKEN]],
    ["is on hold, from which it may return", { standing: "billing_retry" }, [TOKEN]],
  ])("one that %s: asks about %3$j", async (_, line, asked) => {
    const swept = await aPackage(page(null, TOKEN));
    await swept.own(TOKEN, "production", NOW - DAY, line);
    expect(await swept.sweep()).toEqual({ found: asked.length, behind: 0 });
    expect(swept.asked).toEqual(asked);
  });
  test("that exceeds a run is asked from another place each hour", async () => {
    const swept = await aPackage();
    const tokens = Array.from({ length: 40 }, (_, index) => `voided ${index}`);
    for (const token of tokens) await swept.own(token, "production", NOW - DAY);
    const asked = new Set<string>();
    for (let hour = 0; hour < 2; hour += 1) {
      let now = NOW + hour * HOUR;
      const pages = [page("1", ...tokens.slice(0, 20)), page(null, ...tokens.slice(20))];
      await swept.sweepFrom(
        () => now,
        now + 20 * MINUTE,
        pages,
        (token) => {
          asked.add(token);
          now += MINUTE;
        },
      );
    }
    // Twenty of forty in each run: page by page it would be twenty, and from one place on each hour 21.
    expect(asked.size).toBeGreaterThan(25);
  });
  test("is read again for a purchase that the store does not know", async () => {
    const swept = await aPackage(page(null, "unknown to it", TOKEN), page(null));
    await swept.own("unknown to it", "production", NOW - DAY);
    await swept.own(TOKEN, "production", NOW - DAY);
    const report = await swept.sweep((_, { purchaseToken }) =>
      Promise.resolve(
        purchaseToken === TOKEN
          ? { outcome: "gone", status: 410, reason: null }
          : { outcome: "rejected", status: 404, reason: "purchaseTokenNotFound" },
      ),
    );
    expect(report).toEqual({ found: 2, behind: 1 });
    expect(await swept.markOf()).toBe(PRESENT - HOUR);
  });
  test("is read again for a purchase that the store has dropped", async () => {
    const swept = await aPackage(page(null, TOKEN));
    await swept.own(TOKEN, "production", NOW - DAY);
    const report = await swept.sweep(() => Promise.resolve({ outcome: "gone", status: 410, reason: null }));
    expect(report).toEqual({ found: 1, behind: 1 });
    expect(await swept.markOf()).toBe(PRESENT - HOUR);
  });
  test("asks about each purchase a few times, while reread for another", async () => {
    const stuck = "unknown to it";
    const asked = new Map<string, number>();
    const start = NOW - 160 * HOUR;
    const swept = await aPackage();
    await createWatermarks(table).raise(swept.swept, start);
    await swept.own(stuck, "production", start - HOUR);
    // One is voided every eight hours, and its subscription goes on.
    const tokens = Array.from({ length: 16 }, (_, index) => `voided ${index}`);
    for (const token of tokens) await swept.own(token, "production", start - HOUR);
    for (let hour = 0; hour < 160; hour += 1) {
      const now = start + (hour + 1) * HOUR;
      const listed = ({ from, to }: VoidedPeriod): VoidedPurchasesAnswer => {
        const inside = (at: Instant) => from <= at && at <= to;
        const voided = tokens.filter((_, index) => inside(start + index * 8 * HOUR + HOUR / 2));
        return page(null, ...(inside(start) ? [stuck] : []), ...voided);
      };
      await swept.sweepAt(now, listed, (purchaseToken) => {
        asked.set(purchaseToken, (asked.get(purchaseToken) ?? 0) + 1);
        return purchaseToken !== stuck;
      });
    }
    expect(asked.get(stuck)).toBe(160);
    for (const token of tokens) expect(asked.get(token)).toBeGreaterThanOrEqual(3);
    for (const token of tokens) expect(asked.get(token)).toBeLessThanOrEqual(40);
  });
  test("starts no look-up once time is up", async () => {
    const swept = await aPackage(page(null, "first", TOKEN));
    await swept.own("first", "production", NOW - DAY);
    await swept.own(TOKEN, "production", NOW - DAY);
    let now = NOW;
    const asked: string[] = [];
    const answer: AndroidStore["lookUp"] = (_, { purchaseToken }) => {
      asked.push(purchaseToken);
      now += MINUTE;
      return Promise.resolve({ outcome: "gone", status: 410, reason: null });
    };
    expect(await swept.sweep(answer, { now: () => now, until: NOW + MINUTE })).toEqual({
      found: 1,
      behind: 1,
    });
    expect(asked).toHaveLength(1);
    expect(await swept.markOf()).toBe(PRESENT - HOUR);
  });
  test("asks once about a purchase that is on it twice", async () => {
    const swept = await aPackage(page(null, TOKEN, TOKEN));
    await swept.own(TOKEN, "production", NOW - DAY, { quantity: 3 });
    await swept.sweep();
    expect(swept.asked).toEqual([TOKEN]);
  });
  test("is asked about as far as it was read", async () => {
    const swept = await aPackage(page("2", TOKEN), { outcome: "unavailable", status: 503, reason: null });
    await swept.own(TOKEN, "production", NOW - DAY);
    expect(await swept.sweep()).toEqual({ found: 1, behind: 1 });
    expect(swept.asked).toEqual([TOKEN]);
    expect(await swept.markOf()).toBe(PRESENT - HOUR);
  });
  test("is read to its last page", async () => {
    const swept = await aPackage(page("2", "unknown"), page(null, TOKEN));
    await swept.own(TOKEN, "production", NOW - DAY);
    expect(await swept.sweep()).toEqual({ found: 1, behind: 0 });
    expect(await swept.markOf()).toBe(PRESENT);
  });
  const ONE_TIME: Partial<Line> = { nature: "consumable", endsAt: null, willRenew: null };
  const FULL: VoidedPurchase = { purchaseToken: TOKEN, fullyVoidedAt: NOW - HOUR };
  const PARTLY: VoidedPurchase = { purchaseToken: TOKEN, fullyVoidedAt: null };
  const UNKNOWN = { outcome: "rejected", status: 404, reason: "purchaseTokenNotFound" } as const;
  const DROPPED = { outcome: "gone", status: 410, reason: null } as const;
  test.each([
    [404, UNKNOWN, [FULL]],
    [410, DROPPED, [FULL]],
    [404, UNKNOWN, [FULL, PARTLY]],
  ])("a full void and a %i revoke a one-time purchase", async (_, answer, voided) => {
    const swept = await aPackage(page(null, ...voided));
    await swept.own(TOKEN, "production", NOW - DAY, ONE_TIME);
    expect(await swept.sweep(() => Promise.resolve(answer))).toEqual({ found: 1, behind: 0 });
    expect((await swept.world.read("user-1")).entitlements).toMatchObject([
      { status: "revoked", active: false, revokedAt: new Date(NOW - HOUR).toISOString() },
    ]);
  });
  test.each<[what: string, voided: VoidedPurchase, line: Partial<Line>, answer: "404" | "400"]>([
    ["a partial void and a 404", PARTLY, ONE_TIME, "404"],
    ["a full void and a 404 of a subscription", FULL, {}, "404"],
    ["a full void and a refusal of the request", FULL, ONE_TIME, "400"],
  ])("%s revoke nothing", async (_, voided, line, answer) => {
    const swept = await aPackage(page(null, voided));
    await swept.own(TOKEN, "production", NOW - DAY, line);
    const report = await swept.sweep(() =>
      Promise.resolve(answer === "404" ? UNKNOWN : { ...UNKNOWN, status: 400, reason: "invalid" }),
    );
    expect(report).toEqual({ found: 1, behind: 1 });
    expect((await swept.world.read("user-1")).entitlements).toMatchObject([{ active: true }]);
  });
  test("a full void of a one-time purchase that is answered revokes nothing", async () => {
    const swept = await aPackage(page(null, FULL));
    await swept.own(TOKEN, "production", NOW - DAY, ONE_TIME);
    expect(await swept.sweep()).toEqual({ found: 1, behind: 0 });
    expect((await swept.world.read("user-1")).entitlements).toMatchObject([{ active: true }]);
  });
  test("a full void that is listed again writes nothing", async () => {
    const swept = await aPackage(page(null, FULL), page(null, FULL));
    await swept.own(TOKEN, "production", NOW - DAY, ONE_TIME);
    const sweep = (moment: Instant) => swept.sweep(() => Promise.resolve(UNKNOWN), { now: () => moment });
    await sweep(NOW);
    const stored = async () =>
      (await swept.world.items()).filter(({ sk }) => !String(sk).startsWith("SWEEP"));
    const before = await stored();
    expect(await sweep(NOW + HOUR)).toEqual({ found: 0, behind: 0 });
    expect(await stored()).toEqual(before);
  });
  test("revokes nothing by itself", async () => {
    const swept = await aPackage(page(null, TOKEN));
    await swept.own(TOKEN, "production", NOW - DAY);
    const before = (await swept.world.items()).filter(({ sk }) => !String(sk).startsWith("SWEEP"));
    await swept.sweep(() => Promise.resolve({ outcome: "gone", status: 410, reason: null }));
    const after = (await swept.world.items()).filter(({ sk }) => !String(sk).startsWith("SWEEP"));
    expect(after).toEqual(before);
    expect((await swept.world.read("user-1")).entitlements).toMatchObject([{ active: true }]);
  });
  test.each<[what: string, outcome: Awaited<ReturnType<AndroidStore["lookUp"]>>]>([
    ["does not answer", { outcome: "unavailable", retryAfterSeconds: 5, status: 503, reason: null }],
    ["rejects the credential", { outcome: "credential-rejected", status: 401, reason: null }],
  ])("is read again where the store %s about a purchase on it", async (_, outcome) => {
    const swept = await aPackage(page(null, TOKEN));
    await swept.own(TOKEN, "production", NOW - DAY);
    expect(await swept.sweep(() => Promise.resolve(outcome))).toEqual({ found: 0, behind: 1 });
    expect(await swept.markOf()).toBe(PRESENT - HOUR);
  });
  test.each<[what: string, status: number, reason: string]>([
    ["refuses for a reason that is not known", 400, "aReasonOfNextYear"],
    ["gives in a form that cannot be read", 200, "malformedAnswer"],
  ])("goes on past a purchase whose answer the store %s, and retries", async (_, status, reason) => {
    const voided = page(null, "stuck", TOKEN);
    const swept = await aPackage(voided, voided);
    await swept.own("stuck", "production", NOW - DAY);
    await swept.own(TOKEN, "production", NOW - DAY);
    const asked: string[] = [];
    const sweep = () =>
      swept.sweep((_of, { purchaseToken }) => {
        asked.push(purchaseToken);
        return Promise.resolve(
          purchaseToken === "stuck"
            ? { outcome: "unavailable", retryAfterSeconds: 5, status, reason }
            : { outcome: "gone", status: 410, reason: null },
        );
      });
    expect(await sweep()).toEqual({ found: 1, behind: 1 });
    expect(new Set(asked)).toEqual(new Set(["stuck", TOKEN]));
    expect(await swept.markOf()).toBe(PRESENT - HOUR);
    await sweep();
    expect(asked.filter((token) => token === "stuck")).toHaveLength(2);
  });
  const TWO_DAYS_OLD = NOW - 2 * DAY - 2 * HOUR;
  const ANSWERS = {
    refused: { outcome: "unavailable", retryAfterSeconds: 5, status: 400, reason: "aReasonOfNextYear" },
    "busy (503)": { outcome: "unavailable", retryAfterSeconds: 5, status: 503, reason: "backendError" },
    "over its quota": { outcome: "unavailable", retryAfterSeconds: 5, status: 429, reason: "quotaExceeded" },
    silent: { outcome: "unavailable", retryAfterSeconds: 5, status: null, reason: "timeout" },
  } as const;
  test.each<[what: string, store: keyof typeof ANSWERS, before: Instant, behind: number, after: Instant]>([
    [
      "is read on past a purchase about which the store does not answer, and read again",
      "refused",
      TWO_DAYS_OLD + 1,
      1,
      TWO_DAYS_OLD + 1,
    ],
    [
      "is not read again for a purchase of a period that is two days old",
      "refused",
      TWO_DAYS_OLD,
      0,
      PRESENT,
    ],
    ...(["busy (503)", "over its quota", "silent"] as const).map(
      (store): [string, keyof typeof ANSWERS, Instant, number, Instant] => [
        "is read again however old the period is, as after an outage",
        store,
        NOW - 20 * DAY,
        1,
        NOW - 20 * DAY,
      ],
    ),
  ])("%s, where the store is %s", async (_, store, before, behind, after) => {
    const stuck = page(null, "stuck");
    const swept = await aPackage(stuck, page(null), page(null), page(null, TOKEN));
    await createWatermarks(table).raise(swept.swept, before);
    await swept.own("stuck", "production", NOW - 20 * DAY);
    await swept.own(TOKEN, "production", NOW - 20 * DAY);
    const asked: string[] = [];
    const report = await swept.sweep((configuration, question) => {
      asked.push(question.purchaseToken);
      return question.purchaseToken === "stuck"
        ? Promise.resolve(ANSWERS[store])
        : swept.lookUp(configuration, question);
    });
    expect(asked).toEqual(["stuck", TOKEN]);
    expect(report).toEqual({ found: 1, behind });
    expect(await swept.markOf()).toBe(after);
  });
  test("stops after three purchases without an answer", async () => {
    const tokens = ["1", "2", "3", "4"];
    const swept = await aPackage(page(null, ...tokens));
    for (const token of tokens) await swept.own(token, "production", NOW - DAY);
    const asked: string[] = [];
    await swept.sweep((_of, { purchaseToken }) => {
      asked.push(purchaseToken);
      return Promise.resolve({ outcome: "unavailable", retryAfterSeconds: 5, status: 503, reason: null });
    });
    expect(asked).toHaveLength(3);
  });
  test("is read past three that the store never answers", async () => {
    const stuck = ["1", "2", "3"];
    const unknown = Array.from({ length: 40 }, (_, index) => `unknown-${index}`);
    const [beside, after] = ["beside", TOKEN];
    const pages = Array.from({ length: 4 }, () => [
      page("next", ...stuck, beside, ...unknown),
      page(null, after),
    ]);
    const swept = await aPackage(...pages.flat());
    for (const token of [...stuck, beside, after]) await swept.own(token, "production", NOW - DAY);
    const asked: string[][] = [];
    for (let hour = 0; hour < 4; hour += 1) {
      asked.push([]);
      await swept.sweep(
        (_of, { purchaseToken }) => {
          asked.at(-1)?.push(purchaseToken);
          return Promise.resolve(
            stuck.includes(purchaseToken)
              ? { outcome: "unavailable", retryAfterSeconds: 5, status: 500, reason: "backendError" }
              : { outcome: "gone", status: 410, reason: null },
          );
        },
        { now: () => PRESENT + hour * HOUR },
      );
    }
    expect(asked[0]).toContain(after);
    expect(asked.flat()).toContain(beside);
  });
  test.each<[what: string, status: number, reason: string | null]>([
    ["refuses for reasons that are not known", 400, "aReasonOfNextYear"],
    ["gives in a form that cannot be read", 200, "malformedAnswer"],
  ])("goes on past any number of purchases whose answers the store %s", async (_, status, reason) => {
    const stuck = ["1", "2", "3", "4"];
    const swept = await aPackage(page(null, ...stuck, TOKEN));
    for (const token of [...stuck, TOKEN]) await swept.own(token, "production", NOW - DAY);
    const report = await swept.sweep((_of, { purchaseToken }) =>
      Promise.resolve(
        purchaseToken === TOKEN
          ? { outcome: "gone", status: 410, reason: null }
          : { outcome: "unavailable", retryAfterSeconds: 5, status, reason },
      ),
    );
    expect(report).toEqual({ found: 1, behind: 1 });
  });
  test("that the store does not give is read again", async () => {
    const swept = await aPackage({ outcome: "unavailable", status: 500, reason: null });
    expect(await swept.sweep()).toEqual({ found: 0, behind: 1 });
    expect(await swept.markOf()).toBe(PRESENT - HOUR);
  });
});
