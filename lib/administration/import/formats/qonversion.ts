import type { Claim } from "../claim.ts";
import type { Profile } from "./profile.ts";
import { claimsBy, fieldOf, nameIn, productIn, type Row } from "./values.ts";

/** Beside a token, `original_id` is Google's order id. */
const namedIn = (row: Row): Pick<Claim, "store" | "name"> => {
  const isOrder = fieldOf(row, "original_id").startsWith("GPA.");
  const google =
    nameIn(row, "token", "purchase_token") ?? (isOrder ? nameIn(row, "order", "original_id") : null);
  if (google !== null) return { store: "android-store", name: google };
  const name = nameIn(row, "transaction", "original_id") ?? nameIn(row, "receipt", "receipt");
  const isOfGoogle = name === null && "purchase_token" in row && !("receipt" in row);
  return { store: isOfGoogle ? "android-store" : "ios-store", name };
};

export const qonversionImport: Profile = {
  name: "qonversion-import",
  marks: ["original_id"],
  needs: ["user_id"],
  needsOneOf: [["receipt", "purchase_token", "original_id"]],
  takes: ["product_id"],
  read: (row) => claimsBy(row, "user_id", { ...namedIn(row), product: productIn(row, "product_id", false) }),
};
