import type { AndroidStoreConfiguration } from "../../../lib/applications/application.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { ApplicationId } from "../../../lib/identifiers.ts";
import { sweepApplications, type PeriodOutcome, type SweepReport } from "../../../lib/customers/sweep.ts";
import type { StoreInEnvironment } from "../../../lib/customers/application-stores.ts";
import { createWatermarks } from "../../../lib/table/queues/notifications.ts";
import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { aName } from "../refreshing.ts";
import { anApplication } from "../../../testing/support/application.ts";

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

/** Applications with one list each, whose periods are read as a test says. */
const aSweep = (first = aName(), ...others: readonly ApplicationId[]) => {
  const watermarks = createWatermarks(table);
  const clock = { now: NOW };
  const periods: (readonly [application: ApplicationId, from: Instant, to: Instant])[] = [];
  const failures: unknown[] = [];
  const read = (): Promise<PeriodOutcome> => Promise.resolve({ outcome: "read", found: 1 });
  return {
    first,
    clock,
    periods,
    failures,
    markOf: (application = first) => watermarks.read(sweptOf(application)),
    mark: (at: Instant) => watermarks.raise(sweptOf(first), at),
    run: (
      answer: (application: ApplicationId) => Promise<PeriodOutcome> = read,
      until = Infinity,
    ): Promise<SweepReport> =>
      sweepApplications(
        {
          watermarks,
          directory: {
            byIdentifier: async (identifier) => anApplication({ identifier, androidStore: [PACKAGE] }),
          },
          applications: () => Promise.resolve([first, ...others]),
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
    const hours = [4, 8, 16, ...Array(28).fill(24), 19];
    let from = PRESENT - FURTHEST;
    expect(sweep.periods).toEqual(hours.map((each) => [sweep.first, from, (from += each * HOUR)]));
    expect([from, await sweep.markOf()]).toEqual([PRESENT, PRESENT]);
  });

  test("is read again from two hours before the last time", async () => {
    const sweep = aSweep();
    await sweep.mark(PRESENT - HOUR);
    await sweep.run();
    expect(sweep.periods).toEqual([[sweep.first, PRESENT - 3 * HOUR, PRESENT]]);
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
});

test("each application is in time the first of a run", async () => {
  const [first, ...others] = [aName(), aName(), aName()];
  const sweep = aSweep(first, ...others);
  const begun = new Set<ApplicationId | undefined>();
  for (let hour = 0; hour < 9; hour += 1) {
    sweep.periods.length = 0;
    await sweep.run();
    begun.add(sweep.periods[0]?.[0]);
    sweep.clock.now += HOUR;
  }
  expect(begun).toEqual(new Set([first, ...others]));
});

test("a failure of one application does not stop the others", async () => {
  const failure = new Error("The list cannot be read.");
  const [one, other] = [aName(), aName()];
  const sweep = aSweep(one, other);
  const report = await sweep.run((application) =>
    application === one ? Promise.reject(failure) : Promise.resolve({ outcome: "read", found: 0 }),
  );
  expect(report).toEqual({ found: 0, behind: 1 });
  expect(sweep.failures).toEqual([failure]);
  expect([await sweep.markOf(one), await sweep.markOf(other)]).toEqual([null, PRESENT]);
});
