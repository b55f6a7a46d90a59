import { MINUTE } from "./duration.ts";

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
