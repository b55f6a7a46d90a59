import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { timelineOf, type Span } from "../../../lib/entitlements/timeline.ts";
import { aCatalog, aProduct, DAY, period } from "../../../testing/support/stores/purchases.ts";
import { AN_HOUR, at, held, HOUR, MINUTE } from "../history.ts";

export const CATALOG = aCatalog([
  aProduct({ productIdentifier: "basic" }),
  aProduct({ productIdentifier: "plus" }),
  aProduct({ productIdentifier: "forever" }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "week", accessDuration: period("P7D") }),
  aProduct({ productIdentifier: "month", accessDuration: period("P1M") }),
  aProduct({ store: "android-store", productIdentifier: "basic" }),
  aProduct({ store: "android-store", productIdentifier: "forever" }),
  aProduct({ store: "android-store", productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ store: "android-store", productIdentifier: "film", purchaseOptionIdentifier: "buy" }),
  aProduct({
    store: "android-store",
    productIdentifier: "film",
    purchaseOptionIdentifier: "rent",
    accessDuration: period("P2D"),
  }),
]);

export const timeline = (...purchases: readonly Purchase[]): readonly Span[] =>
  timelineOf(held(...purchases), { catalog: CATALOG, renewalLeeway: HOUR });

/**
 * A line over time: when it begins, and each status with its end, in days, an hour (`1h`) or a minute (`1m`). A `?` marks
 * assumed access.
 */
export type Picture = string;

/** The spans of the only line, without the minute by which access begins early. */
export const pictureOf = (spans: readonly Span[]): readonly (number | string)[] => {
  expect(spans.slice(1).map(({ from }) => from)).toEqual(spans.slice(0, -1).map(({ to }) => to));
  return spans.flatMap(({ from, to, status, isAssumed }, index) => [
    ...(index === 0 ? [from + MINUTE] : []),
    isAssumed ? `${status}?` : status,
    ...(index === spans.length - 1 && to === Infinity ? [] : [to]),
  ]);
};
export const inTime = (picture: Picture): readonly (number | string)[] =>
  picture.split(" ").map((one) => {
    const [, count, unit] = /^(-?[\d.]+)([hm]?)$/.exec(one) ?? [];
    const days = { h: AN_HOUR, m: MINUTE / DAY };
    return count === undefined ? one : at(Number(count) * (unit === "h" || unit === "m" ? days[unit] : 1));
  });
export const expectPicture = (purchase: Purchase, expected: Picture): void => {
  expect(pictureOf(timeline(purchase))).toEqual(inTime(expected));
};
