import type { Application } from "../../applications/application.ts";
import type { Catalog, CatalogProduct } from "../../entitlements/catalog.ts";
import { plusPeriod, type Instant, type Period } from "../../entitlements/time.ts";
import { durationText, periodText } from "../manifest/manifest-values.ts";

/** First and last days of the months of four years, with a leap year: the shortest and the longest periods start there. */
const STARTS: readonly Instant[] = [2025, 2026, 2027, 2028].flatMap((year) =>
  Array.from({ length: 12 }, (_, month) => [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 0)]).flat(),
);

/** Null never ends. */
const end = (start: Instant, period: Period | null): Instant =>
  period === null ? Infinity : plusPeriod(start, period);

/** Whether access that begins on some day would end earlier: a month has 28 to 31 days, so `P1M` may be less than `P30D`. */
const isShorter = (period: Period | null, before: Period | null): boolean =>
  STARTS.some((start) => end(start, period) < end(start, before));

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
    const shorter = now.accessDuration !== null && isShorter(now.accessDuration, old.accessDuration);
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

const acceptedBy = ({ iosStore, androidStore }: Application) => [
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
    return lost.length === 0 ? [] : [`purchases of ${name} from ${lost.join(", ")} are refused`];
  });
};

const leewayLoss = (before: Application, after: Application): string[] =>
  after.renewalLeeway < before.renewalLeeway
    ? [
        `a subscription that renews late keeps its access for ${durationText(after.renewalLeeway)} only, not for ${durationText(before.renewalLeeway)}`,
      ]
    : [];

/** Access that customers can lose when `after` replaces `before`, in words. */
export const lostAccess = (before: Application, after: Application): readonly string[] => [
  ...storeLosses(before, after),
  ...leewayLoss(before, after),
  ...productLosses(before.catalog, after.catalog),
];
