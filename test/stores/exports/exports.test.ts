import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ReceiptUtility } from "@apple/app-store-server-library";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import {
  exportOf,
  FORMATS,
  LIES,
  planPersons,
  sellPersons,
  writeExport,
  type Export,
  type ExportOptions,
  type Format,
  type Person,
  type Planted,
} from "../../../sandbox/exports/exports.ts";
import { createIosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { APPLE_ID, BUNDLE } from "../../../testing/support/stores/ios-store.ts";
import { PACKAGE_NAME } from "../../../testing/support/stores/android-store.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { chain } from "../ios-store/sandbox/store-under-test.ts";
import { differences, lookUpIn, newestRows, type LookUp, type Said } from "./naive-import.ts";
import { readCsv, readFile, type ReadRow } from "./read-export.ts";

const CATALOGS = {
  "ios-store": {
    app: BUNDLE,
    subscription: "com.example.trails.premium.monthly",
    oneTimeProduct: "com.example.trails.lifetime",
    notMapped: "com.example.trails.retired",
  },
  "android-store": {
    app: PACKAGE_NAME,
    subscription: "premium",
    basePlan: "monthly",
    oneTimeProduct: "lifetime",
    notMapped: "retired",
  },
} as const;
const MAPPED = new Set<string>(
  Object.values(CATALOGS).flatMap(({ subscription, oneTimeProduct }) => [subscription, oneTimeProduct]),
);
const PLAN = { count: 1200, seed: 7, at: NOW, catalogs: CATALOGS };

let persons: readonly Person[];
let lookUp: LookUp;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "exports-"));
  const ios = createIosStoreSandbox({
    prefix: "/store",
    signer: chain,
    bundleIdentifier: BUNDLE,
    appAppleIdentifier: APPLE_ID,
    now: () => NOW,
    notificationUrl: null,
    saved: null,
  });
  const android = createAndroidPublisherSandbox({ now: () => NOW });
  persons = await sellPersons({ ios, android }, PLAN);
  lookUp = await lookUpIn(ios, android, NOW);
});
afterAll(async () => rm(folder, { recursive: true }));

const RECEIPTS = new ReceiptUtility();
const fromReceipt = (receipt: string | undefined): string =>
  receipt === undefined || receipt === "" ? "" : (RECEIPTS.extractTransactionIdFromAppReceipt(receipt) ?? "");

const isFuture = (time: string): boolean => time === "" || Date.parse(`${time.replace(" ", "T")}Z`) > NOW;

const SAID: Readonly<Record<Format, (row: ReadRow) => Said>> = {
  "revenuecat-export": (row) => ({
    account: row["rc_last_seen_app_user_id_alias"] ?? "",
    identifier: row["store_transaction_id"] ?? "",
    product: row["product_identifier"]?.replace(/:.*/, "") ?? "",
    isActive: row["refunded_at"] === "" && isFuture(row["effective_end_time"] ?? ""),
  }),
  "revenuecat-tokens": (row) => ({
    account: row["user_id"] ?? "",
    identifier: row["google_purchase_token"] ?? "",
    product: row["google_product_id"] ?? "",
    isActive: null,
  }),
  "adapty-import": (row) => ({
    account: row["user_id"] ?? "",
    identifier: row["apple_original_transaction_id"] ?? row["google_purchase_token"] ?? "",
    product: row["google_product_id"] ?? "",
    isActive: null,
  }),
  "qonversion-import": (row) => ({
    account: row["user_id"] ?? "",
    identifier: fromReceipt(row["receipt"]) || row["original_id"] || row["purchase_token"] || "",
    product: row["product_id"] ?? "",
    isActive: null,
  }),
  table: (row) => ({
    account: row["account"] ?? "",
    identifier:
      row["transaction_id"] ||
      row["original_transaction_id"] ||
      fromReceipt(row["receipt"]) ||
      row["purchase_token"] ||
      row["order_id"] ||
      "",
    product: row["product"] ?? "",
    isActive: row["active"] === "true",
  }),
};

/** Adapty's list of Apple purchases names no product: the store does. */
const productOf = (said: Said): Said =>
  said.product === "" ? { ...said, product: productBy.get(said.identifier) ?? "" } : said;
