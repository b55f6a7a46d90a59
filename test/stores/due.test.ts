import fc from "fast-check";
import { createDue } from "../../sandbox/clock.ts";
import { cases } from "../../testing/support/proof.ts";

const KEYS = ["a", "b", "c", "d"] as const;

const step = fc.record({
  key: fc.constantFrom(...KEYS),
  at: fc.option(fc.nat(5)),
  deletes: fc.boolean(),
});

test("the first event is the earliest, and of equals the first key's", () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const due = createDue();
      const kept = new Map<string, number | null>();
      for (const { key, at, deletes } of steps) {
        if (deletes) {
          due.delete(key);
          kept.delete(key);
        } else {
          due.set(key, at);
          kept.set(key, at);
        }
        let first: { readonly key: string; readonly at: number } | null = null;
        for (const [key, at] of kept)
          if (at !== null && (first === null || at < first.at)) first = { key, at };
        const next = due.first();
        expect(next === null ? null : { key: next.key, at: next.at }).toEqual(first);
      }
    }),
    cases(200, 5_000),
  );
});
