import { createHash } from "node:crypto";
import { HOUR, MINUTE } from "../duration.ts";
import { compare } from "../order.ts";

/** Rotates a list, so that it begins at a place; a place past its end counts on from its beginning. */
export const beginningAt = <T>(list: readonly T[], place: number): readonly T[] => {
  const first = place % Math.max(1, list.length);
  return [...list.slice(first), ...list.slice(0, first)];
};

/**
 * Rotates the queues every minute: if one run has no time for all, the next runs start with others.
 *
 * @param moment in milliseconds
 */
export const fromOthersEachMinute = <Queue>(
  queues: readonly Queue[],
  atOnce: number,
  moment: number,
): readonly Queue[] => beginningAt(queues, Math.floor(moment / MINUTE) * atOnce);

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
