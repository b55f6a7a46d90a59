import type { Store } from "../../../contract/schemas.ts";
import type { Access } from "../claim.ts";
import type { Profile } from "./profile.ts";
import {
  booleanOrNull,
  claimsBy,
  fieldOf,
  nameIn,
  productIn,
  textOrNull,
  timeOrNull,
  type Row,
} from "./values.ts";

const STORES: Readonly<Record<string, Store>> = {
  app_store: "ios-store",
  mac_app_store: "ios-store",
  play_store: "android-store",
};

/** Whether the row grants nothing: its list of entitlements is there, and empty. */
const grantsNothing = (row: Row): boolean => /^(?:\[\]|\{\})?$/.test(fieldOf(row, "entitlement_identifiers"));

const accessOf = (row: Row): Access | null => {
  if ("entitlement_identifiers" in row && grantsNothing(row)) return null;
  if (fieldOf(row, "refunded_at") !== "") return { given: false };
  return { given: true, until: timeOrNull(row, "effective_end_time") };
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
    const isIos = store === "ios-store";
    return claimsBy(row, column, {
      store,
      name: nameIn(
        row,
        isIos ? "transaction" : "order",
        "store_transaction_id",
        "original_store_transaction_id",
      ),
      lineage: isIos ? textOrNull(row, "original_store_transaction_id") : null,
      product: productIn(row, "product_identifier", !isIos),
      kind: booleanOrNull(row, "is_auto_renewable") === true ? "subscription" : null,
      environment: booleanOrNull(row, "is_sandbox") === true ? "sandbox" : "production",
      access: accessOf(row),
      updatedAt: timeOrNull(row, "updated_at"),
    });
  },
};

export const revenuecatTokens: Profile = {
  name: "revenuecat-tokens",
  marks: [],
  needs: ["user_id", "google_purchase_token", "google_product_id"],
  needsOneOf: [],
  takes: [],
  read: (row) =>
    claimsBy(row, "user_id", {
      store: "android-store",
      name: nameIn(row, "token", "google_purchase_token"),
      product: productIn(row, "google_product_id", true),
    }),
};
