import {
  type PauseReason,
  askAfterFailure,
  type AskOutcome,
  type Said,
} from "../../../lib/customers/asking/ask.ts";
import { pausesOf } from "../../../lib/customers/asking/ask-due-purchases.ts";
import type { Acknowledgement } from "../../../lib/customers/storing/records.ts";
import { HOUR, MINUTE, SECOND } from "../../../lib/duration.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import type { ApplicationId } from "../../../lib/identifiers.ts";
import { BUNDLE } from "../../../testing/support/stores/ios-store.ts";
import { aLine, aPurchase, DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { owned } from "../../../testing/support/world.ts";
import {
  aName,
  createRefreshing,
  OTHER_BUNDLE,
  queuedOf,
  recordedOf,
  type Refreshing,
} from "../refreshing.ts";

const DOWN: AskOutcome = { outcome: "unavailable", retryAt: null };
const NONE = { made: 0, due: 0, oldest: 0, nearDeadline: 0, failed: 0 };

const table = await aUseCaseTable();

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

/** An application with so many subscriptions that have ended, a minute ago unless a test says otherwise. */
const ended = async (count: number, endsAt = NOW - MINUTE) => {
  const refreshing = createRefreshing(table);
  for (const key of names(count)) await refreshing.hold(key, endsAt);
  return refreshing;
};

/** The numbers of questions, by the moments at which they were asked. */
const rateOf = ({ asked }: Refreshing, of: (key: string) => boolean = () => true): readonly number[] =>
  [
    ...Map.groupBy(
      asked.filter(({ key }) => of(key)),
      ({ at }) => at,
    ).values(),
  ].map(({ length }) => length);

describe("a run", () => {
  test("asks about what is due, oldest first, and moves it with the answer", async () => {
    const refreshing = createRefreshing(table);
    await refreshing.hold("1", NOW - MINUTE);
    await refreshing.hold("2", NOW - HOUR);
    await refreshing.hold("3", NOW + HOUR);
    const report = await refreshing.run();
    expect(refreshing.asked.map(({ key }) => key)).toEqual(["2", "1"]);
    expect(report).toEqual({ asked: 2, failed: 0, oldest: 0, paused: [], acknowledgements: NONE });
    const queued = await queuedOf(refreshing.world);
    expect(Object.values(queued).every((at) => at > refreshing.clock.now())).toBe(true);
    expect(await recordedOf(refreshing.world)).toEqual(queued);
  });
  test("asks 30 times a second, and 3 times in the sandbox", async () => {
    const refreshing = createRefreshing(table);
    for (const key of names(70)) await refreshing.hold(key, NOW - MINUTE);
    for (const key of names(40)) await refreshing.hold(`test ${key}`, NOW - HOUR, { environment: "sandbox" });
    await refreshing.run();
    expect(rateOf(refreshing, (key) => !key.startsWith("test"))).toEqual([30, 30, 10]);
    expect(rateOf(refreshing, (key) => key.startsWith("test"))).toEqual([...names(13).map(() => 3), 1]);
    expect(refreshing.clock.now() - NOW).toBeLessThanOrEqual(15 * SECOND);
  });

  test("goes on where an application cannot be read, or a queue", async () => {
    const [broken, whole] = [aName(), aName()];
    const refreshing = createRefreshing(table, [broken, whole]);
    await refreshing.hold("1", NOW - MINUTE, { application: whole, bundleIdentifier: OTHER_BUNDLE });
    const { directory, queues } = refreshing.runOn(table);
    const due = () => Promise.reject(new Error("It cannot be read."));
    const byIdentifier = (one: ApplicationId) => (one === broken ? due() : directory.byIdentifier(one));
    const of: typeof queues.of = (one) => ({
      ...queues.of(one),
      ...(one.bundleOrPackage !== OTHER_BUNDLE && { due }),
    });
    const report = await refreshing.run({ directory: { byIdentifier }, queues: { ...queues, of } });
    expect(report).toMatchObject({ asked: 1 });
    expect(refreshing.failures.length).toBeGreaterThan(1);
  });

  test("starts nothing once its time is up, and tells the age of what is left", async () => {
    const refreshing = await ended(40);
    const report = await refreshing.run({}, SECOND / MINUTE);
    expect(report).toMatchObject({ asked: 30, paused: [], oldest: MINUTE - 4 * SECOND });
    expect(await refreshing.run()).toMatchObject({ asked: 10, oldest: 0 });
  });
});

describe("a question without an answer", () => {
  const endedFor = (milliseconds: number) => {
    const endsAt = NOW - milliseconds;
    return aPurchase({ lines: [aLine({ startsAt: endsAt - 30 * DAY, endsAt, verifiedAt: endsAt - HOUR })] });
  };
  const after = (purchase: Purchase, said: Said, acknowledgement: Acknowledgement | null = null) => {
    const next = askAfterFailure({ purchase, acknowledgement }, said, NOW);
    return next && { in: next.at - NOW, because: next.because };
  };
  const unanswered = (step: number) => ({ in: step, because: "no-answer" });

  test.each<[said: Said, daysLater: number, running: number]>([
    ["unavailable", HOUR, HOUR],
    ["credential-rejected", HOUR, HOUR],
    ["failed", HOUR, HOUR],
    ["unknown", 6 * HOUR, 20 * DAY - HOUR],
  ])("is asked again closely for a day after an end, then rarely: %s", (said, ...steps) => {
    expect(after(endedFor(15 * MINUTE), said)).toEqual(unanswered(5 * MINUTE));
    expect(after(endedFor(DAY - 1), said)).toEqual(unanswered(5 * MINUTE));
    expect(after(endedFor(3 * DAY), said)).toEqual(unanswered(steps[0]));
    expect(after(aPurchase(), said)).toEqual(unanswered(steps[1]));
    // Without a key the facts alone say when: a key may be given.
    expect(after(endedFor(2 * MINUTE), "unconfigured")).toEqual(unanswered(8 * MINUTE));
  });
  test("is dropped once the purchase is long over, if Google has answered", () => {
    for (const said of ["unavailable", "unknown", "unconfigured"] as const) {
      expect(after(endedFor(60 * DAY), said)).toBeNull();
      expect(after(endedFor(59 * DAY), said)).not.toBeNull();
    }
    const atGoogle = { ...endedFor(61 * DAY), store: "android-store" } as const;
    expect(after(atGoogle, "unknown")).toBeNull();
    expect(after(atGoogle, "unavailable")).toEqual(unanswered(6 * HOUR));
  });
  test("is asked again hourly after the last step, for 60 days", () => {
    const pass = (verifiedAt: number) =>
      aPurchase({
        lines: [aLine({ nature: "non_renewing", startsAt: NOW - 400 * DAY, endsAt: null, verifiedAt })],
      });
    expect(after(pass(NOW - 60 * DAY + 1), "unavailable")).toEqual(unanswered(HOUR));
    expect(after(pass(NOW - 60 * DAY), "unavailable")).toBeNull();
  });
  test("is asked again with its acknowledgement, if that is sooner", () => {
    const pending = { dueSince: NOW - DAY, deadline: NOW + 90 * MINUTE };
    for (const said of ["unavailable", "unknown", "unconfigured"] as const)
      expect(after(aPurchase(), said, pending)).toEqual(unanswered(30 * MINUTE));
  });

  test("without an owner comes at the next try or by the facts", () => {
    const pending = { dueSince: NOW - DAY, deadline: NOW + 2 * DAY };
    expect(after(aPurchase(), "unclaimed", pending)).toEqual({ in: HOUR, because: "acknowledgement" });
    expect(after(endedFor(2 * MINUTE), "unclaimed", pending)).toEqual({ in: 8 * MINUTE, because: "renewal" });
    expect(after(aPurchase(), "unclaimed")).toEqual({ in: 20 * DAY - HOUR, because: "renewal" });
    expect(after(endedFor(60 * DAY), "unclaimed")).toBeNull();
  });

  test.each([
    ["a minute where this service fails", false, MINUTE],
    ["an hour where the purchase cannot be read, too", true, HOUR],
  ])("moves by %s, pauses nothing and holds up no other", async (_, isUnreadable, step) => {
    const refreshing = await ended(31);
    const { table: facts } = refreshing.runOn(table);
    const isBad = ({ key }: { readonly key: string }): boolean => Number(key) < 30;
    const fails = () => Promise.reject(new Error("The item is not of its shape."));
    refreshing.answering(({ purchase }, moment) =>
      isBad(purchase) ? fails() : owned(purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    const findFacts: typeof facts.findFacts = (application, identities, purchases, moment) =>
      isUnreadable && purchases.some(isBad)
        ? fails()
        : facts.findFacts(application, identities, purchases, moment);
    const report = await refreshing.run({ table: { ...facts, findFacts } });
    expect(report).toMatchObject({ asked: 1, failed: 30, oldest: 0, paused: [] });
    expect(await queuedOf(refreshing.world)).toMatchObject({ 0: NOW + step, 29: NOW + step });
    expect(refreshing.failures).toHaveLength(isUnreadable ? 60 : 30);
  });
});

describe("a bundle whose store fails", () => {
  test.each<[what: string, answer: (clock: Refreshing["clock"]) => AskOutcome | Promise<AskOutcome>]>([
    ["is down", () => DOWN],
    ["takes 15 seconds for each answer", ({ wait }) => wait(15 * SECOND).then(() => DOWN)],
  ])("delays no other bundle or environment: it %s", async (_, answer) => {
    const refreshing = createRefreshing(table);
    for (const key of names(40)) await refreshing.hold(`failing ${key}`, NOW - HOUR / 2);
    const others = [{ bundleIdentifier: OTHER_BUNDLE }, { environment: "sandbox" }] as const;
    for (const [place, other] of others.entries())
      for (const key of names(10)) await refreshing.hold(`${place} ${key}`, NOW - MINUTE, other);
    refreshing.answering(({ purchase }, moment) =>
      purchase.key.startsWith("failing")
        ? answer(refreshing.clock)
        : owned(purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment }),
    );
    const { paused, ...report } = await refreshing.run();
    expect(report).toMatchObject({ asked: 20, failed: 30 });
    expect(paused).toMatchObject([{ bundleOrPackage: BUNDLE, environment: "production" }]);
    const answered = refreshing.asked.filter(({ key }) => !key.startsWith("failing"));
    expect(Math.max(...answered.map(({ at }) => at)) - NOW).toBeLessThan(5 * SECOND);
    const waiting = Object.entries(await queuedOf(refreshing.world)).filter(([, at]) => at < NOW);
    expect(waiting).toHaveLength(40);
  });

  test("is reported with its pause and the age of what waits", async () => {
    const refreshing = await ended(1, NOW - 10 * MINUTE);
    refreshing.answering(() => DOWN);
    const dueAt = NOW - 10 * MINUTE + 5 * SECOND;
    const queue = {
      application: refreshing.world.application.identifier,
      store: "ios-store",
      environment: "production",
      bundleOrPackage: BUNDLE,
    };
    const pause = { ...queue, because: "unavailable", failingSince: NOW, until: NOW + MINUTE / 2 };
    expect(await refreshing.run()).toMatchObject({ failed: 1, oldest: NOW - dueAt, paused: [pause] });
    const later = NOW + 20 * SECOND;
    refreshing.clock.set(later);
    expect(await refreshing.run()).toMatchObject({ failed: 0, oldest: later - dueAt, paused: [pause] });
    refreshing.clock.set(NOW + MINUTE);
    refreshing.answering();
    expect(await refreshing.run()).toMatchObject({ asked: 1, oldest: 0, paused: [] });
  });
});

test.each<[because: PauseReason, minutes: readonly number[]]>([
  ["unavailable", [0.5, 1, 2, 4, 5]],
  ["credential-rejected", [5, 15, 60]],
])("a store that is %s is tried after %j minutes", (because, minutes) => {
  expect(pausesOf(because)).toEqual(minutes.map((one) => one * MINUTE));
});

test.each<[what: string, named: number, pause: number]>([
  ["for the time that it names", 20 * MINUTE, 20 * MINUTE],
  ["for an hour", HOUR, HOUR],
  ["for an hour where it names a later time", DAY, HOUR],
  ["no shorter than its pause where it names an earlier one", MINUTE / 60, MINUTE / 2],
])("a store is left alone %s", async (_, named, pause) => {
  const refreshing = await ended(1);
  refreshing.answering(() => ({ outcome: "unavailable", retryAt: NOW + named }));
  const { paused } = await refreshing.run();
  expect(paused).toMatchObject([{ because: "unavailable", failingSince: NOW, until: NOW + pause }]);
});
