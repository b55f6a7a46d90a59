import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Store } from "../../lib/contract/schemas.ts";
import { DAY, HOUR } from "../../lib/duration.ts";
import { isoTime, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { legacyReceipt } from "../ios-store/shop/payloads.ts";
import { LIES, type Person } from "./persons.ts";
import { randomFrom } from "./plan.ts";

/**
 * Exports of a rented service about persons who bought in the sandbox stores, with lies whose truth is known. The same
 * options give the same files.
 */

/** A row of named fields; empty text, or no field: it has no value. */
type Row = Readonly<Record<string, string>>;

/** Accounts under which a file names a person, each in a row. */
const accountsOf = ({ account, lie, otherAccount, aliases }: Person): readonly string[] => {
  const own = account ?? aliases.lastSeen;
  const other = otherAccount ?? own;
  if (lie === "swapped-account") return [other];
  if (lie === "two-accounts") return [own, other];
  return lie === "repeated-rows" ? [own, own] : [own];
};

/** Identifiers of the purchase. iOS purchases take turns: transaction id, original transaction id, receipt. */
const identifiersOf = (person: Person): Row => {
  const { ios, android, lie, number } = person;
  if (lie === "no-token") return {};
  if (lie === "order-id-only") return { order_id: android?.orderIdentifier ?? "" };
  if (android !== null)
    return { google_purchase_token: android.purchaseToken, purchase_token: android.purchaseToken };
  if (ios === null) return {};
  const original = ios.originalTransactionIdentifier;
  const asked = [
    { transaction_id: ios.transactionIdentifier, original_id: original },
    { original_transaction_id: original, original_id: original },
    { receipt: legacyReceipt(person.app, { productIdentifier: person.product, ...ios }) },
  ][number % 3];
  return { apple_original_transaction_id: original, ...asked };
};

const rowOf = (person: Person, account: string): Row => ({
  ...identifiersOf(person),
  account,
  user_id: account,
  store: person.store,
  app: person.app,
  product: person.product,
  product_id: person.product,
  google_product_id: person.product,
  kind: person.kind,
  google_is_subscription: String(person.kind === "subscription"),
  environment: person.environment,
  active: String(person.claim.isActive),
  ends_at: person.claim.endsAt === null ? "" : isoTime(person.claim.endsAt),
});

const rowsIn =
  (store: Store) =>
  (person: Person): readonly Row[] =>
    person.store === store ? allRows(person) : [];

/** A row for each account of the person, with the columns of all files. */
const allRows = (person: Person): readonly Row[] =>
  accountsOf(person).map((account) => rowOf(person, account));
const appleRows = rowsIn("ios-store");
const googleRows = rowsIn("android-store");

/** UTC, in whole seconds. */
const time = (instant: Instant | null): string =>
  instant === null ? "" : isoTime(instant).slice(0, 19).replace("T", " ");

const newestRow = (person: Person, at: Instant): Row => {
  const { claim, aliases, ios, android, lie, kind, product, basePlan, number } = person;
  const account = lie === "swapped-account" ? person.otherAccount : null;
  const order = android?.orderIdentifier ?? "";
  return {
    rc_original_app_user_id: account ?? aliases.original,
    rc_last_seen_app_user_id_alias: account ?? aliases.lastSeen,
    country: "GB",
    product_identifier: basePlan === undefined ? product : `${product}:${basePlan}`,
    product_display_name: 'Premium, "all in"',
    start_time: time(plusPeriod(claim.endsAt ?? at, { months: -1, milliseconds: 0 })),
    end_time: time(claim.endsAt),
    effective_end_time: time(claim.endsAt),
    store: ios === null ? "play_store" : "app_store",
    is_auto_renewable: String(kind === "subscription"),
    is_trial_period: "false",
    is_sandbox: String(person.environment === "sandbox"),
    refunded_at: time(claim.refundedAt),
    original_store_transaction_id: lie === "no-token" ? "" : (ios?.originalTransactionIdentifier ?? order),
    store_transaction_id: lie === "no-token" ? "" : (ios?.transactionIdentifier ?? order),
    entitlement_identifiers: '["premium"]',
    renewal_number: kind === "subscription" ? "1" : "",
    // A note on every fiftieth person spans lines.
    custom_subscriber_attributes:
      number % 50 === 0 ? JSON.stringify({ note: `says "hello", number ${number}` }, null, 2) : "{}",
    platform: ios === null ? "android" : "iOS",
    updated_at: time(at - HOUR),
  };
};

/** The same transaction as it was a month ago: under another alias, with another end. */
const olderRow = (row: Row, person: Person, at: Instant): Row => {
  const random = randomFrom(person.number);
  const end = person.claim.isActive ? time(at - 20 * DAY) : time(at + 20 * DAY);
  return {
    ...row,
    rc_last_seen_app_user_id_alias:
      person.lie === "alias-chain" ? `$RCAnonymousID:${random.hex(32)}` : random.uuid(),
    end_time: end,
    effective_end_time: end,
    refunded_at: "",
    updated_at: time(at - 30 * DAY),
  };
};

/** The lineage's first transaction, under another account. */
const rowOfOther = (row: Row, { ios, otherAccount }: Person): Row => ({
  ...row,
  rc_original_app_user_id: otherAccount ?? "",
  rc_last_seen_app_user_id_alias: otherAccount ?? "",
  store_transaction_id: ios?.originalTransactionIdentifier ?? "",
});

/**
 * Rows of RevenueCat's Scheduled Data Export of transactions.
 *
 * @see https://www.revenuecat.com/docs/integrations/scheduled-data-exports/transactions
 */
const revenueCatRows = (person: Person, at: Instant): readonly Row[] => {
  const { lie, number } = person;
  const row = newestRow(person, at);
  const others: Row[] = [];
  if (lie === "repeated-rows" || lie === "alias-chain") others.push(olderRow(row, person, at));
  if (lie === "two-accounts") others.push(rowOfOther(row, person));
  // A file is in no order: the newest row may come first.
  return number % 2 === 0 ? [row, ...others] : [...others, row];
};

/** Content of a CSV file (RFC 4180). */
interface Sheet {
  readonly name: string;
  /** Names, separated by white space. */
  readonly columns: string;
  readonly rowsOf: (person: Person, at: Instant) => readonly Row[];
}

const field = (value = ""): string => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

/** Lines of the file, the header first. */
const linesOf = function* (sheet: Sheet, persons: readonly Person[], at: Instant): Generator<string> {
  const columns = sheet.columns.split(/\s+/);
  yield `${columns.join(",")}\n`;
  for (const person of persons)
    for (const row of sheet.rowsOf(person, at))
      yield `${columns.map((column) => field(row[column])).join(",")}\n`;
};

const SHEETS = {
  "revenuecat-export": [
    {
      name: "transactions",
      columns: `rc_original_app_user_id rc_last_seen_app_user_id_alias country product_identifier
        product_display_name start_time end_time grace_period_end_time effective_end_time store is_auto_renewable
        is_trial_period is_sandbox refunded_at original_store_transaction_id store_transaction_id
        entitlement_identifiers renewal_number custom_subscriber_attributes platform updated_at`,
      rowsOf: revenueCatRows,
    },
  ],
  "revenuecat-tokens": [
    {
      name: "google-tokens",
      columns: "user_id google_purchase_token google_product_id",
      rowsOf: googleRows,
    },
  ],
  "adapty-import": [
    { name: "adapty-apple", columns: "user_id apple_original_transaction_id", rowsOf: appleRows },
    {
      name: "adapty-google",
      columns: "user_id google_product_id google_purchase_token google_is_subscription",
      rowsOf: googleRows,
    },
  ],
  "qonversion-import": [
    { name: "qonversion-apple", columns: "user_id receipt product_id original_id", rowsOf: appleRows },
    {
      name: "qonversion-google",
      columns: "user_id purchase_token product_id original_id",
      rowsOf: googleRows,
    },
  ],
  table: [
    {
      name: "purchases",
      columns: `account store app transaction_id original_transaction_id receipt purchase_token order_id
        product kind environment active ends_at`,
      rowsOf: allRows,
    },
  ],
} as const satisfies Record<string, readonly Sheet[]>;

export type Format = keyof typeof SHEETS;
export const FORMATS = Object.keys(SHEETS) as Format[];

/** Formats that claim a state or an end. Only these show that it is wrong. */
const STATEFUL: ReadonlySet<Format> = new Set(["revenuecat-export", "table"]);

const isNamed = ({ store, lie, account }: Person, format: Format): boolean => {
  if (format === "revenuecat-export") return true;
  if (format === "revenuecat-tokens") return store === "android-store" && lie !== "order-id-only";
  return account !== null && (format === "table" || lie !== "order-id-only");
};

/** Accounts that an import must report as different, each with the cause. */
const plantedOf = ({ lie, state, account, otherAccount }: Person, format: Format) => {
  if (lie === null || account === null) return [];
  const plant = LIES[lie];
  const isOfState = "state" in plant && state !== "unknown";
  const { cause } = plant;
  if (cause === null || (isOfState && !STATEFUL.has(format))) return [];
  const accounts = lie === "two-accounts" ? [account, otherAccount ?? account] : [account];
  return accounts.map((each) => ({ account: each, cause }));
};

/** @param at time of the export */
export const exportOf = (persons: readonly Person[], format: Format, at: Instant) => {
  const named = persons.filter((person) => isNamed(person, format));
  return {
    files: SHEETS[format].map((sheet) => ({
      name: `${sheet.name}.csv`,
      /** Each call begins anew. */
      lines: () => linesOf(sheet, named, at),
    })),
    /** Every account that an import must report as different, and none besides. */
    planted: named.flatMap((person) => plantedOf(person, format)),
  };
};

export const writeExport = async (
  folder: string,
  persons: readonly Person[],
  format: Format,
  at: Instant,
) => {
  const made = exportOf(persons, format, at);
  await mkdir(folder, { recursive: true });
  const paths = made.files.map(({ name }) => join(folder, name));
  for (const { name, lines } of made.files) await pipeline(lines(), createWriteStream(join(folder, name)));
  return { ...made, paths };
};
