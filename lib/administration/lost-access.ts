import type { Application } from "../applications/application.ts";
import type { Catalog, CatalogProduct } from "../entitlements/catalog.ts";
import { plusPeriod, type Period } from "../entitlements/time.ts";
import { leewayText, periodText } from "./manifest-document.ts";

/** Periods compare by their ends; null never ends. */
const end = (period: Period | null): number => (period === null ? Infinity : plusPeriod(0, period));

const without = <T>(values: readonly T[], kept: readonly T[]): readonly T[] =>
  values.filter((value) => !kept.includes(value));

const productName = (product: CatalogProduct): string =>
  [product.store, product.productIdentifier, product.basePlanIdentifier, product.purchaseOptionIdentifier]
    .filter((part) => part !== null)
    .join(" ");

/** A product with a base plan or purchase option takes precedence over the one without, so adding it can grant less. */
const productLosses = (before: Catalog, after: Catalog): string[] => {
  const named = new Map([...before.products, ...after.products].map((one) => [productName(one), one]));
  return [...named].flatMap(([name, product]) => {
    const old = before.productOf(product.store, product);
    const now = after.productOf(product.store, product);
    if (old === undefined) return [];
    if (now === undefined) return [`product ${name} grants nothing any more`];
    const lost = without(old.grants, now.grants);
    const shorter = now.accessDuration !== null && end(now.accessDuration) < end(old.accessDuration);
    // Without an access duration, access never ends, but a rental grants nothing.
    const unrented =
      product.store === "android-store" && old.accessDuration !== null && now.accessDuration === null;
    return [
      ...(lost.length === 0 ? [] : [`product ${name} does not grant ${lost.join(", ")} any more`]),
      ...(shorter ? [`product ${name} gives access for ${periodText(now.accessDuration)} only`] : []),
      ...(unrented ? [`rentals of product ${name} grant nothing any more`] : []),
    ];
  });
};

interface Accepting {
  readonly name: string;
  readonly accepts: readonly string[];
}

const acceptedBy = ({ iosStore, androidStore }: Application): Accepting[] => [
  ...iosStore.map(({ bundleIdentifier, environments, xcodeCertificates }) => ({
    name: `ios-store ${bundleIdentifier}`,
    accepts: [...environments, ...xcodeCertificates.map((certificate) => `certificate ${certificate}`)],
  })),
  ...androidStore.map(({ packageName, environments }) => ({
    name: `android-store ${packageName}`,
    accepts: environments,
  })),
];

const storeLosses = (before: Application, after: Application): string[] => {
  const now = new Map(acceptedBy(after).map(({ name, accepts }) => [name, accepts]));
  return acceptedBy(before).flatMap(({ name, accepts }) => {
    const kept = now.get(name);
    if (kept === undefined) return [`purchases of ${name} are refused`];
    const lost = without(accepts, kept);
    return lost.length === 0 ? [] : [`purchases of ${name} are refused of ${lost.join(", ")}`];
  });
};

const leewayLoss = (before: Application, after: Application): string[] =>
  after.renewalLeeway < before.renewalLeeway
    ? [
        `a subscription that renews late keeps its access for ${leewayText(after.renewalLeeway)} only, not for ${leewayText(before.renewalLeeway)}`,
      ]
    : [];

/**
 * Access that customers can lose when `after` replaces `before`, in words; empty if every purchase is still accepted and
 * grants at least as much.
 */
export const lostAccess = (before: Application, after: Application): readonly string[] => [
  ...storeLosses(before, after),
  ...leewayLoss(before, after),
  ...productLosses(before.catalog, after.catalog),
];
