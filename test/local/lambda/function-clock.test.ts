import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMovedClock, type MovedClock } from "../../../local/clock/moved-clock.ts";
import { FunctionPool } from "../../../local/lambda/pool.ts";

const DAY = 86_400_000;
const TIMEOUT = 10_000;

const codeFolder = mkdtempSync(join(tmpdir(), "function-"));
const pools: FunctionPool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop()));
});
afterAll(() => rmSync(codeFolder, { recursive: true, force: true }));

/** A function that answers with the value of an expression. */
const functionOf = (expression: string, clock?: MovedClock) => {
  const module = `expression-${pools.length}`;
  writeFileSync(
    join(codeFolder, `${module}.cjs`),
    `const { createRequire } = require("node:module"); const loadedAt = Date.now();
     exports.handler = async (event, context) => (${expression});`,
  );
  const pool = new FunctionPool(
    {
      codeFolder,
      handler: `${module}.handler`,
      functionName: module,
      functionArn: "arn",
      memory: 128,
      timeout: TIMEOUT,
      environment: {},
      ...(clock && { clock: clock.shared }),
    },
    { log: () => undefined },
  );
  pools.push(pool);
  return async (): Promise<ReturnType<typeof JSON.parse>> => {
    const result = await pool.invoke({});
    return result.status === "succeeded" ? result.payload : result;
  };
};

const aYearAhead = (): MovedClock => createMovedClock(365 * DAY);

/** Whether a time is the clock's, and was read just now. */
const isNow = (time: number, clock: MovedClock): boolean => Math.abs(clock.now() - time) < DAY;

describe("in a function, Date goes by the moved clock:", () => {
  test.each([
    ["Date.now()"],
    ["new Date().getTime()"],
    ["+new Date"],
    ["Date.parse(Date())"],
    ["Reflect.construct(Date, []).getTime()"],
    ["new (class extends Date {})().getTime()"],
    ["new (new Date(0).constructor)().getTime()"],
    ["new globalThis.Date().getTime()"],
    ["loadedAt"],
  ])("%s", async (expression) => {
    const clock = aYearAhead();
    expect(isNow(await functionOf(expression, clock)(), clock)).toBe(true);
  });

  test("in its libraries' modules too", async () => {
    writeFileSync(join(codeFolder, "library.cjs"), "exports.time = () => new Date().getTime();");
    const clock = aYearAhead();
    expect(isNow(await functionOf('require("./library.cjs").time()', clock)(), clock)).toBe(true);
  });
});

test.each([
  ["new Date(5).getTime()", 5],
  ["new Date(2026, 0).getFullYear()", 2026],
  ['new Date("2026-01-01T00:00:00Z").getTime()', Date.UTC(2026, 0, 1)],
  ["new Date(undefined).getTime()", null],
  ["new Date(new Date(5)).getTime()", 5],
  ['Date.parse("2026-01-01T00:00:00Z")', Date.UTC(2026, 0, 1)],
  ["Date.UTC(2026, 0, 1)", Date.UTC(2026, 0, 1)],
  ["Date.length", 7],
  ["Date.name", "Date"],
  ["typeof Date(5)", "string"],
  ["new Date() instanceof Date", true],
  ["structuredClone(new Date()) instanceof Date", true],
  ['require("node:fs").statSync(".").mtime instanceof Date', true],
  ["new Date().constructor === Date", true],
  ["Object.prototype.toString.call(new Date())", "[object Date]"],
  ["new (class Moment extends Date { year() { return this.getFullYear(); } })(2026, 0).year()", 2026],
  ["new (class Moment extends Date {})() instanceof Date", true],
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
  expect(loadedBefore).toBe(loadedAt);
  expect(now).toBeGreaterThanOrEqual(target);
});

test("the time that remains is real, whatever the clock does meanwhile", async () => {
  const clock = aYearAhead();
  const remaining = functionOf("context.getRemainingTimeInMillis()", clock);
  for (const _ of [1, 2]) {
    const milliseconds = await remaining();
    expect(milliseconds).toBeLessThanOrEqual(TIMEOUT);
    expect(milliseconds).toBeGreaterThan(0);
    clock.moveTo(clock.now() + 31 * DAY);
  }
});

test("without a clock, time is real", async () => {
  expect(isNow(await functionOf("Date.now()")(), createMovedClock())).toBe(true);
});
