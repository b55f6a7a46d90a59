import { retellApplication } from "../../../lib/administration/acts/scans.ts";
import { HOUR, MINUTE } from "../../../lib/duration.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { accountId, applicationId } from "../../../lib/identifiers.ts";
import { deletion, transact, update } from "../../../lib/table/dynamodb/writes.ts";
import { keys, partitions } from "../../../lib/table/keys.ts";
import { createChangeTable } from "../../../lib/table/telling/changes.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { byCredential, owned, refunded } from "../../../testing/support/world.ts";
import { refusedWith } from "../run-operator.ts";
import {
  anApplication,
  BACKEND,
  BUS,
  PRODUCTS,
  sold,
  withOperator,
  type ToldApplication,
} from "../telling-world.ts";

const given = withOperator();
const A = accountId("a");

const show = async (application: ToldApplication, moment = NOW, account: string = A) => {
  const line = `account show APPLICATION ${account}`;
  const { out } = await application.run(line, { moment });
  const json = await application.json(line, { moment });
  const lines = out.split("\n");
  const start = lines.indexOf("Told");
  const end = lines.findIndex((line, index) => index > start && !line.startsWith(" "));
  return {
    told: json["told"],
    text: start < 0 ? [] : lines.slice(start + 1, end).map((line) => line.trim()),
  };
};

/** Sets when time alone makes the account due. */
const setLook = (application: ToldApplication, lookAt: number | null) =>
  transact(given.table, [update(keys.told(application.identifier, A), { lookAt })]);

describe("account show", () => {
  test("and account export show the last state sent, what waits, and the next look", async () => {
    const { application, world } = await sold(given, [BACKEND, BUS]);
    await application.tell(NOW);
    await world.store({ purchases: [refunded("1")] });
    await application.tell(NOW + HOUR);
    await setLook(application, NOW + DAY);
    const { queue, reference, deliveries } = application;
    for (const delivery of await deliveries()) await queue.retry(reference(), delivery, 3, NOW + 2 * HOUR);
    for (const delivery of await deliveries("bus")) await queue.remove(reference("bus"), delivery);
    const { told, text } = await show(application, NOW + HOUR);
    const exported = await application.json("account export APPLICATION a", { moment: NOW + HOUR });
    expect(exported["told"]).toEqual(told);
    expect(told).toEqual({
      version: 2,
      toldAt: isoTime(NOW + HOUR),
      entitlements: [expect.objectContaining({ identifier: "premium", status: "revoked", active: false })],
      entitlementIdentifiers: ["premium"],
      lookDueSince: null,
      nextLookAt: isoTime(NOW + DAY),
      destinations: [
        {
          name: "backend",
          waiting: { version: 2, since: isoTime(NOW), tries: 3, nextTryAt: isoTime(NOW + 2 * HOUR) },
        },
        { name: "bus", waiting: null },
      ],
    });
    expect(text).toEqual([
      `version 2, ${isoTime(NOW + HOUR)}: premium revoked`,
      `backend: version 2 waits, since ${isoTime(NOW)}; 3 tries, next ${isoTime(NOW + 2 * HOUR)}`,
      "bus: nothing waits",
      `next look: at ${isoTime(NOW + DAY)}, or when something changes it`,
    ]);
  });

  test("tells that a look is due, and that nothing was told yet", async () => {
    const { application } = await sold(given);
    const { told, text } = await show(application);
    expect(told).toMatchObject({ version: 0, toldAt: null, entitlements: null, lookDueSince: isoTime(NOW) });
    expect(text).toEqual(["nothing yet", "backend: nothing waits", `to be looked at since ${isoTime(NOW)}`]);
    // Another account's look is not its own, nor is one of later.
    expect((await show(application, NOW, "b")).told).toMatchObject({ lookDueSince: null });
    expect((await show(application, NOW - 1)).told).toMatchObject({ lookDueSince: null });
  });

  test("shows what it can of a change that has expired", async () => {
    const { application } = await sold(given);
    await application.tell();
    await setLook(application, null);
    const changes = await application.itemsOf("#CHANGES#");
    const pk = partitions.change(application.identifier, isoTime(NOW).slice(0, 10));
    await transact(
      given.table,
      changes.map(({ sk }) => deletion({ pk, sk: String(sk) })),
    );
    const { told, text } = await show(application);
    expect(told).toMatchObject({ version: 1, toldAt: null, entitlements: null });
    expect(text).toEqual([
      "version 1, more than 30 days ago: premium",
      `backend: version 1 waits, since ${isoTime(NOW)}; 0 tries, next at once`,
      "next look: when something changes it",
    ]);
  });
});

