import type { Holding, Terms } from "./entitlements.ts";
import type { Instant } from "./time.ts";

/** Stand-in. */
export const nextChangeAt = (
  _moment: Instant,
  _holdings: readonly Holding[],
  _terms: Terms,
): Instant | null => null;
