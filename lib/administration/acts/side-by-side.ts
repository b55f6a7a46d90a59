/** Items processed at the same time. */
const AT_ONCE = 25;

/** Processes all items, {@link AT_ONCE} at the same time. After a failure, no further item starts. */
export const sideBySide = async <Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    try {
      for (const item of waiting) await work(item);
    } catch (error) {
      // A closed iterator gives the other workers nothing more.
      waiting.return?.();
      throw error;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
};
