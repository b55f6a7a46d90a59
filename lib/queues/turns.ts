import { createHash } from "node:crypto";
import { HOUR, MINUTE } from "../duration.ts";
import { compare } from "../order.ts";

/**
 * Rotates the queues every minute: if one run has no time for all, the next runs start with others.
 *
 * @param moment in milliseconds
 */
export const fromOthersEachMinute = <Queue>(
  queues: readonly Queue[],
  atOnce: number,
  moment: number,
): readonly Queue[] => {
  const first = (Math.floor(moment / MINUTE) * atOnce) % Math.max(1, queues.length);
  return [...queues.slice(first), ...queues.slice(0, first)];
};

/**
 * The items in an order that changes every hour: whatever a run has no time for, the next ones do not leave the same behind.
 *
 * @param moment in milliseconds
 */
export const inHourlyOrder = <T>(
  list: readonly T[],
  textOf: (item: T) => string,
  moment: number,
): readonly T[] => {
  const placeOf = (item: T): string =>
    createHash("sha256")
      .update(`${Math.floor(moment / HOUR)} ${textOf(item)}`)
      .digest("hex");
  return list
    .map((item) => ({ item, place: placeOf(item) }))
    .toSorted((a, b) => compare(a.place, b.place))
    .map(({ item }) => item);
};
