import type { Item } from "./expressions.ts";
import { bytesOfItem, copyOf, invalid, textOfKey } from "./memory-requests.ts";

const MOST_BYTES = 400 * 1024;

/**
 * Items of the table in memory, and what reads see of them while a transaction is applied.
 *
 * @param seesAfter whether a read during a transaction sees the new version of one of its items, as all later reads then do
 */
export const createStorage = (seesAfter: () => boolean) => {
  /** By partition, then by sort key. */
  const partitions = new Map<string, Map<string, Item>>();
  /** Items of unfinished transactions, as they were before. */
  const applying = new Map<string, { readonly before: Item | undefined; isVisible: boolean }>();

  const stored = ({ pk, sk }: Item): Item | undefined => partitions.get(String(pk))?.get(String(sk));
  const storedItems = (): Item[] => [...partitions.values()].flatMap((partition) => [...partition.values()]);

  /** An item as a read sees it. */
  const seen = (key: Item): Item | undefined => {
    const change = applying.get(textOfKey(key));
    if (change === undefined) return stored(key);
    change.isVisible ||= seesAfter();
    return change.isVisible ? stored(key) : change.before;
  };
  const visible = (keys: readonly Item[]): Item[] => keys.map(seen).filter((item) => item !== undefined);
  const all = (): Item[] => {
    const deleted = [...applying.values()].flatMap(({ before }) =>
      before === undefined || stored(before) !== undefined ? [] : [before],
    );
    return visible([...storedItems(), ...deleted]);
  };

  return {
    stored,
    seen,
    visible,
    all,
    isLocked: (key: Item): boolean => applying.has(textOfKey(key)),

    /** Replaces an item, or deletes it. */
    store: ({ pk, sk }: Item, item: Item | undefined): void => {
      const partition = partitions.get(String(pk)) ?? new Map<string, Item>();
      if (item === undefined) partition.delete(String(sk));
      else if (bytesOfItem(item) > MOST_BYTES)
        throw invalid("Item size has exceeded the maximum allowed size");
      else partition.set(String(sk), item);
      if (partition.size > 0) partitions.set(String(pk), partition);
      else partitions.delete(String(pk));
    },

    /** The visible items with this value, without looking at all others where that is cheap. */
    having: (attribute: string, value: string): Item[] =>
      attribute === "pk" && applying.size === 0
        ? [...(partitions.get(value)?.values() ?? [])]
        : all().filter((item) => item[attribute] === value),

    /** Locks the items of a transaction, whose versions from before reads may still see. */
    during: async (
      before: readonly (readonly [key: Item, item: Item | undefined])[],
      act: () => Promise<void>,
    ): Promise<void> => {
      for (const [key, item] of before) applying.set(textOfKey(key), { before: item, isVisible: false });
      try {
        await act();
      } finally {
        for (const [key] of before) applying.delete(textOfKey(key));
      }
    },

    /** Copies of all items, or of those whose key contains the text, in order of key. */
    copies: (containing: string): Item[] =>
      storedItems()
        .filter(({ pk, sk }) => String(pk).includes(containing) || String(sk).includes(containing))
        .sort((a, b) => (textOfKey(a) < textOfKey(b) ? -1 : 1))
        .map(copyOf),
  };
};
