import type { Instant } from "../lib/entitlements/time.ts";

/** The next event of each of many keys. The earliest comes first; of several, that of the key which was set first. */
export interface Due {
  /** @param at null: the key has no event */
  set(key: string, at: Instant | null): void;
  delete(key: string): void;
  first(): DueEvent | null;
  clear(): void;
}

export interface DueEvent {
  readonly key: string;
  readonly at: Instant;
}

interface Entry extends DueEvent {
  readonly order: number;
}

const precedes = (one: Entry, other: Entry): boolean =>
  one.at === other.at ? one.order < other.order : one.at < other.at;

/** A binary heap; entries that were replaced are skipped when they reach its top. */
export const createDue = (): Due => {
  const current = new Map<string, Entry | null>();
  const orders = new Map<string, number>();
  const heap: Entry[] = [];
  let keys = 0;

  const entryAt = (index: number): Entry | undefined => heap[index];
  const add = (entry: Entry): void => {
    let index = heap.push(entry) - 1;
    for (;;) {
      const above = (index - 1) >> 1;
      const parent = index === 0 ? undefined : entryAt(above);
      if (parent === undefined || !precedes(entry, parent)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = entry;
  };
  const removeTop = (): void => {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = entryAt(2 * index + 1);
      const right = entryAt(2 * index + 2);
      const isRight = left !== undefined && right !== undefined && precedes(right, left);
      const child = isRight ? right : left;
      if (child === undefined || !precedes(child, last)) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = last;
  };

  return {
    set: (key, at) => {
      const order = orders.get(key) ?? ++keys;
      orders.set(key, order);
      if (current.get(key)?.at === at) return;
      const entry = at === null ? null : { key, at, order };
      current.set(key, entry);
      if (entry !== null) add(entry);
    },
    delete: (key) => {
      current.delete(key);
      orders.delete(key);
    },
    first: () => {
      for (let top = entryAt(0); top !== undefined; top = entryAt(0)) {
        if (current.get(top.key) === top) return top;
        removeTop();
      }
      return null;
    },
    clear: () => {
      current.clear();
      orders.clear();
      heap.length = 0;
    },
  };
};
