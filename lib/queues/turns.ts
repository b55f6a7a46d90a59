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

/** How a run that one queue holds up goes on with the others. */
export interface HeldUp<Queue> {
  /** Waits a moment, in real time. */
  readonly untilNextLook: () => Promise<void>;
  /** Queues to look at again, by their names; empty: the run is over. */
  readonly again: () => Promise<ReadonlyMap<string, Queue>>;
}

/**
 * Processes queues by name, several at once, each for its turn, until none has more. While some hold the run up, because
 * their other end is slow, the others are looked at again.
 *
 * @param workOff never rejects; `more`: the queue has another turn, after all others
 * @param heldUp unset: nothing is looked at again
 */
export const inTurns = async <Queue>(
  queues: ReadonlyMap<string, Queue>,
  atOnce: number,
  workOff: (queue: Queue) => Promise<"done" | "more">,
  heldUp?: HeldUp<Queue>,
): Promise<void> => {
  const waiting = new Map(queues);
  const working = new Map<string, Promise<void>>();
  let looks = 0;
  const begin = (name: string, queue: Queue): void => {
    waiting.delete(name);
    const turn = async (): Promise<void> => {
      const before = looks;
      const outcome = await workOff(queue);
      working.delete(name);
      // What came to a slow one during its turn is not left, either.
      if (outcome === "more" || looks > before) waiting.set(name, queue);
    };
    working.set(name, turn());
  };
  while (waiting.size + working.size > 0) {
    for (const [name, queue] of waiting) if (working.size < atOnce) begin(name, queue);
    const turn = Promise.race(working.values());
    if (heldUp === undefined || waiting.size > 0) {
      await turn;
      continue;
    }
    const isHeldUp = await Promise.race([turn.then(() => false), heldUp.untilNextLook().then(() => true)]);
    if (!isHeldUp) continue;
    looks += 1;
    for (const [name, queue] of await heldUp.again()) if (!working.has(name)) waiting.set(name, queue);
  }
};
