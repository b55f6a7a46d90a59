import type { Claim, PurchaseName } from "../claim.ts";
import type { Profile } from "./profile.ts";
import { accountIn, fieldOf, type Row } from "./values.ts";

/** Beside a token, `original_id` is Google's order id. */
const nameOf = (row: Row): Pick<Claim, "store" | "name"> => {
  const [token, receipt, original] = ["purchase_token", "receipt", "original_id"].map((column) =>
    fieldOf(row, column),
  );
  const ofGoogle = (name: PurchaseName | null) => ({ store: "android-store", name }) as const;
  if (token) return ofGoogle({ kind: "token", value: token });
  if (original?.startsWith("GPA.")) return ofGoogle({ kind: "order", value: original });
  if (original) return { store: "ios-store", name: { kind: "transaction", value: original } };
  if (receipt) return { store: "ios-store", name: { kind: "receipt", value: receipt } };
  return "purchase_token" in row && !("receipt" in row) ? ofGoogle(null) : { store: "ios-store", name: null };
};

/** Qonversion's import of users. */
export const qonversionImport: Profile = {
  name: "qonversion-import",
  marks: ["original_id"],
  needs: ["user_id"],
  needsOneOf: [["receipt", "purchase_token", "original_id"]],
  takes: ["product_id"],
  read: (row) => {
    const { account, problems } = accountIn(fieldOf(row, "user_id"));
    const product = fieldOf(row, "product_id");
    const claim: Claim = {
      account,
      ...nameOf(row),
      app: null,
      lineage: null,
      product: product === "" ? null : { productIdentifier: product },
      kind: null,
      environment: null,
      access: null,
      updatedAt: null,
    };
    return { claims: [claim], problems };
  },
};
