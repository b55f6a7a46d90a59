import type { Claim } from "../claim.ts";
import type { Profile } from "./profile.ts";
import { accountIn, booleanOrNull, fieldOf, type Row } from "./values.ts";

const NOTHING_SAID = {
  app: null,
  lineage: null,
  environment: null,
  access: null,
  updatedAt: null,
} as const;

const APPLE = ["apple_original_transaction_id"];
const GOOGLE = ["google_product_id", "google_purchase_token", "google_is_subscription"];

const appleClaim = (row: Row): Pick<Claim, "store" | "name" | "product" | "kind"> | null => {
  const value = fieldOf(row, "apple_original_transaction_id");
  return value === ""
    ? null
    : { store: "ios-store", name: { kind: "transaction", value }, product: null, kind: null };
};

const googleClaim = (row: Row): Pick<Claim, "store" | "name" | "product" | "kind"> | null => {
  const value = fieldOf(row, "google_purchase_token");
  const product = fieldOf(row, "google_product_id");
  if (value === "" && product === "") return null;
  const isSubscription = booleanOrNull(row, "google_is_subscription");
  return {
    store: "android-store",
    name: value === "" ? null : { kind: "token", value },
    product: product === "" ? null : { productIdentifier: product },
    kind: isSubscription === null ? null : isSubscription ? "subscription" : "one_time_product",
  };
};

/** A row of Apple's columns without an id. */
const UNNAMED = { store: "ios-store", name: null, product: null, kind: null } as const;

/**
 * Adapty's import of historical data. A file has the columns of one store, or of both.
 *
 * @see https://adapty.io/docs/importing-historical-data-to-adapty
 */
export const adaptyImport: Profile = {
  name: "adapty-import",
  marks: [...APPLE, "google_is_subscription"],
  needs: ["user_id"],
  needsOneOf: [["apple_original_transaction_id", "google_purchase_token"]],
  takes: GOOGLE,
  read: (row) => {
    const { account, problems } = accountIn(fieldOf(row, "user_id"));
    const named = [appleClaim(row), googleClaim(row)].filter((claim) => claim !== null);
    const claims = named.length > 0 ? named : [UNNAMED];
    return { claims: claims.map((claim) => ({ ...NOTHING_SAID, account, ...claim })), problems };
  },
};
