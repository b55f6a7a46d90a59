import { accountIdentifier, type Store } from "../../contract/schemas.ts";
import type { ProductReference } from "../../entitlements/catalog.ts";
import { type Instant, isInstant } from "../../entitlements/time.ts";
import { accountId } from "../../identifiers.ts";
import type { Access, AskedEnvironment, Claim, PurchaseName, RowReading } from "./claim.ts";

/** A row's fields by column. */
export type Row = Readonly<Record<string, string>>;

/** Which of RevenueCat's two identifiers of a user is the account. */
export type AccountChoice = "last-seen" | "original";

/** A format of files, by the names of its columns. */
interface Profile {
  readonly name: string;
  /** Columns that no other format has: any of them recognizes this one. */
  readonly marks: readonly string[];
  /** Columns that are needed; of a list, one. */
  readonly needs: readonly (string | readonly string[])[];
  /** Whether it says to whom the other service gives access. */
  readonly claimsAccess: boolean;
  readonly read: (row: Row, account: AccountChoice) => RowReading;
}

/** RevenueCat's prefix for users that nobody has identified. */
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

/** Claims of the account that a column names. */
const claimsBy = (
  row: Row,
  accountColumn: string,
  ...claims: readonly (Pick<Claim, "store"> & Partial<Claim>)[]
): RowReading => {
  const { account, problems } = accountIn(fieldOf(row, accountColumn));
  const isUnread = Object.entries(ACCESS_COLUMNS).some(
    ([column, read]) => fieldOf(row, column) !== "" && read(row, column) === null,
  );
  return {
    claims: claims.map((one) => ({ ...NOTHING_CLAIMED, account, ...one })),
    problems: isUnread ? [...problems, "bad-access"] : problems,
  };
};

const fieldOf = (row: Row, column: string): string => row[column]?.trim() ?? "";

const textOrNull = (row: Row, column: string): string | null => fieldOf(row, column) || null;

/** The first of the columns that has a value. */
const nameIn = (row: Row, kind: PurchaseName["kind"], ...columns: readonly string[]): PurchaseName | null => {
  const value = columns.map((column) => fieldOf(row, column)).find(Boolean);
  return value === undefined ? null : { kind, value };
};

/** A product; a base plan follows a colon, as in `premium:monthly`. No store allows one in an identifier. */
const productIn = (row: Row, column: string): ProductReference | null => {
  const [productIdentifier = "", basePlanIdentifier] = fieldOf(row, column).split(":");
  return productIdentifier === ""
    ? null
    : { productIdentifier, ...(basePlanIdentifier && { basePlanIdentifier }) };
};

const IOS = /^(?:ios(?:-store)?|apple|(?:mac_)?app_store)$/i;
const ANDROID = /^(?:android(?:-store)?|google|play_store)$/i;

/** Undefined: another store, or none. */
const storeIn = (row: Row): Store | undefined => {
  const text = fieldOf(row, "store");
  return IOS.test(text) ? "ios-store" : ANDROID.test(text) ? "android-store" : undefined;
};

const booleanOrNull = (row: Row, column: string): boolean | null => {
  const text = fieldOf(row, column);
  return /^(?:t|true|1|yes)$/i.test(text) ? true : /^(?:f|false|0|no)$/i.test(text) ? false : null;
};

const DIGITS = /^\d{9,16}$/;
const HAS_ZONE = /(?:Z|UTC|[+-]\d\d:?\d\d)$/i;
/** Later numbers are milliseconds, earlier ones seconds. */
const EARLIEST_MILLISECONDS = 1e11;

/** A time in ISO 8601 or SQL's notation, UTC where it names no zone, or since 1970; null: none. */
const timeOrNull = (row: Row, column: string): Instant | null => {
  const text = fieldOf(row, column);
  if (DIGITS.test(text)) {
    const number = Number(text);
    return number >= EARLIEST_MILLISECONDS ? number : number * 1000;
  }
  const iso = text.replace(/^(\d{4}-\d\d-\d\d)[ T]/, "$1T").replace(/ ?UTC$/i, "Z");
  const instant = Date.parse(HAS_ZONE.test(iso) || !iso.includes("T") ? iso : `${iso}Z`);
  return isInstant(instant) ? instant : null;
};

