import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import type { Person } from "../../../sandbox/exports/persons.ts";
import { createImportWorld, differing, type ImportWorld } from "./world.ts";

let world: ImportWorld;
beforeEach(async () => {
  world = await createImportWorld({ count: 24, seed: 11 });
}, 120_000);
afterEach(async () => world.stop());

/** The account that has a person's purchase after an import of its export. */
const expectedAccount = ({ lie, account, otherAccount }: Person): string | null =>
  lie === "two-accounts" ? null : lie === "swapped-account" ? otherAccount : account;

const isKnown = ({ lie, state }: Person): boolean => lie !== "no-token" && state !== "unknown";
const referenceOf = (person: Person): string =>
  person.ios?.originalTransactionIdentifier ?? person.android?.purchaseToken ?? "";

/** What the table has of a person's purchase. */
const storedOf = async (person: Person) =>
  (await world.state()).find(({ reference }) => reference.endsWith(` ${referenceOf(person)}`));

/** Reverses a file's rows. */
const reversed = (path: string): string => {
  const [header = "", ...lines] = readFileSync(path, "utf8").trimEnd().split("\n");
  return [header, ...lines.toReversed()].join("\n");
};

test("purchases are linked as the files say, and anonymous ones to nobody", async () => {
  const { paths } = await world.export("table");
  const { code, report } = await world.run(paths);
  expect(code).toBe(0);
  const state = await world.state();
  const named = world.persons.filter((person) => person.account !== null && isKnown(person));
  expect(state).toHaveLength(named.length);
  const accounts = state.map(({ account }) => account).sort();
  expect(accounts).toEqual(named.map(expectedAccount).sort());
  expect(state.every(({ account, assertedBy }) => account === null || assertedBy === "credential")).toBe(
    true,
  );
  expect(report.ifSwitched.notKnown).toBe(0);
});

