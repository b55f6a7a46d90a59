import { createHash } from "node:crypto";
import type { AccountId } from "./identifiers.ts";

/** SHA-256 (hex) of an account's identifier, which may be too long for a key and contain any character. */
export const accountDigest = (account: AccountId): string =>
  createHash("sha256").update(account).digest("hex");
