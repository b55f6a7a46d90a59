import { DAY } from "../duration.ts";
import { placedAccesses } from "./access.ts";
import type { Catalog, CatalogProduct, ProductReference } from "./catalog.ts";
import { grantsAccess } from "./grants.ts";
import type { Holding } from "./holding.ts";
import { momentAt } from "./moment.ts";
import { beganBy, isPeriod } from "./periods.ts";
import type { Line, Purchase } from "./purchase.ts";
import { statusAt } from "./status.ts";
import type { Instant } from "./time.ts";

/**
 * Renewal leeway with which a purchase counts as inactive, the longest that a manifest can give: what ended within a day may be
 * renewed, and not be asked about yet. The same holds of an App Store subscription of which no renewal info is known, as an app
 * need not send one, and of one whose upgrade is not known.
 */
const INACTIVE_LEEWAY = DAY;

/**
 * The catalog, which maps all else to something that never ends by itself: it may be on sale, and be mapped later. But not a
 * consumable of the App Store, which is consumed.
 */
export const withUnmapped = (catalog: Catalog): Catalog => {
  const productOf = (
    store: CatalogProduct["store"],
    line: ProductReference & Partial<Pick<Line, "nature">>,
  ): CatalogProduct | undefined => {
    const product = catalog.productOf(store, line);
    if (product !== undefined || (store === "ios-store" && line.nature === "consumable")) return product;
    const { productIdentifier, basePlanIdentifier = null, purchaseOptionIdentifier = null } = line;
    const reference = { store, productIdentifier, basePlanIdentifier, purchaseOptionIdentifier };
    return { ...reference, grants: [productIdentifier], accessDuration: null };
  };
  return { ...catalog, productOf };
};

/** Whether the App Store's renewal info names the end of a period of which no transaction is known. */
const isRenewedUnseen = (now: Instant, { renewal }: Purchase, periods: readonly Line[]): boolean => {
  const end = renewal === null || renewal.isInBillingRetry ? 0 : (renewal.periodEndsAt ?? 0);
  return end > now && periods.every(({ endsAt }) => (endsAt ?? Infinity) < end);
};

/** Whether the period that began last is marked as upgraded, and nothing is known of the upgrade that runs in its place. */
const isUpgradedUnseen = (now: Instant, { replacedBy }: Purchase, periods: readonly Line[]): boolean =>
  replacedBy === null &&
  periods.some(
    (period) =>
      period.standing === "expired" &&
      (period.endsAt ?? Infinity) + INACTIVE_LEEWAY > now &&
      periods.every(
        (other) =>
          beganBy(other) < beganBy(period) ||
          (beganBy(other) === beganBy(period) &&
            (other.standing === "expired" || other.productIdentifier === period.productIdentifier)),
      ),
  );

/**
 * Whether any of the holdings may give access now, or has been paid for and gives it later: by the catalog, or by one that mapped
 * them. What is not known to be over counts, so that a payer's customer is never given to another account.
 */
export const mayBeActive = (now: Instant, holdings: readonly Holding[], catalog: Catalog): boolean => {
  const moment = momentAt(now);
  return (
    placedAccesses(moment, holdings, withUnmapped(catalog)).some((access) =>
      grantsAccess(statusAt(moment, access, INACTIVE_LEEWAY, true)),
    ) ||
    holdings.some(({ purchase }) => {
      const periods = purchase.store === "ios-store" ? purchase.lines.filter(isPeriod) : [];
      return isRenewedUnseen(now, purchase, periods) || isUpgradedUnseen(now, purchase, periods);
    })
  );
};
