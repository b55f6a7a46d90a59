import type { Store } from "../../../contract/schemas.ts";
import type { Access, AskedEnvironment, PurchaseName } from "../claim.ts";
import {
  booleanOrNull,
  claimsBy,
  fieldOf,
  nameIn,
  productIn,
  storeIn,
  textOrNull,
  timeOrNull,
  type Profile,
  type Row,
} from "./row.ts";

const storeOf = (row: Row): Store | undefined => {
  if (fieldOf(row, "store") !== "") return storeIn(row);
  return fieldOf(row, "purchase_token") || fieldOf(row, "order_id") ? "android-store" : "ios-store";
};

const nameOf = (store: Store, row: Row): PurchaseName | null =>
  store === "ios-store"
    ? (nameIn(row, "transaction", "transaction_id", "original_transaction_id") ??
      nameIn(row, "receipt", "receipt"))
    : (nameIn(row, "token", "purchase_token") ?? nameIn(row, "order", "order_id"));

/** A row that only has an end says that access runs until then. */
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

/** A table of one's own; columns of other names are given to it by `--map`. */
export const table: Profile = {
  name: "table",
  marks: ["account"],
  needs: ["account"],
  needsOneOf: [["transaction_id", "original_transaction_id", "receipt", "purchase_token", "order_id"]],
  takes: ["store", "app", "product", "kind", "environment", "active", "ends_at"],
  read: (row) => {
    const store = storeOf(row);
    if (store === undefined) return { claims: [], problems: ["other-store"] };
    const kind = fieldOf(row, "kind");
    return claimsBy(row, "account", {
      store,
      app: textOrNull(row, "app"),
      name: nameOf(store, row),
      lineage: store === "ios-store" ? textOrNull(row, "original_transaction_id") : null,
      product: productIn(row, "product", true),
      kind: kind === "subscription" || kind === "one_time_product" ? kind : null,
      environment: environmentOf(row),
      access: accessOf(row),
    });
  },
};
