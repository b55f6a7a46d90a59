import { DAY, MINUTE } from "../../../lib/duration.ts";
import { aCatalog, aProduct, period } from "../../../testing/support/stores/purchases.ts";

/** Products of one subscription group, the lowest level first, and their lengths. */
export const LENGTHS = { basic: 30 * DAY, plus: 30 * DAY, year: 365 * DAY } as const;
export const PRODUCTS = ["basic", "plus", "year"] as const;
export type Product = (typeof PRODUCTS)[number];

/** Google's subscriptions: of 30 days each. */
export const GOOGLE_PRODUCTS = ["silver", "gold", "prepaid"] as const;
export type GoogleProduct = (typeof GOOGLE_PRODUCTS)[number];

/** Passes of both stores, and the length of one. */
export const PASS_LENGTHS = { "day pass": DAY, "week pass": 7 * DAY } as const;
export type PassProduct = keyof typeof PASS_LENGTHS;

const PASSES = [
  { productIdentifier: "day pass", accessDuration: period("P1D") },
  { productIdentifier: "week pass", accessDuration: period("P1W") },
] as const;

/** Each product grants an entitlement of its own name. */
export const CATALOG = aCatalog([
  ...PRODUCTS.map((productIdentifier) => aProduct({ productIdentifier, grants: [productIdentifier] })),
  ...GOOGLE_PRODUCTS.map((productIdentifier) =>
    aProduct({ store: "android-store", productIdentifier, grants: [productIdentifier] }),
  ),
  ...(["ios-store", "android-store"] as const).flatMap((store) =>
    PASSES.map((pass) => aProduct({ store, ...pass, grants: [pass.productIdentifier] })),
  ),
  aProduct({ productIdentifier: "lifetime", grants: ["lifetime"] }),
]);

/** The application's renewal leeway. */
export const LEEWAY = 15 * MINUTE;
