import { createHash } from "node:crypto";
import { purchaseKey, type PurchaseKey } from "../../identifiers.ts";

/** Purchase key of a token: its SHA-256, so that what is stored cannot be used with the store. */
export const purchaseKeyOfToken = (purchaseToken: string): PurchaseKey =>
  purchaseKey(createHash("sha256").update(purchaseToken, "utf8").digest("hex"));
