import type { Store } from "../../../contract/schemas.ts";
import type { ProductReference } from "../../../entitlements/catalog.ts";
import type { Access, Claim, PurchaseName } from "../claim.ts";
import type { Profile } from "./profile.ts";
import { accountIn, booleanOrNull, fieldOf, textOrNull, timeOrNull, type Row } from "./values.ts";

const STORES: Readonly<Record<string, Store>> = {
  app_store: "ios-store",
  mac_app_store: "ios-store",
  play_store: "android-store",
};

/** A Google product is written with its base plan: `premium:monthly`. */
const productOf = (store: Store, text: string): ProductReference | null => {
  if (text === "") return null;
  const [productIdentifier = text, basePlanIdentifier] = store === "android-store" ? text.split(":") : [text];
  return { productIdentifier, ...(basePlanIdentifier && { basePlanIdentifier }) };
};

/** Whether the row grants nothing: its list of entitlements is there, and empty. */
const grantsNothing = (row: Row): boolean => /^(?:\[\]|\{\})?$/.test(fieldOf(row, "entitlement_identifiers"));

const accessOf = (row: Row): Access | null => {
  if ("entitlement_identifiers" in row && grantsNothing(row)) return null;
  if (fieldOf(row, "refunded_at") !== "") return { given: false };
  return { given: true, until: timeOrNull(row, "effective_end_time") };
};

const nameOf = (store: Store, row: Row): PurchaseName | null => {
  const value = fieldOf(row, "store_transaction_id") || fieldOf(row, "original_store_transaction_id");
  if (value === "") return null;
  return { kind: store === "ios-store" ? "transaction" : "order", value };
};

/**
 * RevenueCat's Scheduled Data Export of transactions. Rows of one transaction repeat; the newest `updated_at` counts.
 *
 * @see https://www.revenuecat.com/docs/integrations/scheduled-data-exports/transactions
 */
export const revenuecatExport: Profile = {
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
  needsOneOf: [],
  takes: ["entitlement_identifiers", "is_auto_renewable"],
  read: (row, options) => {
    const store = STORES[fieldOf(row, "store").toLowerCase()];
    if (store === undefined) return { claims: [], problems: ["other-store"] };
    const column =
      options.account === "last-seen" ? "rc_last_seen_app_user_id_alias" : "rc_original_app_user_id";
    const { account, problems } = accountIn(fieldOf(row, column));
    const renews = booleanOrNull(row, "is_auto_renewable");
    const claim: Claim = {
      account,
      store,
      app: null,
      name: nameOf(store, row),
      lineage: store === "ios-store" ? textOrNull(row, "original_store_transaction_id") : null,
      product: productOf(store, fieldOf(row, "product_identifier")),
      kind: renews === true ? "subscription" : null,
      environment: booleanOrNull(row, "is_sandbox") === true ? "sandbox" : "production",
      access: accessOf(row),
      updatedAt: timeOrNull(row, "updated_at"),
    };
    return { claims: [claim], problems };
  },
};

/** RevenueCat's list of Google purchase tokens. */
export const revenuecatTokens: Profile = {
  name: "revenuecat-tokens",
  marks: [],
  needs: ["user_id", "google_purchase_token", "google_product_id"],
  needsOneOf: [],
  takes: [],
  read: (row) => {
    const { account, problems } = accountIn(fieldOf(row, "user_id"));
    const token = fieldOf(row, "google_purchase_token");
    const claim: Claim = {
      account,
      store: "android-store",
      app: null,
      name: token === "" ? null : { kind: "token", value: token },
      lineage: null,
      product: productOf("android-store", fieldOf(row, "google_product_id")),
      kind: null,
      environment: null,
      access: null,
      updatedAt: null,
    };
    return { claims: [claim], problems };
  },
};
