import { retellApplication } from "../../../lib/administration/acts/scans.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { createChangeTable } from "../../../lib/table/telling/changes.ts";
import { accountId, applicationId } from "../../../lib/identifiers.ts";
import { byCredential, owned } from "../../../testing/support/world.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { anApplication, BACKEND, PRODUCTS, withOperator, type ToldApplication } from "../telling-world.ts";
import { refusedWith } from "../run-operator.ts";

const given = withOperator();

const MINUTE = 60_000;

const looksOf = async ({ identifier }: ToldApplication) =>
  createChangeTable(given.table, () => Promise.resolve("")).due(identifier, NOW + 60 * MINUTE, 1000);

const retell = (application: ToldApplication, ...words: string[]) =>
  given.operator.run(["application", "retell", application.identifier, "--json", ...words]);

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
    expect([done.code, done.json()]).toEqual([
      0,
      {
        applicationIdentifier: application.identifier,
        accounts: 2,
        lookedAtUntil: isoTime(NOW + MINUTE + 5010),
      },
    ]);
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
      null,
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
    expect((await retell(application, "--after", after)).json()).toMatchObject({ accounts: 0 });
  });

  test("is refused where the application sends no changes, or without a position", async () => {
    const application = await anApplication(given, []);
    expect(await retell(application)).toMatchObject(refusedWith("Changes of Trails are not published"));
    expect(await looksOf(application)).toEqual([]);
    expect(await retell(await told(["a"]), "--after", "somewhere")).toMatchObject(
      refusedWith("--after takes the position"),
    );
  });
});
