/** Items that an operator's command processes at the same time. */
export const AT_ONCE = 25;

/** Runs the act for each item, so many at once. The first failure ends it, after those that run. */
export const sideBySide = async <Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  atOnce: number,
  act: (item: Item) => Promise<void>,
): Promise<void> => {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const item of items) {
    const one: Promise<void> = act(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= atOnce) await Promise.race(running);
    if (failures.length > 0) break;
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
};

/** Runs acts of one key one after the other. */
export const createTurns = <Key>() => {
  const last = new Map<Key, Promise<void>>();
  return async (key: Key, act: () => Promise<void>): Promise<void> => {
    const before = last.get(key) ?? Promise.resolve();
    const own = before.then(act, act);
    last.set(key, own);
    try {
      await own;
    } finally {
      if (last.get(key) === own) last.delete(key);
    }
  };
};
