import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Instant } from "../../lib/entitlements/time.ts";
import { LIES, type Cause, type Person } from "./persons.ts";
import { allRows, appleRows, googleRows, revenueCatRows, type Row } from "./rows.ts";

/**
 * Exports of a rented service about persons who bought in the sandbox stores, with lies whose truth is known. The same
 * options give the same files.
 */

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

export type Format =
  "revenuecat-export" | "revenuecat-tokens" | "adapty-import" | "qonversion-import" | "table";

const SHEETS: Readonly<Record<Format, readonly Sheet[]>> = {
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
};
export const FORMATS = Object.keys(SHEETS) as Format[];

interface Planted {
  readonly account: string;
  readonly cause: Cause;
}

export interface Export {
  /** Each call of `lines` begins anew. */
  readonly files: readonly { readonly name: string; lines(): Iterable<string> }[];
  /** Every account that an import must report as different, and none besides. */
  readonly planted: readonly Planted[];
}

/** Formats that claim a state or an end. Only these show that it is wrong. */
const STATEFUL: ReadonlySet<Format> = new Set(["revenuecat-export", "table"]);

const isNamed = ({ store, lie, account }: Person, format: Format): boolean => {
  if (format === "revenuecat-export") return true;
  if (format === "revenuecat-tokens") return store === "android-store" && lie !== "order-id-only";
  return account !== null && (format === "table" || lie !== "order-id-only");
};

const plantedOf = ({ lie, state, account, otherAccount }: Person, format: Format): readonly Planted[] => {
  if (lie === null || account === null) return [];
  const plant = LIES[lie];
  const isOfState = "state" in plant && state !== "unknown";
  const { cause } = plant;
  if (cause === null || (isOfState && !STATEFUL.has(format))) return [];
  const accounts = lie === "two-accounts" ? [account, otherAccount ?? account] : [account];
  return accounts.map((each) => ({ account: each, cause }));
};

/** @param at time of the export */
export const exportOf = (persons: readonly Person[], format: Format, at: Instant): Export => {
  const named = persons.filter((person) => isNamed(person, format));
  return {
    files: SHEETS[format].map((sheet) => ({
      name: `${sheet.name}.csv`,
      lines: () => linesOf(sheet, named, at),
    })),
    planted: named.flatMap((person) => plantedOf(person, format)),
  };
};

export const writeExport = async (
  folder: string,
  persons: readonly Person[],
  format: Format,
  at: Instant,
): Promise<Export & { readonly paths: readonly string[] }> => {
  const made = exportOf(persons, format, at);
  await mkdir(folder, { recursive: true });
  const paths = made.files.map(({ name }) => join(folder, name));
  for (const { name, lines } of made.files) await pipeline(lines(), createWriteStream(join(folder, name)));
  return { ...made, paths };
};