const grantsNothing = (row: Row): boolean => /^(?:\[\]|\{\})?$/.test(fieldOf(row, "entitlement_identifiers"));

/** Columns that claim access, in any format. */
const ACCESS_COLUMNS = { active: booleanOrNull, ends_at: timeOrNull, effective_end_time: timeOrNull };

const revenuecatAccessOf = (row: Row): Access | null => {
  if ("entitlement_identifiers" in row && grantsNothing(row)) return null;
  if (fieldOf(row, "refunded_at") !== "") return { given: false };
  return { given: true, until: timeOrNull(row, "effective_end_time") };
};

/**
 * Rows of one transaction repeat; the newest `updated_at` counts.
 *
 * @see https://www.revenuecat.com/docs/integrations/scheduled-data-exports/transactions
 */
const revenuecatExport: Profile = {
  name: "revenuecat-export",
  marks: ["rc_original_app_user_id", "rc_last_seen_app_user_id_alias", "store_transaction_id"],
  needs: [
    "store",
    "store_transaction_id",
    "original_store_transaction_id",
    "product_identifier",
    "is_sandbox",
    "rc_original_app_user_id",
    "rc_last_seen_app_user_id_alias",
    "effective_end_time",
    "refunded_at",
    "updated_at",
  ],
  claimsAccess: true,
  read: (row, account) => {
    const store = storeIn(row);
    if (store === undefined) return { claims: [], problems: ["other-store"] };
    const column = account === "last-seen" ? "rc_last_seen_app_user_id_alias" : "rc_original_app_user_id";
    const isIos = store === "ios-store";
    const kind = isIos ? "transaction" : "order";
    return claimsBy(row, column, {
      store,
      name: nameIn(row, kind, "store_transaction_id", "original_store_transaction_id"),
      lineage: isIos ? textOrNull(row, "original_store_transaction_id") : null,
      product: productIn(row, "product_identifier"),
      kind: booleanOrNull(row, "is_auto_renewable") === true ? "subscription" : null,
      environment: booleanOrNull(row, "is_sandbox") === true ? "sandbox" : "production",
      access: revenuecatAccessOf(row),
      updatedAt: timeOrNull(row, "updated_at"),
    });
  },
};

const revenuecatTokens: Profile = {
  name: "revenuecat-tokens",
  marks: [],
  needs: ["user_id", "google_purchase_token", "google_product_id"],
  claimsAccess: false,
  read: (row) =>
    claimsBy(row, "user_id", {
      store: "android-store",
      name: nameIn(row, "token", "google_purchase_token"),
      product: productIn(row, "google_product_id"),
    }),
};

const APPLE = "apple_original_transaction_id";

const googleClaimOf = (row: Row) => {
  const isSubscription = booleanOrNull(row, "google_is_subscription");
  const kind = isSubscription ? "subscription" : "one_time_product";
  return {
    store: "android-store",
    name: nameIn(row, "token", "google_purchase_token"),
    product: productIn(row, "google_product_id"),
    kind: isSubscription === null ? null : kind,
  } as const;
};

/**
 * A file has the columns of one store, or of both.
 *
 * @see https://adapty.io/docs/importing-historical-data-to-adapty
 */
const adaptyImport: Profile = {
  name: "adapty-import",
  marks: [APPLE, "google_is_subscription"],
  needs: ["user_id", [APPLE, "google_purchase_token"]],
  claimsAccess: false,
  read: (row) => {
    const google = googleClaimOf(row);
    const isOfGoogle = google.name !== null || google.product !== null;
    // A row without any id is one of Apple's columns.
    const isOfApple = fieldOf(row, APPLE) !== "" || !isOfGoogle;
    const apple = { store: "ios-store", name: nameIn(row, "transaction", APPLE) } as const;
    return claimsBy(row, "user_id", ...(isOfApple ? [apple] : []), ...(isOfGoogle ? [google] : []));
  },
};

