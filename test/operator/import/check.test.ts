import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { FORMATS, writeExport } from "../../../sandbox/exports/exports.ts";
import { planPersons } from "../../../sandbox/exports/plan.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { CATALOGS, MANIFEST } from "../../../testing/support/import.ts";
import { operate, refusedWith } from "../run-operator.ts";

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), "import-"))));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const check = async (...words: readonly string[]) => operate(["import", "check", ...words, "--json"]);

/** Each has one row. */
const lies = { "repeated-rows": 0, "alias-chain": 0, "two-accounts": 0 };
const persons = planPersons({ count: 400, seed: 3, at: NOW, catalogs: CATALOGS, lies });
const isOf = (lie: string) => persons.filter((person) => person.lie === lie).length;

test.each(FORMATS)("%s is recognized by its header", async (format) => {
  const { paths } = await writeExport(join(folder, format), persons, format, NOW);
  const checked = await check(...paths);
  expect(checked.json()).toMatchObject({ files: paths.map(() => ({ format })), problems: [] });
  expect(checked.code).toBe(0);
});

test("a check counts what a run would ask", async () => {
  const { paths } = await writeExport(join(folder, "counted"), persons, "revenuecat-export", NOW);
  const destinations = [{ name: "backend", url: "http://127.0.0.1:4000" }];
  const manifest = file("manifest.yaml", JSON.stringify({ ...MANIFEST, destinations }));
  const checked = (await check(...paths, "--manifest", manifest)).json();
  const apple = persons.filter(({ store, lie }) => store === "ios-store" && lie !== "no-token").length;
  const google = persons.filter(({ store, lie }) => store === "android-store" && lie !== "no-token").length;
  expect(checked).toMatchObject({
    anonymous: isOf("anonymous"),
    sandbox: isOf("sandbox"),
    unaskable: isOf("no-token"),
    purchases: apple + google,
    ordersOnly: google,
    requests: { "ios-store": 3 * apple, "android-store": google + Math.ceil(google / 100) },
    minutes: Math.ceil((3 * apple) / 20 / 60),
  });
  const unmapped = Object.values((checked as { unmappedProducts: Record<string, number> }).unmappedProducts);
  expect(unmapped.reduce((sum, one) => sum + one, 0)).toBe(isOf("product-not-mapped"));
});

test.each([
  ["semicolons and Windows lines", "account;store;purchase_token\r\na;android-store;t1\r\n"],
  ["tabs", "account\tstore\tpurchase_token\na\tandroid-store\tt1\n"],
  ["bars", "account|store|purchase_token\na|android-store|t1\n"],
  ["a byte order mark", "\ufeffaccount,store,purchase_token\na,android-store,t1\n"],
  ["quotes across lines", 'account,note,purchase_token\na,"two\nlines, ""quoted""",t1\n'],
  ["NDJSON", '{"account":"a","purchase_token":"t1"}\n'],
  ["compression", gzipSync("account,purchase_token\na,t1\n")],
  ["columns of other names", "user,token\na,t1\n", "--map", "account=user", "--map", "purchase_token=token"],
])("a table with %s is read", async (_, text, ...words) => {
  const checked = await check(file("a-table", text), ...words.map(String));
  expect(checked.json()).toMatchObject({ rows: 1, accounts: 1, purchases: 1 });
});

test.each([
  ["revenuecat-export", "store,store_transaction_id,product_identifier\n", "updated_at"],
  ["adapty-import", "apple_original_transaction_id\n1\n", "user_id"],
  [
    "table",
    "account\na\n",
    "transaction_id or original_transaction_id or receipt or purchase_token or order_id",
  ],
])("a %s that lacks a column is refused, and the column named", async (format, text, column) => {
  const checked = await check(file("lacking.csv", text));
  expect(checked).toMatchObject(refusedWith(format));
  expect(checked.err).toContain(column);
});

test.each([
  ["no text", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]), "no known format"],
  ["empty", "", "is empty"],
  ["of unknown columns", "a,b\n1,2\n", "no known format"],
])("a file that is %s is refused", async (_, content, refusal) => {
  expect(await check(file("no-export", content))).toMatchObject(refusedWith(refusal));
});

test("rows that cannot be used are named, and stop nothing", async () => {
  const path = file(
    "bad.csv",
    [
      "account,store,purchase_token,receipt",
      "a,android-store,t1,",
      ",android-store,t2,",
      "b,web,t3,",
      "c,ios-store,,bm8gcmVjZWlwdA==",
      `${"x".repeat(300)},android-store,t4,`,
      "d,android-store,t5,",
    ].join("\n"),
  );
  expect((await check(path)).json()).toMatchObject({
    rows: 6,
    purchases: 4,
    problems: [
      { problem: "no-account", count: 1, firstRow: "bad.csv, row 2" },
      { problem: "other-store", count: 1, firstRow: "bad.csv, row 3" },
      { problem: "bad-receipt", count: 1, firstRow: "bad.csv, row 4" },
      { problem: "bad-account", count: 1, firstRow: "bad.csv, row 5" },
    ],
  });
});

test("a claim of access that cannot be read is named", async () => {
  const rows = ["a,t1,maybe,", "b,t2,,31/12/2025", "c,t3,yes,2027-01-31", "d,t4,,"];
  const path = file("verdicts.csv", ["account,purchase_token,active,ends_at", ...rows].join("\n"));
  expect((await check(path)).json()).toMatchObject({
    purchases: 4,
    problems: [{ problem: "bad-access", count: 2, firstRow: "verdicts.csv, row 1" }],
  });
});

test("a quotation mark that is never closed loses no row before it", async () => {
  const rows = Array.from({ length: 20 }, (_, index) => `a${index},t${index}`);
  const path = file(
    "open.csv",
    ["account,purchase_token", ...rows, 'z,"t', "y".repeat(3_000_000)].join("\n"),
  );
  expect((await check(path)).json()).toMatchObject({ accounts: 20 });
});

test("an NDJSON line that is no object is named", async () => {
  const path = file("bad.ndjson", '{"account":"a","purchase_token":"t1"}\nnothing\n[1]\n');
  expect((await check(path)).json()).toMatchObject({
    rows: 3,
    problems: [{ problem: "unreadable", count: 2, firstRow: "bad.ndjson, row 2" }],
  });
});
