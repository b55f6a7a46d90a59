import { accountIdentifier, type Store } from "../../../contract/schemas.ts";
import type { ProductReference } from "../../../entitlements/catalog.ts";
import { isInstant, type Instant } from "../../../entitlements/time.ts";
import { accountId } from "../../../identifiers.ts";
import type { Claim, PurchaseName, RowReading } from "../claim.ts";

/** A row's fields by column, as text; an absent field is empty. */
export type Row = Readonly<Record<string, string>>;

/** Which of RevenueCat's two identifiers of a user is the account. */
export type AccountChoice = "last-seen" | "original";

export interface ReadingOptions {
  readonly account: AccountChoice;
}

/** A format of files, by the names of its columns. */
export interface Profile {
  readonly name: string;
  /** Columns that no other format has: any of them recognizes this one. */
  readonly marks: readonly string[];
  /** Columns that are needed; of a list, one. */
  readonly needs: readonly (string | readonly string[])[];
  /** Whether it says to whom the other service gives access. */
  readonly claimsAccess: boolean;
  read(row: Row, options: ReadingOptions): RowReading;
}

/** Prefix of RevenueCat's identifiers for users that nobody has identified. */
const ANONYMOUS = "$RCAnonymousID:";

const accountIn = (text: string): Pick<Claim, "account"> & Pick<RowReading, "problems"> => {
  if (text === "") return { account: null, problems: ["no-account"] };
  if (text.startsWith(ANONYMOUS)) return { account: null, problems: [] };
  return accountIdentifier().safeParse(text).success
    ? { account: accountId(text), problems: [] }
    : { account: null, problems: ["bad-account"] };
};

/** The fields of a claim that a row may leave out. */
export const NOTHING_CLAIMED = {
  app: null,
  name: null,
  lineage: null,
  product: null,
  kind: null,
  environment: null,
  access: null,
  updatedAt: null,
} as const;

/** Reads a row as claims of the account that a column names. */
export const claimsBy = (
  row: Row,
  accountColumn: string,
  ...said: readonly (Pick<Claim, "store"> & Partial<Claim>)[]
): RowReading => {
  const { account, problems } = accountIn(fieldOf(row, accountColumn));
  return { claims: said.map((one) => ({ ...NOTHING_CLAIMED, account, ...one })), problems };
};

export const fieldOf = (row: Row, column: string): string => row[column]?.trim() ?? "";

export const textOrNull = (row: Row, column: string): string | null => fieldOf(row, column) || null;

/** The first of the columns that has a name by which a store is asked. */
export const nameIn = (
  row: Row,
  kind: PurchaseName["kind"],
  ...columns: readonly string[]
): PurchaseName | null => {
  const value = columns.map((column) => fieldOf(row, column)).find(Boolean);
  return value === undefined ? null : { kind, value };
};

/** A product; a base plan follows a colon, as in `premium:monthly`, where the file writes it so. */
export const productIn = (row: Row, column: string, hasBasePlan: boolean): ProductReference | null => {
  const text = fieldOf(row, column);
  const [productIdentifier = "", basePlanIdentifier] = hasBasePlan ? text.split(":") : [text];
  return productIdentifier === ""
    ? null
    : { productIdentifier, ...(basePlanIdentifier && { basePlanIdentifier }) };
};

const IOS = /^(?:ios(?:-store)?|apple|(?:mac_)?app_store)$/i;
const ANDROID = /^(?:android(?:-store)?|google|play_store)$/i;

/** Undefined: another store, or none. */
export const storeIn = (row: Row): Store | undefined => {
  const text = fieldOf(row, "store");
  return IOS.test(text) ? "ios-store" : ANDROID.test(text) ? "android-store" : undefined;
};

/** Null: no boolean. */
export const booleanOrNull = (row: Row, column: string): boolean | null => {
  const text = fieldOf(row, column);
  return /^(?:t|true|1|yes)$/i.test(text) ? true : /^(?:f|false|0|no)$/i.test(text) ? false : null;
};

const DIGITS = /^\d{9,16}$/;
const HAS_ZONE = /(?:Z|UTC|[+-]\d\d:?\d\d)$/i;
/** Later numbers are milliseconds, earlier ones seconds. */
const EARLIEST_MILLISECONDS = 1e11;

/** A time in ISO 8601 or SQL's notation, UTC where it names no zone, or since 1970; null: none. */
export const timeOrNull = (row: Row, column: string): Instant | null => {
  const text = fieldOf(row, column);
  if (DIGITS.test(text)) {
    const number = Number(text);
    return number >= EARLIEST_MILLISECONDS ? number : number * 1000;
  }
  const iso = text.replace(/^(\d{4}-\d\d-\d\d)[ T]/, "$1T").replace(/ ?UTC$/i, "Z");
  const instant = Date.parse(HAS_ZONE.test(iso) || !iso.includes("T") ? iso : `${iso}Z`);
  return isInstant(instant) ? instant : null;
};
