import type { Holding } from "../../lib/entitlements/timeline.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { customerId } from "../../lib/identifiers.ts";
import { aCatalog, aLine, aProduct, DAY, NOW, period } from "../../testing/support/stores/purchases.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** An hour, in days. */
export const AN_HOUR = 1 / 24;

/** A millisecond, in days. */
export const A_MILLISECOND = 1 / DAY;

/** The moment so many days from now. */
export const at = (days: number): Instant => NOW + Math.round(days * DAY);

/** Days from now; null where the moment never comes. */
export const inDays = (instant: Instant): number | null =>
  Number.isFinite(instant) ? (instant - NOW) / DAY : null;

/** A subscription's period, in days from now, signed at its start. */
export const aPeriod = (
  transactionIdentifier: string,
  productIdentifier: string,
  from: number,
  to: number,
  more: Partial<Line> = {},
): Line =>
  aLine({
    transactionIdentifier,
    event: `w${transactionIdentifier}`,
    productIdentifier,
    startsAt: at(from),
    purchasedAt: at(from),
    endsAt: at(to),
    verifiedAt: at(from),
    ...more,
  });

export const signed = (days: number) => ({ verifiedAt: at(days) });

/** The mark of an upgrade, signed so many days from now. */
export const marked = (days: number) => ({ standing: "expired" as const, ...signed(days) });

/** A refund that stands, and the day when it was signed. */
export const refunded = (days: number, signedOn = days) => ({
  revokedAt: at(days),
  revokedSince: at(days),
  ...signed(signedOn),
});

/** A refund of one day that the store took back on another. */
export const givenBack = (days: number, signedOn: number) => ({
  revokedAt: null,
  revokedSince: at(days),
  ...signed(signedOn),
});

export const CUSTOMER = customerId("00000000-0000-4000-8000-000000000001");

export const held = (...purchases: readonly Purchase[]): readonly Holding[] =>
  purchases.map((purchase) => ({ customerIdentifier: CUSTOMER, assertedBy: null, purchase }));

export const LEEWAY = 15 * MINUTE;

export const CATALOG = aCatalog([
  aProduct(),
  aProduct({ productIdentifier: "yearly" }),
  aProduct({ productIdentifier: "maps", grants: ["maps"] }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "forever" }),
  aProduct({ store: "android-store" }),
]);

export const termsOf = (catalog = CATALOG, renewalLeeway = LEEWAY) => ({ catalog, renewalLeeway });
