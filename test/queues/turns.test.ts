import { setImmediate } from "node:timers/promises";
import { inTurns } from "../../lib/queues/turns.ts";

const named = (...names: readonly string[]) => new Map(names.map((name) => [name, name]));

test("a queue that has more gets its next turn after all others", async () => {
  const turns: string[] = [];
  await inTurns(named("a", "b", "c"), 1, (queue) => {
    turns.push(queue);
    return Promise.resolve(turns.length === 1 ? "more" : "done");
  });
  expect(turns).toEqual(["a", "b", "c", "a"]);
});

test("no more queues are worked off at once than asked for", async () => {
  let open = 0;
  let most = 0;
  await inTurns(named("a", "b", "c", "d", "e"), 2, async () => {
    open += 1;
    most = Math.max(most, open);
    await setImmediate();
    open -= 1;
    return "done";
  });
  expect(most).toBe(2);
});

test("a queue that holds the run up leaves no other waiting", async () => {
  const turns: string[] = [];
  const slow = Promise.withResolvers<"done">();
  let looks = 0;
  const workOff = async (queue: string): Promise<"done"> => {
    turns.push(queue);
    return queue === "slow" ? slow.promise : "done";
  };
  const again = async () => {
    looks += 1;
    if (looks === 2) slow.resolve("done");
    return looks === 1 ? named("slow", "quick", "new") : named();
  };
  await inTurns(named("slow", "quick"), 100, workOff, { untilNextLook: async () => setImmediate(), again });
  expect(turns).toEqual(["slow", "quick", "quick", "new", "slow"]);
});

test("a run in which nothing is slow looks at nothing again", async () => {
  const untilNextLook = () => Promise.withResolvers<void>().promise;
  const again = () => Promise.reject(new Error("looked again"));
  await expect(
    inTurns(named("a", "b"), 2, async () => "done", { untilNextLook, again }),
  ).resolves.toBeUndefined();
});
