import { DAY, MINUTE } from "../../../lib/duration.ts";
import { aCatalog, aProduct } from "../../support/purchases.ts";

/** Products of one subscription group, the lowest level first, and their lengths. */
export const LENGTHS = { basic: 30 * DAY, plus: 30 * DAY, year: 365 * DAY } as const;
export const PRODUCTS = ["basic", "plus", "year"] as const;
export type Product = (typeof PRODUCTS)[number];

/** Google's subscriptions: of 30 days each. */
export const GOOGLE_PRODUCTS = ["silver", "gold", "prepaid"] as const;
export type GoogleProduct = (typeof GOOGLE_PRODUCTS)[number];

/** Each product grants an entitlement of its own name. */
export const CATALOG = aCatalog([
  ...PRODUCTS.map((productIdentifier) => aProduct({ productIdentifier, grants: [productIdentifier] })),
  ...GOOGLE_PRODUCTS.map((productIdentifier) =>
    aProduct({ store: "android-store", productIdentifier, grants: [productIdentifier] }),
  ),
]);

/** The application's renewal leeway. */
export const LEEWAY = 15 * MINUTE;
