import { readDifferences, readReport } from "../../../console/pages/import-files.ts";
import { FORMATS } from "../../../sandbox/exports/exports.ts";
import { LIE_NAMES } from "../../../sandbox/exports/persons.ts";
import { createImportWorld } from "./world.ts";

/** Several persons of each lie, and as many without. */
const lies = Object.fromEntries(LIE_NAMES.map((lie) => [lie, 0.03]));

const world = await createImportWorld({ count: 100, seed: 5, lies });
afterAll(world.stop);

const textsOf = (all: readonly { readonly account: string; readonly cause: string }[]): string[] =>
  [...new Set(all.map(({ account, cause }) => `${cause} ${account}`))].sort();

test.each(FORMATS)(
  "a dry run of %s lists the planted causes, and stores nothing",
  async (format) => {
    const { paths, planted } = await world.export(format);
    const before = await world.items();
    const { code, report: files } = await world.run(paths, "--dry-run");
    expect(code).toBe(0);
    expect(textsOf(readDifferences(world.read(files.differences)) ?? [])).toEqual(textsOf(planted));
    const causes = readReport(world.read(files.report))?.causes.map(({ cause, accounts }) => [
      cause,
      accounts,
    ]);
    const counted = [...Map.groupBy(planted, ({ cause }) => cause)].map(([cause, all]) => [
      cause,
      new Set(all.map(({ account }) => account)).size,
    ]);
    expect(causes?.map(String).sort()).toEqual(counted.map(String).sort());
    expect(await world.items()).toEqual(before);
  },
  120_000,
);

test("the report names the causes, and ends with what a switch would do", async () => {
  const { paths, planted } = await world.export("table");
  const words = ["import", "run", ...paths, "--application", world.identifier, "--rate", "1000", "--dry-run"];
  const lines = (await world.operate(...words)).out.trimEnd().split("\n");
  const refunded = planted.filter(({ cause }) => cause === "refunded").length;
  expect(lines[0]).toMatch(/^\d+ rows, \d+ accounts: \d+ agree \(\d+\.\d %\), \d+ differ\.$/);
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^ +${refunded} +refunded `)));
  expect(lines).toContainEqual(
    expect.stringMatching(/^If you switched now: \d+ payers? would lose access, \d+ would lose/),
  );
  expect(lines.at(-1)).toBe("Nothing was stored: it was a dry run.");
});

test("a switch is counted by who pays, and by who has access at the other service alone", async () => {
  const { paths } = await world.export("table");
  const ran = await world.run(paths, "--dry-run");
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
