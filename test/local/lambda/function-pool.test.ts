import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DAY } from "../../../lib/duration.ts";
import { createMovedClock, type MovedClock } from "../../../local/clock/moved-clock.ts";
import { FunctionPool } from "../../../local/lambda/functions.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const TIMEOUT = 10_000;

const codeFolder = temporaryFolder();
const pools: FunctionPool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop()));
});

let made = 0;
const log: string[] = [];
/** A function with this code. */
const poolOf = (code: string, clock = createMovedClock(), timeout = TIMEOUT): FunctionPool => {
  const module = `function-${(made += 1)}`;
  writeFileSync(join(codeFolder, `${module}.cjs`), code);
  const pool = new FunctionPool(
    {
      codeFolder,
      handler: `${module}.handler`,
      functionName: module,
      functionArn: "arn",
      memory: 128,
      timeout,
      environment: {},
      clock: clock.shared,
    },
    { log: (line) => void log.push(line), output: () => undefined },
  );
  pools.push(pool);
  return pool;
};

/** A function that answers with the value of an expression. */
const functionOf = (expression: string, clock?: MovedClock) => {
  const pool = poolOf(
    `const loadedAt = Date.now(); exports.handler = async (event, context) => (${expression});`,
    clock,
  );
  return async (): Promise<ReturnType<typeof JSON.parse>> => {
    const result = await pool.invoke({});
    return result.status === "succeeded" ? result.payload : result;
  };
};

const aYearAhead = (): MovedClock => createMovedClock(365 * DAY);

test("Date goes by the moved clock, in a function's libraries too", async () => {
  writeFileSync(join(codeFolder, "library.cjs"), "exports.time = () => new Date().getTime();");
  const clock = aYearAhead();
  const times: number[] = await functionOf(
    `[Date.now(), new Date().getTime(), +new Date, Date.parse(Date()), new (class extends Date {})().getTime(),
      loadedAt, require("./library.cjs").time()]`,
    clock,
  )();
  expect(times.filter((time) => Math.abs(clock.now() - time) > DAY)).toEqual([]);
  expect(times).toHaveLength(7);
  expect(Math.abs((await functionOf("Date.now()")()) - Date.now())).toBeLessThan(DAY);
});

test.each([
  ["new Date(5).getTime()", 5],
  ['new Date("2026-01-01T00:00:00Z").getTime()', Date.UTC(2026, 0, 1)],
  ["new Date(undefined).getTime()", null],
  ["Date.UTC(2026, 0, 1)", Date.UTC(2026, 0, 1)],
  ["typeof Date(5)", "string"],
  ["new Date() instanceof Date", true],
  ["structuredClone(new Date()) instanceof Date", true],
  ['require("node:fs").statSync(".").mtime instanceof Date', true],
  ["new Date().constructor === Date", true],
  ["new (class Moment extends Date { year() { return this.getFullYear(); } })(2026, 0).year()", 2026],
])("what does not read the clock is as it was: %s", async (expression, value) => {
  expect(await functionOf(expression, aYearAhead())()).toBe(value);
});

test("a move reaches a running environment and an idle one", async () => {
  const clock = createMovedClock();
  const waiting = functionOf(
    `new Promise((resolve) => {
      if (!globalThis.invoked) resolve("ready");
      globalThis.invoked = true;
      setInterval(() => Date.now() - loadedAt > ${DAY} && resolve("moved"), 5);
    })`,
    clock,
  );
  const reading = functionOf("[loadedAt, Date.now()]", clock);
  const [loadedAt] = await reading();
  expect(await waiting()).toBe("ready");
  const moved = waiting();
  const target = clock.now() + 31 * DAY;
  clock.moveTo(target);
  expect(await moved).toBe("moved");
  const [loadedBefore, now] = await reading();
  expect([loadedBefore, now >= target]).toEqual([loadedAt, true]);
});

test("the time that remains is real, whatever the clock does meanwhile", async () => {
  const clock = aYearAhead();
  const remaining = functionOf("context.getRemainingTimeInMillis()", clock);
  for (const _ of [1, 2]) {
    const milliseconds = await remaining();
    expect(milliseconds > 0 && milliseconds <= TIMEOUT).toBe(true);
    clock.moveTo(clock.now() + 31 * DAY);
  }
});

const SLEEP = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);";
test.each([
  [
    "whose start takes long has its whole time",
    `${SLEEP} exports.handler = async () => "done";`,
    { status: "succeeded", payload: "done" },
  ],
  [
    "whose module cannot be loaded fails",
    'throw new TypeError("broken");',
    { status: "failed", errorType: "TypeError" },
  ],
])("a function %s", async (_, code, result) => {
  expect(await poolOf(code, undefined, 1_000).invoke({})).toMatchObject(result);
});

test.each([
  ["succeeds", "", true],
  ["throws", 'throw new TypeError("thrown");', true],
  ["crashes", 'setTimeout(() => { throw new Error("crashed"); }); await new Promise(() => {});', false],
  ["crashes after its answer", 'setTimeout(() => { throw new Error("crashed late"); }, 50);', false],
  ["exits", "process.exit(1);", false],
  ["takes too long", "for (;;);", false],
])("an environment keeps its memory after an invocation that %s: %s", async (_, fault, isReused) => {
  const pool = poolOf(
    `let invocations = 0;
    exports.handler = async (isFirst) => { invocations += 1; if (isFirst) { ${fault} } return invocations; };`,
    undefined,
    1_000,
  );
  log.length = 0;
  const { status } = await pool.invoke(true);
  // A crash between two invocations takes a moment.
  await sleep(300);
  expect(await pool.invoke(false)).toEqual({ status: "succeeded", payload: isReused ? 2 : 1 });
  const isLogged = /thrown|crashed$|ended with 1|Task timed out after 1.00 seconds/m.test(log.join("\n"));
  expect(isLogged).toBe(status === "failed");
});

test("an environment serves one invocation at a time; ten serve a hundred", async () => {
  const pool = poolOf(`const born = Math.random();
    let isBusy = false;
    exports.handler = async () => {
      if (isBusy) throw new Error("two at a time");
      isBusy = true;
      await new Promise((resolve) => setTimeout(resolve, 20));
      isBusy = false;
      return born;
    };`);
  const results = await Promise.all(Array.from({ length: 100 }, () => pool.invoke({})));
  const { size } = new Set(results.map((result) => result.status === "succeeded" && result.payload));
  expect(results.filter(({ status }) => status !== "succeeded")).toEqual([]);
  expect(size > 1 && size <= 10).toBe(true);
});
