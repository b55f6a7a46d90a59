import { createHash } from "node:crypto";
import { HOUR, MINUTE } from "./duration.ts";
import { compare } from "./order.ts";

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

/** The first item of each list, then the second of each, and so on. */
export const alternating = <T>(lists: readonly (readonly T[])[]): readonly T[] => {
  const longest = lists.reduce((most, { length }) => Math.max(most, length), 0);
  return Array.from({ length: longest }, (_, place) =>
    lists.flatMap((list) => list.slice(place, place + 1)),
  ).flat();
};

/** Some items of a stream. */
export interface Kept<T> {
  add(item: T): void;
  readonly items: () => readonly T[];
}

/**
 * Keeps at most `most` items of a stream: all of them, or every second one, every fourth, and so on. The next turn keeps other items. If
 * the stream does not change, each item is kept in at least one of any `2 * length / most` consecutive turns.
 *
 * @param turn number of the turn; the next turn has the next number
 * @param leave takes each item that is not kept
 */
export const keepingSome = <T>(most: number, turn: number, leave: (item: T) => void): Kept<T> => {
  let kept: { readonly place: number; readonly item: T }[] = [];
  let added = 0;
  let step = 1;
  const isKept = ({ place }: { readonly place: number }): boolean => place % step === turn % step;
  return {
    add: (item) => {
      const next = { place: added, item };
      added += 1;
      if (!isKept(next)) return leave(item);
      kept.push(next);
      if (kept.length <= most) return;
      step *= 2;
      for (const left of kept.filter((one) => !isKept(one))) leave(left.item);
      kept = kept.filter(isKept);
    },
    items: () => kept.map(({ item }) => item),
  };
};

/**
 * Processes queues, several at once, each for its turn, until none has more.
 *
 * @param workOff never rejects; `more`: the queue has another turn, after all others
 */
export const inTurns = async <Queue>(
  queues: readonly Queue[],
  atOnce: number,
  workOff: (queue: Queue) => Promise<"done" | "more">,
): Promise<void> => {
  const waiting = [...queues];
  const work = async (): Promise<void> => {
    for (;;) {
      const queue = waiting.shift();
      if (queue === undefined) return;
      if ((await workOff(queue)) === "more") waiting.push(queue);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
};
