import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { MINUTE, SECOND } from "../../lib/duration.ts";
import { workOffAll, workOffApplications, type RunOfAll } from "../../lib/queues/work-off-all.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { turnOf, type Turn } from "../../lib/queues/work-off.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { aQueue, BUSY, DONE, DOWN, due, POISONED } from "./memory-queue.ts";
import { createVirtualClock } from "./virtual-clock.ts";

type MemoryQueue = ReturnType<typeof aQueue>;
const turnsOf = (queues: Readonly<Record<string, MemoryQueue>>, run?: RunOfAll): ReadonlyMap<string, Turn> =>
  new Map(Object.entries(queues).map(([name, queue]) => [name, turnOf(queue.work, run ?? queue.run)]));

const UNTIL = NOW + 10 * MINUTE;

/** Works off queues that share a clock; answers how each was left. */
const workedOff = async (
  queues: Readonly<Record<string, MemoryQueue>>,
  atOnce: number,
  changes: Partial<RunOfAll> = {},
  until = UNTIL,
) => {
  const [first] = Object.values(queues);
  if (first === undefined) throw new Error("no queue");
  const run = { ...first.run, ...changes };
  const left = await first.clock.during(workOffAll(turnsOf(queues, run), run, { atOnce, until }));
  return Object.fromEntries([...left].map(([name, { state }]) => [name, state]));
};

test("a queue that has more gets its next turn after all others", async () => {
  const clock = createVirtualClock(NOW);
  const queues = { one: aQueue(due(60), { clock }), other: aQueue(due(60), { clock }) };
  expect(await workedOff(queues, 1)).toEqual({ one: "empty", other: "empty" });
  const starts = Object.values(queues).map(({ acted }) => acted[0]?.at);
  expect(starts.toSorted()).toEqual([NOW, NOW + 10 * SECOND]);
});

test("each queue has in time the first turn of a run", async () => {
  const firsts = new Set<string | undefined>();
  for (let minute = 0; minute < 9; minute += 1) {
    const clock = createVirtualClock(NOW + minute * MINUTE);
    const begun: string[] = [];
    const beginning = (name: string) =>
      aQueue(due(1), { clock, answer: () => (begun.push(name) > 0 ? DONE : BUSY) });
    await workedOff({ a: beginning("a"), b: beginning("b"), c: beginning("c") }, 1);
    firsts.add(begun[0]);
  }
  expect([...firsts].toSorted()).toEqual(["a", "b", "c"]);
});

test("no more queues are worked off at once than asked for", async () => {
  const clock = createVirtualClock(NOW);
  const queues = Array.from({ length: 5 }, () => aQueue(due(1), { clock }));
  await workedOff(Object.fromEntries(queues.entries()), 2);
  const starts = queues.map(({ acted }) => acted[0]?.at);
  for (const at of new Set(starts)) expect(starts.filter((one) => one === at).length).toBeLessThanOrEqual(2);
});

test("none waits for one whose other end is silent for seconds", async () => {
  const clock = createVirtualClock(NOW);
  const answer = () => clock.wait(15 * SECOND).then(() => DONE);
  const [silent, quiet] = [aQueue(due(9), { answer, clock }), aQueue(due(1), { clock })];
  expect(await workedOff({ silent, quiet }, 2)).toEqual({ silent: "empty", quiet: "empty" });
  expect(quiet.acted[0]?.at).toBe(NOW);
});

test("each is left in its state; a failure concerns one alone", async () => {
  const clock = createVirtualClock(NOW);
  const queues = {
    down: aQueue(due(1), { clock, answer: () => DOWN }),
    broken: aQueue(due(1), { clock }),
    busy: aQueue(due(1), { clock, answer: () => BUSY }),
    done: aQueue(due(1), { clock }),
  };
  queues.broken.work.queue.take = () => Promise.reject(POISONED);
  expect(await workedOff(queues, 5)).toEqual({
    down: "waiting",
    broken: "waiting",
    busy: "waiting",
    done: "empty",
  });
  expect(queues.down.failures).toEqual([POISONED]);
});

test("nothing begins once the time is up", async () => {
  const queue = aQueue(due(1));
  expect(await workedOff({ queue }, 1, {}, NOW)).toEqual({ queue: "waiting" });
  expect(queue.acted).toEqual([]);
});

describe("while one holds the run up", () => {
  /** A queue that holds the run up until so many looks at the others. */
  const heldUp = (looks: number) => {
    const answered = Promise.withResolvers<typeof DONE>();
    const slow = aQueue(due(1), { answer: () => answered.promise, pace: 0 });
    let count = 0;
    const untilNextLook = async (): Promise<void> => {
      // Others have their turns meanwhile.
      for (let turn = 0; turn < 50; turn += 1) await setImmediate();
      if ((count += 1) > looks) answered.resolve(DONE);
    };
    return { slow, untilNextLook };
  };

  test("what comes to the others is worked off", async () => {
    const { slow, untilNextLook } = heldUp(2);
    const quick = aQueue({}, { clock: slow.clock, pace: 0 });
    const look = async () => {
      await untilNextLook();
      quick.items.set("new", NOW);
    };
    await workedOff({ slow, quick }, 5, { untilNextLook: look });
    expect([quick.done, slow.done]).toEqual([["new"], ["0"]]);
  });
  test("queues beside the first are looked at, too", async () => {
    const { slow, untilNextLook } = heldUp(2);
    const other = aQueue(due(1), { clock: slow.clock, pace: 0 });
    const others = async () => turnsOf({ slow, other });
    const run = { ...slow.run, untilNextLook };
    await slow.clock.during(workOffAll(turnsOf({ slow }), run, { atOnce: 5, until: UNTIL, others }));
    expect(other.done).toEqual(["0"]);
  });
  test("so are applications beside those that the run begins with", async () => {
    const { slow, untilNextLook } = heldUp(2);
    const other = aQueue(due(1), { clock: slow.clock, pace: 0 });
    const ids = [slow, other].map(() => applicationId(randomUUID()));
    const run = {
      ...slow.run,
      untilNextLook,
      applications: async () => ids,
      directory: { byIdentifier: async (id: string) => ({ id, queue: id === ids[0] ? slow : other }) },
    };
    const together = { only: ids.slice(0, 1), atOnce: 5, until: UNTIL };
    await slow.clock.during(
      workOffApplications(run, ({ id, queue }) => turnsOf({ [id]: queue }, run), together),
    );
    expect([other.done, slow.done]).toEqual([["0"], ["0"]]);
  });
  test("those whose items wait are not looked at again", async () => {
    const { slow, untilNextLook } = heldUp(5);
    const down = aQueue(due(1), { clock: slow.clock, pace: 0, answer: () => DOWN });
    await workedOff({ slow, down }, 5, { untilNextLook });
    expect([down.acted.length, slow.done.length]).toEqual([1, 1]);
  });
});

test("a run in which nothing is slow looks at nothing again", async () => {
  const queue = aQueue(due(1), { pace: 0 });
  const others = () => Promise.reject(POISONED);
  const run = { ...queue.run, untilNextLook: () => Promise.withResolvers<void>().promise };
  const together = { atOnce: 1, until: UNTIL, others };
  await queue.clock.during(workOffAll(turnsOf({ queue }), run, together));
  expect([queue.done, queue.failures]).toEqual([["0"], []]);
});
