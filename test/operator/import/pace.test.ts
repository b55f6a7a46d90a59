import { createGate, STOPPED } from "../../../lib/administration/import/pace.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;

/** A clock that stands still until something waits, and then goes on to the first that does. */
const aClock = () => {
  let now = 0;
  const waiting: { readonly at: number; readonly go: () => void }[] = [];
  return {
    now: () => now,
    wait: async (milliseconds: number) =>
      new Promise<void>((go) => void waiting.push({ at: now + milliseconds, go })),
    /** Runs until nothing waits. */
    run: async (work: Promise<unknown>) => {
      let isDone = false;
      void work.finally(() => (isDone = true));
      for (;;) {
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        if (isDone) return work;
        waiting.sort((a, b) => a.at - b.at);
        const next = waiting.shift();
        if (next === undefined) throw new Error("Nothing waits.");
        now = Math.max(now, next.at);
        next.go();
      }
    },
  };
};

type Answer = { readonly outcome: string; readonly status?: number; readonly retryAt?: number };
const OK: Answer = { outcome: "answered" };
const DOWN: Answer = { outcome: "unavailable", status: 503 };

/** Asks so many times at once, and resolves to the answers and the times of the requests. */
const ask = async (times: number, answer: (at: number, index: number) => Answer, perSecond = 20) => {
  const clock = aClock();
  const gate = createGate(clock, perSecond);
  const sent: number[] = [];
  const all = Promise.all(
    Array.from({ length: times }, async (_, index) =>
      gate.ask<Answer>(async () => {
        sent.push(clock.now());
        return answer(clock.now(), index);
      }),
    ),
  );
  await clock.run(all);
  return { answers: await all, sent, gate };
};

/** The most requests within a second. */
const mostInASecond = (sent: readonly number[]): number =>
  Math.max(...sent.map((from) => sent.filter((at) => at >= from && at < from + SECOND).length));

test("requests keep their rate", async () => {
  const { sent } = await ask(100, () => OK);
  expect(mostInASecond(sent)).toBe(20);
  expect(Math.max(...sent)).toBe(99 * 50);
});

test("a time that the store names is kept, and no burst follows it", async () => {
  const until = 30 * SECOND;
  const { sent, answers } = await ask(60, (at) =>
    at < until ? { outcome: "unavailable", status: 429, retryAt: until } : OK,
  );
  expect(answers).toEqual(Array.from({ length: 60 }, () => OK));
  expect(sent.filter((at) => at > 0 && at < until)).toEqual([]);
  expect(mostInASecond(sent)).toBeLessThanOrEqual(20);
});

test("an hour's outage delays everything, and loses nothing", async () => {
  const { answers, sent } = await ask(50, (at) => (at < HOUR ? DOWN : OK));
  expect(answers).toEqual(Array.from({ length: 50 }, () => OK));
  expect(sent.length).toBeLessThan(50 + 40);
  expect(Math.max(...sent)).toBeLessThan(HOUR + 400 * SECOND);
});

test("a request that fails alone is given up, and a store that is away for good", async () => {
  const { answers } = await ask(100, (_, index) => (index === 7 ? DOWN : OK));
  expect(answers.filter((answer) => answer === DOWN)).toHaveLength(1);
  expect((await ask(3, () => DOWN)).answers).toEqual([DOWN, DOWN, DOWN]);
});
test("a refused credential stops all that follows", async () => {
  const refused: Answer = { outcome: "credential-rejected" };
  const { answers, sent, gate } = await ask(50, () => refused);
  expect(sent).toHaveLength(1);
  expect(answers.filter((answer) => answer === STOPPED)).toHaveLength(49);
  expect(gate.isStopped).toBe(true);
});
