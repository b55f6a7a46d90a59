import { MINUTE } from "../../lib/duration.ts";
import { turnOf } from "../../lib/queues/work-off.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { aQueue, DONE, due, POISONED, STEP, UNKNOWN, type Item } from "./memory-queue.ts";

describe("a worker that dies", () => {
  /** Makes the calls from a place on fail, or that one alone: before they take effect, or after. */
  const failing = (queue: ReturnType<typeof aQueue>, place: number, isDead: boolean, isAfter: boolean) => {
    let calls = 0;
    const guard =
      <Given extends readonly unknown[], Answer>(call: (...given: Given) => Promise<Answer>) =>
      async (...given: Given): Promise<Answer> => {
        const isHit = isDead ? calls >= place : calls === place;
        calls += 1;
        if (isHit && !isAfter) throw new Error("The worker has died.");
        const answer = await call(...given);
        if (isHit) throw new Error("The worker has died.");
        return answer;
      };
    const { queue: inner, act, postpone, ...others } = queue.work;
    const due = guard(inner.due.bind(inner));
    const guarded = { due, take: guard(inner.take.bind(inner)), release: guard(inner.release.bind(inner)) };
    const work = { ...others, queue: guarded, act: guard(act), postpone: guard(postpone) };
    const { clock, run } = queue;
    return {
      run: () => clock.during(turnOf(work, run)(clock.now() + MINUTE).catch(() => undefined)),
      calls: () => calls,
    };
  };

  test.each([
    ["for good, before a call", true, false],
    ["for good, after a call", true, true],
    ["in one call, before it takes effect", false, false],
    ["in one call, after it took effect", false, true],
  ])("leaves nothing undone: %s", async (_, isDead, isAfter) => {
    for (let place = 0, calls = 1; place < calls; place += 1) {
      const tried = new Set<string>();
      // One fails at its first try, and one is poisoned then.
      const answer = ({ key }: Item) => {
        const isFirst = !tried.has(key);
        tried.add(key);
        if (isFirst && key === "1") return UNKNOWN;
        if (isFirst && key === "2") throw POISONED;
        return DONE;
      };
      const queue = aQueue(due(5), { answer, atOnce: 2 });
      const dying = failing(queue, place, isDead, isAfter);
      await dying.run();
      calls = dying.calls();
      for (const steps of [2, 4]) {
        queue.clock.set(NOW + steps * STEP);
        expect(await queue.workOff()).toMatchObject({ state: "empty" });
      }
      expect(queue.done.toSorted()).toEqual(["0", "1", "2", "3", "4"]);
      expect(place).toBeLessThan(50);
    }
  });
});
