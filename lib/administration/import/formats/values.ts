import { accountIdentifier } from "../../../contract/schemas.ts";
import { isInstant, type Instant } from "../../../entitlements/time.ts";
import { accountId, type AccountId } from "../../../identifiers.ts";
import type { ProductReference } from "../../../entitlements/catalog.ts";
import { isAnonymous, type Claim, type PurchaseName, type RowProblem, type RowReading } from "../claim.ts";

/** A claim of which the file says nothing but its account. */
const NOTHING_SAID = {
  app: null,
  name: null,
  lineage: null,
  product: null,
  kind: null,
  environment: null,
  access: null,
  updatedAt: null,
} as const;

/** Reads a row of claims: those of the account that a column names, with what is said of each. */
export const claimsBy = (
  row: Row,
  accountColumn: string,
  ...said: readonly (Pick<Claim, "store"> & Partial<Claim>)[]
): RowReading => {
  const { account, problems } = accountIn(fieldOf(row, accountColumn));
  return { claims: said.map((one) => ({ ...NOTHING_SAID, account, ...one })), problems };
};

/** A name by which a store is asked, where the column has one. */
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

/** A row's fields by column, as text; an absent field is empty. */
export type Row = Readonly<Record<string, string>>;

export const fieldOf = (row: Row, column: string): string => row[column]?.trim() ?? "";

export const textOrNull = (row: Row, column: string): string | null => fieldOf(row, column) || null;

const TRUE: ReadonlySet<string> = new Set(["t", "true", "1", "yes"]);
const FALSE: ReadonlySet<string> = new Set(["f", "false", "0", "no"]);

/** Null: no boolean. */
export const booleanOrNull = (row: Row, column: string): boolean | null => {
  const text = fieldOf(row, column).toLowerCase();
  return TRUE.has(text) ? true : FALSE.has(text) ? false : null;
};

const DIGITS = /^\d{9,16}$/;
const HAS_ZONE = /(?:Z|UTC|[+-]\d\d:?\d\d)$/i;
/** Later numbers are milliseconds, earlier ones seconds. */
const EARLIEST_MILLISECONDS = 1e11;

/** A time in ISO 8601 or SQL's notation, UTC where it names no zone, or since 1970; null: none. */
export const timeOrNull = (row: Row, column: string): Instant | null => {
  const text = fieldOf(row, column);
  if (text === "") return null;
  if (DIGITS.test(text)) {
    const number = Number(text);
    return number >= EARLIEST_MILLISECONDS ? number : number * 1000;
  }
  const iso = text.replace(/^(\d{4}-\d\d-\d\d)[ T]/, "$1T").replace(/ ?UTC$/i, "Z");
  const instant = Date.parse(HAS_ZONE.test(iso) || !iso.includes("T") ? iso : `${iso}Z`);
  return isInstant(instant) ? instant : null;
};

/** The account that a field names; null: nobody's. */
const accountIn = (
  text: string,
): { readonly account: AccountId | null; readonly problems: readonly RowProblem[] } => {
  if (text === "") return { account: null, problems: ["no-account"] };
  if (isAnonymous(text)) return { account: null, problems: [] };
  return accountIdentifier().safeParse(text).success
    ? { account: accountId(text), problems: [] }
    : { account: null, problems: ["bad-account"] };
};
