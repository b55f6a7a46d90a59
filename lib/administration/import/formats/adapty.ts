import type { Profile } from "./profile.ts";
import { booleanOrNull, claimsBy, fieldOf, nameIn, productIn, type Row } from "./values.ts";

const APPLE = "apple_original_transaction_id";
const GOOGLE = ["google_product_id", "google_purchase_token", "google_is_subscription"];

const googleClaim = (row: Row) => {
  const isSubscription = booleanOrNull(row, "google_is_subscription");
  const kind = isSubscription ? "subscription" : "one_time_product";
  return {
    store: "android-store",
    name: nameIn(row, "token", "google_purchase_token"),
    product: productIn(row, "google_product_id", false),
    kind: isSubscription === null ? null : kind,
  } as const;
};

/**
 * Adapty's import of historical data. A file has the columns of one store, or of both.
 *
 * @see https://adapty.io/docs/importing-historical-data-to-adapty
 */
export const adaptyImport: Profile = {
  name: "adapty-import",
  marks: [APPLE, "google_is_subscription"],
  needs: ["user_id"],
  needsOneOf: [[APPLE, "google_purchase_token"]],
  takes: GOOGLE,
  read: (row) => {
    const google = googleClaim(row);
    const isOfGoogle = google.name !== null || google.product !== null;
    // A row without any id is one of Apple's columns.
    const isOfApple = fieldOf(row, APPLE) !== "" || !isOfGoogle;
    const apple = { store: "ios-store", name: nameIn(row, "transaction", APPLE) } as const;
    return claimsBy(row, "user_id", ...(isOfApple ? [apple] : []), ...(isOfGoogle ? [google] : []));
  },
};
