import { HOUR } from "../../../lib/duration.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { accountId } from "../../../lib/identifiers.ts";
import { createResendTable } from "../../../lib/table/telling/delivery-queue.ts";
import { createFeedTable } from "../../../lib/table/telling/changes.ts";
import { readChanges } from "../../../lib/telling/read-changes.ts";
import { resendChanges, type Resent } from "../../../lib/administration/acts/destinations.ts";
import { byCredential, owned, refunded } from "../../../testing/support/world.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { anApplication, BACKEND, BUS, type ToldApplication, withOperator } from "../telling-world.ts";
import { refusedWith } from "../run-operator.ts";

const given = withOperator();
/** Takes what waits, as a receiver does. */
const deliver = async ({ deliveries, queue, reference }: ToldApplication): Promise<void> => {
  for (const delivery of await deliveries()) await queue.remove(reference(), delivery);
};

const resend = (application: ToldApplication, since: string, name = "backend", moment = NOW) =>
  application.run(`destination resend APPLICATION ${name} --since ${since} --json`, { moment });

/** Cursors of all changes, the oldest first. */
const cursorsOf = async ({ identifier }: ToldApplication): Promise<string[]> =>
  (await readChanges({ feed: createFeedTable(given.table), now: () => NOW }, identifier, {})).changes.map(
    ({ cursor }) => cursor,
  );

/** An application whose accounts a, b and c were told, each at its own hour, and delivered. */
const told = async () => {
  const application = await anApplication(given);
  const world = await application.sellTo("a", "b", "c");
  await deliver(application);
  /** Account a loses its access, which is told. */
  const changeA = async (moment = NOW + 5 * HOUR): Promise<void> => {
    await world.store({ purchases: [refunded("a")] });
    await application.tell(moment);
  };
  return { application, world, changeA };
};

describe("destination resend", () => {
  test("delivers what has changed since a time or a cursor, to any destination", async () => {
    const { application } = await told();
    await application.configure([BACKEND, BUS]);
    const [first = "", , last = ""] = await cursorsOf(application);
    expect((await resend(application, last)).json()).toMatchObject({ accounts: 0, changes: 0 });
    expect(await application.waiting()).toEqual({});
    expect((await resend(application, first)).json()).toEqual({
      applicationIdentifier: application.identifier,
      destination: "backend",
      accounts: 2,
      changes: 2,
      cursor: last,
    });
    expect(await application.waiting()).toEqual({ b: 1, c: 1 });
    await resend(application, isoTime(NOW + HOUR), "bus");
    expect(await application.waiting("bus")).toEqual({ b: 1, c: 1 });
  });

  test("delivers only the newest version of an account", async () => {
    const { application, changeA } = await told();
    await changeA();
    await deliver(application);
    expect((await resend(application, isoTime(NOW))).json()).toMatchObject({ accounts: 3, changes: 4 });
    expect(await application.waiting()).toEqual({ a: 2, b: 1, c: 1 });
  });

  test("puts no older version in place of one that waits", async () => {
    const { application, changeA } = await told();
    await changeA();
    const place = { day: isoTime(NOW).slice(0, 10), sequence: 1 };
    const older = { account: accountId("a"), version: 1, place };
    const { deliverAgain } = createResendTable(given.table);
    expect(await deliverAgain(application.reference(), older, NOW)).toBe("newer");
    expect(await application.waiting()).toEqual({ a: 2 });
  });

  test("passes over erased accounts, and may be repeated", async () => {
    const { application, world } = await told();
    await world.erase(await world.store({ purchases: [owned("a")] }, byCredential("a")));
    await application.tell(NOW + 5 * HOUR);
    await deliver(application);
    await resend(application, isoTime(NOW));
    const sinceOf = async () => (await application.itemsOf("#DESTINATION#")).map(({ since }) => since);
    const before = await sinceOf();
    await resend(application, isoTime(NOW), "backend", NOW + DAY);
    expect(await sinceOf()).toEqual(before);
    expect(await application.waiting()).toEqual({ b: 1, c: 1 });
  });

  test("makes what the destination had refused due at once", async () => {
    const { application } = await told();
    await resend(application, isoTime(NOW + 2 * HOUR));
    for (const delivery of await application.deliveries())
      await application.queue.retry(application.reference(), delivery, 8, NOW + DAY);
    await resend(application, isoTime(NOW + 2 * HOUR));
    expect(await application.deliveries()).toMatchObject([{ tries: 0, nextTryAt: 0 }]);
  });

  test("shows its progress, and where to go on after an interruption", async () => {
    const { application } = await told();
    const feed = createFeedTable(given.table);
    const changesOf: typeof feed.changesOf = (of, day, after) => feed.changesOf(of, day, after, 2);
    const seen: Resent[] = [];
    const stopped = resendChanges(
      { feed: { ...feed, changesOf }, table: createResendTable(given.table), now: () => NOW },
      application.reference(),
      { time: NOW },
      (done) => {
        seen.push(done);
        throw new Error("interrupted");
      },
    );
    await expect(stopped).rejects.toThrow("interrupted");
    expect(seen).toMatchObject([{ accounts: 2, changes: 2, part: 2 / 3 }]);
    await deliver(application);
    const rest = await resend(application, seen[0]?.cursor ?? "");
    expect(rest.json()).toMatchObject({ accounts: 1, changes: 1 });
    expect(JSON.parse(rest.err)).toEqual({
      progress: expect.stringMatching(
        /^1 account of 1 change; 100 %; if this is interrupted, go on with --since \S+$/,
      ),
    });
  });

  test("refuses a cursor or a time older than what is kept", async () => {
    const { application, changeA } = await told();
    const [cursor = ""] = await cursorsOf(application);
    const late = NOW + 40 * DAY;
    await changeA(late);
    await deliver(application);
    for (const [since, problem] of [
      [cursor, "The cursor is not kept"],
      [isoTime(NOW), "kept for 30 days"],
    ] as const)
      expect(await resend(application, since, "backend", late)).toMatchObject(refusedWith(problem));
    expect(await application.waiting()).toEqual({});
  });

  test.each([
    ["backend", "yesterday", "this is neither"],
    ["backend", "2026-06-15", "this is neither"],
    ["nope", isoTime(NOW), "has no destination nope"],
  ])("to %s --since %s is refused", async (name, since, problem) => {
    const application = await anApplication(given);
    expect(await resend(application, since, name)).toMatchObject(refusedWith(problem));
  });
});
