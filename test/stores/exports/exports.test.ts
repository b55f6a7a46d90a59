import { ReceiptUtility } from "@apple/app-store-server-library";
import { parse } from "csv-parse/sync";
import { exportOf, FORMATS, type Format } from "../../../sandbox/exports/exports.ts";
import { LIES, type Person } from "../../../sandbox/exports/persons.ts";
import { planPersons } from "../../../sandbox/exports/plan.ts";
import { sellPersons } from "../../../sandbox/exports/sell.ts";
import { createTestStores } from "../../../testing/stores.ts";
import { CATALOGS } from "../../../testing/support/import.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

// The import's own tests show that each format yields the planted causes.

const PLAN = { count: 1200, seed: 7, at: NOW, catalogs: CATALOGS };

let persons: readonly Person[];
beforeAll(async () => {
  const now = () => NOW;
  const stores = createTestStores("http://127.0.0.1", now, () => false);
  persons = await sellPersons(stores, PLAN);
});

const textsOf = (format: Format): string[] =>
  exportOf(persons, format, NOW).files.map(({ lines }) => [...lines()].join(""));

test("exports of states show every cause", () => {
  const causes = new Set(exportOf(persons, "table", NOW).planted.map(({ cause }) => cause));
  expect(causes).toEqual(new Set(Object.values(LIES).flatMap(({ cause }) => cause ?? [])));
});

test.each(FORMATS)("every format lists rows under one header: %s", (format) => {
  for (const text of textsOf(format)) expect(parse(text, { columns: true }).length).toBeGreaterThan(100);
});

test("every lie is told, of as many as its share says", () => {
  const told = (lie: string | null) => persons.filter((person) => person.lie === lie).length;
  for (const [lie, { share }] of Object.entries(LIES)) {
    const wanted = Math.max(1, Math.round(share * PLAN.count));
    expect([wanted, wanted + 1]).toContain(told(lie));
  }
});

test("a seed makes the same persons and files, another seed others", () => {
  expect(planPersons(PLAN)).toEqual(persons);
  const accounts = (seed: number) => planPersons({ ...PLAN, seed }).map(({ account }) => account);
  expect(accounts(8)).not.toEqual(accounts(7));
  expect(textsOf("revenuecat-export")).toEqual(textsOf("revenuecat-export"));
});

test("Apple's library reads a sold transaction id from each receipt", () => {
  const library = new ReceiptUtility();
  const rows: Record<string, string>[] = parse(textsOf("qonversion-import")[0] ?? "", { columns: true });
  const receipts = rows.flatMap(({ receipt }) => receipt || []);
  const sold = new Set(persons.map(({ ios }) => ios?.transactionIdentifier));
  expect(receipts.length).toBeGreaterThan(100);
  for (const receipt of receipts) expect(sold).toContain(library.extractTransactionIdFromAppReceipt(receipt));
});