const looksOf = async ({ identifier }: ToldApplication) =>
  createChangeTable(given.table, () => Promise.resolve("")).due(identifier, NOW + 60 * MINUTE, 1000);

const retell = ({ run }: ToldApplication, more = "") => run(`application retell APPLICATION --json${more}`);

/** An application whose accounts have told all that there was. */
const told = async (accounts: readonly string[]) => {
  const application = await anApplication(given);
  const world = await application.world();
  for (const [index, account] of accounts.entries())
    await world.store({ purchases: [owned(`p${index}`)] }, byCredential(account));
  await application.tell();
  return application;
};

const changesOf = async (application: ToldApplication) =>
  (await application.itemsOf("#CHANGES#"))
    .map(({ data }) => JSON.parse(String(data)))
    .map(({ applicationAccountIdentifier, version, entitlements }) => [
      applicationAccountIdentifier,
      version,
      entitlements.map(({ identifier }: { identifier: string }) => identifier).join(),
    ]);

describe("application retell", () => {
  test("publishes a changed catalog to every account, once all functions know it", async () => {
    const application = await told(["a", "b c/d#e"]);
    await application.configure([BACKEND], {
      products: PRODUCTS.map((product) => ({ ...product, grants: ["gold"] })),
    });
    await application.tell(NOW + MINUTE);
    expect(await changesOf(application)).toHaveLength(2);
    const done = await retell(application);
    expect(done.code).toBe(0);
    expect(done.json()).toEqual({
      applicationIdentifier: application.identifier,
      accounts: 2,
      lookedAtUntil: isoTime(NOW + MINUTE + 5010),
    });
    await application.tell(NOW + MINUTE);
    expect(await changesOf(application)).toHaveLength(2);
    await application.tell(NOW + MINUTE + 5010);
    expect((await changesOf(application)).toSorted()).toEqual([
      ["a", 1, "premium"],
      ["a", 2, "gold"],
      ["b c/d#e", 1, "premium"],
      ["b c/d#e", 2, "gold"],
    ]);
  });

  test("leaves out other applications' accounts, and takes one with several customers once", async () => {
    const [application, other] = [await told(["a", "a", "a"]), await told(["x"])];
    expect((await retell(application)).json()).toMatchObject({ accounts: 1 });
    expect((await looksOf(application)).map(({ account }) => account)).toEqual(["a"]);
    expect(await looksOf(other)).toEqual([]);
  });

  test("spreads the looks, at most a hundred a second", async () => {
    const accounts = Array.from({ length: 250 }, (_, index) => accountId(`user-${index}`));
    const dueAt: number[] = [];
    const done = await retellApplication(
      {
        customerPages: async function* () {
          yield { customers: [], accounts: accounts.slice(0, 120) };
          yield { customers: [], accounts: accounts.slice(120) };
        },
        makeDue: async (_, looks) => void dueAt.push(...looks.map((look) => look.dueAt)),
      },
      applicationId("a"),
      { after: null },
      () => NOW,
      () => undefined,
    );
    expect(done).toMatchObject({ accounts: 250, until: Math.max(...dueAt) });
    const seconds = Map.groupBy(dueAt, (moment) => Math.floor((moment - NOW) / 1000));
    expect([...seconds.values()].map((some) => some.length)).toEqual([100, 100, 50]);
  });

  test("tells how far it is, and goes on after an interruption", async () => {
    const application = await told(["a", "b", "c"]);
    const { err } = await retell(application);
    const { progress } = JSON.parse(err.trimEnd().split("\n").at(-1) ?? "");
    expect(progress).toMatch(/^3 accounts; if this is interrupted, go on with --after /);
    const [, after = ""] = /--after (\S+)$/.exec(progress) ?? [];
    expect((await retell(application, ` --after ${after}`)).json()).toMatchObject({ accounts: 0 });
  });

  test("is refused where the application sends no changes, or without a position", async () => {
    const application = await anApplication(given, []);
    expect(await retell(application)).toMatchObject(refusedWith("Changes of Trails are not published"));
    expect(await looksOf(application)).toEqual([]);
    expect(await retell(await told(["a"]), " --after somewhere")).toMatchObject(
      refusedWith("--after takes the position"),
    );
  });
});
