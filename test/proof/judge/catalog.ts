import { DAY, MINUTE } from "../../../lib/duration.ts";
import { aCatalog, aProduct, period } from "../../../testing/support/stores/purchases.ts";

/** Products of one subscription group, the lowest level first, and their lengths. */
export const LENGTHS = { basic: 30 * DAY, plus: 30 * DAY, year: 365 * DAY } as const;
export const PRODUCTS = ["basic", "plus", "year"] as const;
export type Product = (typeof PRODUCTS)[number];

/** Google's subscriptions: of 30 days each. */
export type GoogleProduct = "silver" | "gold" | "prepaid";

/** Passes of both stores, and the length of one. */
export const PASS_LENGTHS = { "day pass": DAY, "week pass": 7 * DAY } as const;
export type PassProduct = keyof typeof PASS_LENGTHS;

const sold = (store: "ios-store" | "android-store", productIdentifier: string, duration?: string) =>
  aProduct({
    store,
    productIdentifier,
    grants: [productIdentifier],
    accessDuration: duration === undefined ? null : period(duration),
  });

/** Each product grants an entitlement of its own name. */
const CATALOG = aCatalog([
  ...[...PRODUCTS, "lifetime"].map((product) => sold("ios-store", product)),
  ...["silver", "gold", "prepaid"].map((product) => sold("android-store", product)),
  ...(["ios-store", "android-store"] as const).flatMap((store) => [
    sold(store, "day pass", "P1D"),
    sold(store, "week pass", "P1W"),
  ]),
]);

/** The application's renewal leeway. */
export const LEEWAY = 15 * MINUTE;
export const TERMS = { catalog: CATALOG, renewalLeeway: LEEWAY };