test("a run twice, and a run of the rows in another order, end as one run", async () => {
  const { paths } = await world.export("table");
  await world.run(paths);
  const once = { state: await world.state(), items: (await world.items()).length };
  await world.run(paths);
  expect(differing(await world.state(), once.state)).toEqual([]);
  const entries = (await world.items()).filter(({ pk }) => String(pk).endsWith("#AUDIT"));
  expect(entries).toHaveLength(2);
  expect((await world.items()).length).toBe(once.items + 1);
  const other = await world.onNewTable();
  const turned = paths.map((path) => world.write("turned.csv", reversed(path)));
  expect((await other.run(turned)).code).toBe(0);
  expect(differing(await other.state(), once.state)).toEqual([]);
});
test("a journal names rows; neither it nor report nor list holds a token, a key or anything signed", async () => {
  const { paths } = await world.export("table");
  const { report, err } = await world.run(paths);
  const files = [report.journal, report.differences].map(world.read);
  expect(files[0]).toMatch(/^\{"file":0,"row":[1-9]\d*,"id":"[0-9a-f]{64}","outcome":"answered"/m);
  const told = [...files, JSON.stringify(report), err].join();
  expect(told.length).toBeGreaterThan(5_000);
  const tokens = world.persons.flatMap(({ android }) => android?.purchaseToken ?? []);
  expect(tokens.filter((token) => told.includes(token))).toEqual([]);
  expect(told).not.toMatch(/eyJ[\w-]{20}|PRIVATE KEY|cek_|MI[I-M][\w+/]{40}/);
});

test("a customer of another account is not moved, and an erasure is not lifted", async () => {
  const [linked, erased] = world.persons.filter((person) => person.lie === null && person.ios !== null);
  if (linked === undefined || erased === undefined) throw new Error("There is nobody.");
  const before = world.write(
    "before.csv",
    `account,original_transaction_id\nsomebody-else,${referenceOf(linked)}\nto-erase,${referenceOf(erased)}\n`,
  );
  expect((await world.run([before])).code).toBe(0);
  const shown = await world.operate("customer", "find", world.identifier, referenceOf(erased), "--json");
  const [customer = ""] = /[0-9a-f-]{36}/.exec(shown.out.replaceAll(world.identifier, "")) ?? [];
  const erase = ["customer", "erase", world.identifier, customer, "--reason", "asked", "--yes"];
  expect((await world.operate(...erase)).code).toBe(0);
  const { paths } = await world.export("table");
  const { report } = await world.run(paths);
  expect(report.accounts.byCause).toMatchObject({ "linked-elsewhere": 1, erased: 1 });
  expect((await storedOf(linked))?.account).toBe("somebody-else");
  expect(await storedOf(erased)).toBeUndefined();
});

test("what its store says between two runs is stored by the second", async () => {
  const person = world.personWith(
    ({ lie, ios, state }) => lie === null && ios !== null && state === "active",
  );
  const { paths } = await world.export("table");
  const before = await world.run(paths);
  await world.ios.change(referenceOf(person), { change: "refund" });
  const after = await world.run(paths);
  const refunded = ({ report }: Awaited<ReturnType<ImportWorld["run"]>>): number =>
    report.accounts.byCause["refunded"] ?? 0;
  expect(refunded(after)).toBe(refunded(before) + 1);
  const stored = await storedOf(person);
  expect(stored?.account).toBe(person.account);
  expect(stored?.lines.some(({ revokedAt }) => revokedAt !== null)).toBe(true);
});

test("a refused credential stops its bundle alone, and the run goes on once it is mended", async () => {
  const { paths } = await world.export("table");
  world.ios.failServerApi({ status: 401 });
  const stopped = await world.run(paths);
  expect(stopped.code).toBe(1);
  expect(stopped.report.stopped.every((gate) => gate.startsWith(`ios-store ${world.app} `))).toBe(true);
  expect(stopped.report.stopped.length).toBeGreaterThan(0);
  const stores = new Set((await world.state()).map(({ reference }) => reference.split(" ")[0]));
  expect(stores).toEqual(new Set(["android-store"]));
  world.ios.failServerApi(null);
  const resumed = await world.run(paths);
  expect(resumed.err).toContain("Continuing from the journal");
  expect(resumed.code).toBe(0);
  const named = world.persons.filter((person) => person.account !== null && isKnown(person));
  expect(await world.state()).toHaveLength(named.length);
});
test("several files are joined: orders, tokens and transactions of one purchase are one", async () => {
  const exported = await world.export("revenuecat-export");
  const tokens = await world.export("revenuecat-tokens");
  const { code, report } = await world.run([...exported.paths, ...tokens.paths]);
  expect(code).toBe(0);
  expect(report.accounts.byCause["two-accounts"]).toBe(
    2 * world.persons.filter(({ lie }) => lie === "two-accounts").length,
  );
});

test("what the files give to two accounts is linked as an operator decides", async () => {
  const disputed = world.personWith(({ lie }) => lie === "two-accounts");
  const { paths } = await world.export("table");
  const first = await world.run(paths);
  const rows: Record<string, string>[] = parse(world.read(first.report.differences), { columns: true });
  const own = rows
    .filter(({ cause }) => cause === "two-accounts")
    .find(({ account }) => account === disputed.account);
  const decide = world.write("decide.csv", `purchase,account\n${own?.["purchase"]},${disputed.account}\n`);
  const { report } = await world.run(paths, "--decide", decide);
  expect(report.accounts.byCause["two-accounts"]).toBe(
    (first.report.accounts.byCause["two-accounts"] ?? 0) - 1,
  );
  expect((await storedOf(disputed))?.account).toBe(disputed.account);
});

test("a run takes as many rows as it may, and of one environment", async () => {
  const { paths } = await world.export("table");
  await world.run(paths, "--limit", "10");
  expect((await world.state()).length).toBeLessThanOrEqual(10);
  await world.run(paths, "--environment", "sandbox");
  const sandbox = (await world.state()).filter(({ reference }) => reference.includes(" sandbox "));
  const bought = world.persons.filter((person) => person.environment === "sandbox" && isKnown(person));
  expect(sandbox).toHaveLength(bought.filter(({ account }) => account !== null).length);
});
