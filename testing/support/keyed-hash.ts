import { createHmac } from "node:crypto";
import type { KeyedHash } from "../../lib/telling/change-table.ts";

/** Hash of an account under a key of the tests. */
export const keyedHash: KeyedHash = (application, account) =>
  Promise.resolve(
    createHmac("sha256", "a key of the tests").update(`${application} ${account}`).digest("hex"),
  );