/** Beside a token, `original_id` is Google's order id. */
const qonversionNameIn = (row: Row): Pick<Claim, "store" | "name"> => {
  const isOrder = fieldOf(row, "original_id").startsWith("GPA.");
  const google =
    nameIn(row, "token", "purchase_token") ?? (isOrder ? nameIn(row, "order", "original_id") : null);
  if (google !== null) return { store: "android-store", name: google };
  const name = nameIn(row, "transaction", "original_id") ?? nameIn(row, "receipt", "receipt");
  const isOfGoogle = name === null && "purchase_token" in row && !("receipt" in row);
  return { store: isOfGoogle ? "android-store" : "ios-store", name };
};

const qonversionImport: Profile = {
  name: "qonversion-import",
  marks: ["original_id"],
  needs: ["user_id", ["receipt", "purchase_token", "original_id"]],
  claimsAccess: false,
  read: (row) =>
    claimsBy(row, "user_id", { ...qonversionNameIn(row), product: productIn(row, "product_id") }),
};

const storeOf = (row: Row): Store | undefined => {
  if (fieldOf(row, "store") !== "") return storeIn(row);
  return fieldOf(row, "purchase_token") || fieldOf(row, "order_id") ? "android-store" : "ios-store";
};

const nameOf = (store: Store, row: Row): PurchaseName | null =>
  store === "ios-store"
    ? (nameIn(row, "transaction", "transaction_id", "original_transaction_id") ??
      nameIn(row, "receipt", "receipt"))
    : (nameIn(row, "token", "purchase_token") ?? nameIn(row, "order", "order_id"));

/** An end alone says that access runs until then. */
const accessOf = (row: Row): Access | null => {
  const active = booleanOrNull(row, "active");
  const until = timeOrNull(row, "ends_at");
  if (active === false) return { given: false };
  return active === null && until === null ? null : { given: true, until };
};

const environmentOf = (row: Row): AskedEnvironment | null => {
  const text = fieldOf(row, "environment").toLowerCase();
  return text === "production" || text === "sandbox" ? text : null;
};

/** A table of one's own; `--map` gives its columns these names. */
const table: Profile = {
  name: "table",
  marks: ["account"],
  needs: ["account", ["transaction_id", "original_transaction_id", "receipt", "purchase_token", "order_id"]],
  claimsAccess: true,
  read: (row) => {
    const store = storeOf(row);
    if (store === undefined) return { claims: [], problems: ["other-store"] };
    const kind = fieldOf(row, "kind");
    return claimsBy(row, "account", {
      store,
      app: textOrNull(row, "app"),
      name: nameOf(store, row),
      lineage: store === "ios-store" ? textOrNull(row, "original_transaction_id") : null,
      product: productIn(row, "product"),
      kind: kind === "subscription" || kind === "one_time_product" ? kind : null,
      environment: environmentOf(row),
      access: accessOf(row),
    });
  },
};

const PROFILES: readonly Profile[] = [
  revenuecatExport,
  adaptyImport,
  qonversionImport,
  revenuecatTokens,
  table,
];

/** The format that a header fits best, with the columns that it lacks; null: none. */
export const readHeader = (columns: readonly string[]) => {
  const header = new Set(columns);
  const has = (need: string | readonly string[]): boolean =>
    [need].flat().some((column) => header.has(column));
  const known = PROFILES.map((profile) => {
    const { marks, needs } = profile;
    const missing = needs.filter((need) => !has(need)).map((need) => [need].flat().join(" or "));
    // A mark outweighs columns that other formats have too.
    return { profile, missing, matches: 4 * marks.filter(has).length + needs.filter(has).length };
  })
    .filter(({ matches }) => matches > 0)
    .sort((a, b) => b.matches - a.matches);
  return known.find(({ missing }) => missing.length === 0) ?? known[0] ?? null;
};
