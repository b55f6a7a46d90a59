import { createHash } from "node:crypto";
import type { PurchaseReference } from "../../entitlements/purchase.ts";
import { purchaseKey, type PurchaseKey } from "../../identifiers.ts";

/** Purchase key of a token: its SHA-256, so that what is stored cannot be used with the store. */
export const purchaseKeyOfToken = (purchaseToken: string): PurchaseKey =>
  purchaseKey(createHash("sha256").update(purchaseToken, "utf8").digest("hex"));

/** Purchases that a token may name: the token does not tell its environment. */
export const purchasesOfToken = (purchaseToken: string): readonly PurchaseReference[] =>
  (["production", "sandbox"] as const).map((environment) => ({
    store: "android-store",
    environment,
    key: purchaseKeyOfToken(purchaseToken),
  }));
