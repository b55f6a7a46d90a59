import { readDifferences, readReport } from "../../../console/pages/import-files.ts";
import { createImportWorld, type ImportWorld } from "./world.ts";

let world: ImportWorld;
beforeAll(async () => {
  world = await createImportWorld({ count: 200, seed: 41 });
}, 120_000);
afterAll(async () => world.stop());

const run = async (paths: readonly string[], ...words: readonly string[]) =>
  world.operate("import", "run", ...paths, "--application", world.identifier, "--rate", "1000", ...words);

test("the report names the causes, and ends with what a switch would do", async () => {
  const { paths, planted } = await world.export("table");
  const ran = await run(paths, "--dry-run");
  const lines = ran.out.trimEnd().split("\n");
  const of = (cause: string): number => planted.filter((each) => each.cause === cause).length;
  expect(lines[0]).toMatch(/^\d+ rows, \d+ accounts: \d+ agree \(\d+\.\d %\), \d+ differ\.$/);
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^ +${of("refunded")} +refunded `)));
  expect(lines).toContainEqual(
    expect.stringMatching(/^If you switched now: \d+ payers? would lose access, \d+ would lose/),
  );
  expect(lines.at(-1)).toBe("Nothing was stored: it was a dry run.");
});

test("a switch is counted by who pays, and by who has access at the other service alone", async () => {
  const { paths } = await world.export("table");
  const ran = await run(paths, "--dry-run", "--json");
  const losing = new Set<string>(["two-accounts", "no-token", "product-not-mapped"]);
  const pays = world.persons.filter(
    ({ lie, isActive, claim }) =>
      lie !== null && losing.has(lie) && (lie === "no-token" ? claim.isActive : isActive),
  );
  const unnoticed = world.persons.filter(
    ({ lie, isActive, claim, account }) =>
      account !== null && claim.isActive && !isActive && lie !== "no-token" && lie !== "two-accounts",
  );
  const twice = pays.filter(({ lie }) => lie === "two-accounts").length;
  expect(ran.json()).toMatchObject({
    ifSwitched: { payersLose: pays.length + twice, othersLose: unnoticed.length, notKnown: 0 },
  });
});
test("the console reads a run's report and its list of accounts", async () => {
  const { paths, planted } = await world.export("table");
  const ran = await run(paths, "--dry-run", "--json");
  const files = ran.json() as { readonly report: string; readonly differences: string };
  const report = readReport(world.read(files.report));
  expect(report?.sentence).toMatch(/^If you switched now: \d+ payers? would lose access, /);
  const counted = Map.groupBy(planted, ({ cause }) => cause);
  const causes = report?.causes.map(({ cause, accounts }) => [cause, accounts]);
  expect(new Map(causes as [string, number][])).toEqual(
    new Map([...counted].map(([cause, all]) => [cause, new Set(all.map(({ account }) => account)).size])),
  );
  const listed = readDifferences(world.read(files.differences)) ?? [];
  const texts = (all: readonly { account: string; cause: string }[]): Set<string> =>
    new Set(all.map(({ account, cause }) => `${cause} ${account}`));
  expect(texts(listed)).toEqual(texts(planted));
});