const productBy = new Map<string, string>();
beforeAll(() => {
  for (const { ios, product } of persons)
    if (ios !== null) productBy.set(ios.originalTransactionIdentifier, product);
});

const found = (rows: readonly ReadRow[], format: Format): readonly Planted[] => {
  const newest = format === "revenuecat-export" ? newestRows(rows) : rows;
  const said = newest
    .map(SAID[format])
    .filter(({ account }) => !account.startsWith("$RCAnonymousID:"))
    .map(productOf);
  return differences(said, lookUp, MAPPED);
};

const sorted = (planted: readonly Planted[]): string[] =>
  planted.map(({ account, cause }) => `${cause} ${account}`).sort();

const rowsOf = ({ files }: Export): ReadRow[] => files.flatMap(({ lines }) => readCsv([...lines()].join("")));

test.each(FORMATS)("an import of %s finds the planted causes, and none besides", (format) => {
  const made = exportOf(persons, format, { at: NOW });
  expect(sorted(found(rowsOf(made), format))).toEqual(sorted(made.planted));
});

test.each<[string, Format, Partial<ExportOptions>]>([
  ["letters for booleans", "revenuecat-export", { notation: "letters" }],
  ["compression", "revenuecat-export", { gzip: true }],
  ["semicolons", "table", { delimiter: ";" }],
  ["a byte order mark", "table", { bom: true }],
  ["NDJSON", "table", { ndjson: true }],
])("a file with %s says the same", async (name, format, options) => {
  const made = await writeExport(join(folder, name), persons, format, { at: NOW, ...options });
  expect(sorted(found(made.paths.flatMap(readFile), format))).toEqual(sorted(made.planted));
});

test("exports of states show every cause", () => {
  const causes = new Set(exportOf(persons, "table", { at: NOW }).planted.map(({ cause }) => cause));
  expect(causes).toEqual(new Set(Object.values(LIES).flatMap(({ cause }) => cause ?? [])));
});

test("every lie is told, of as many as its share says", () => {
  const told = (lie: string | null) => persons.filter((person) => person.lie === lie).length;
  for (const [lie, { share }] of Object.entries(LIES)) {
    const wanted = Math.max(1, Math.round(share * PLAN.count));
    expect([wanted, wanted + 1]).toContain(told(lie));
  }
  expect(told(null)).toBeGreaterThan(PLAN.count * 0.75);
});

test("a seed makes the same persons and files, another seed others", () => {
  expect(planPersons(PLAN)).toEqual(persons);
  const tokens = (seed: number) => planPersons({ ...PLAN, seed }).map(({ account }) => account);
  expect(tokens(8)).not.toEqual(tokens(7));
  const text = () =>
    exportOf(persons, "revenuecat-export", { at: NOW }).files.map(({ lines }) => [...lines()]);
  expect(text()).toEqual(text());
});

test("no identifier names two purchases", () => {
  const identifiers = persons.flatMap(({ ios, android }) => [
    ...(ios === null ? [] : [ios.originalTransactionIdentifier]),
    ...(android === null ? [] : [android.purchaseToken, android.orderIdentifier]),
  ]);
  expect(new Set(identifiers).size).toBe(identifiers.length);
});

test("persons say what the stores know", () => {
  const known = persons.map(({ ios, android }) =>
    lookUp(ios?.originalTransactionIdentifier ?? android?.purchaseToken ?? ""),
  );
  expect(known.map((each) => each && { isActive: each.isActive, echo: each.echo })).toEqual(
    persons.map(({ state, isActive, echo }) => (state === "unknown" ? undefined : { isActive, echo })),
  );
});

test("Apple's library reads a transaction id from each receipt", () => {
  const { files } = exportOf(persons, "qonversion-import", { at: NOW });
  const receipts = readCsv([...(files[0]?.lines() ?? [])].join("")).flatMap(({ receipt }) => receipt || []);
  expect(receipts.length).toBeGreaterThan(100);
  for (const receipt of receipts) expect(lookUp(fromReceipt(receipt))).toBeDefined();
});
