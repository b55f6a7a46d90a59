import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { OrphanedDatabaseError } from "../../../local/database/folder-lock.ts";
import { confirm, startAfterKilledRun } from "../../../local/database/killed-run.ts";

/** Stands for a database that a killed run has left. */
let database: ChildProcess;
beforeEach(async () => {
  database = spawn(process.execPath, ["-e", "console.log(); setInterval(() => {}, 1000)"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(database.stdout ?? database, "data");
});
afterEach(() => void database.kill("SIGKILL"));

const isRunning = (): boolean => database.exitCode === null && database.signalCode === null;

/** A start that the database is in the way of, and what was asked of the user. */
const aStart = (answer: boolean | null) => {
  const orphan = new OrphanedDatabaseError("data", database.pid ?? 0);
  const asked: string[][] = [];
  const starts: boolean[] = [];
  const started = startAfterKilledRun(
    async () => {
      starts.push(isRunning());
      if (starts.length === 1) throw orphan;
      return Promise.resolve("started");
    },
    answer === null
      ? null
      : async (message, question) => {
          asked.push([message, question]);
          return Promise.resolve(answer);
        },
  );
  return { started, asked, starts, orphan };
};

test("a yes ends the database, and the service starts", async () => {
  const { started, asked, starts, orphan } = aStart(true);
  expect(await started).toBe("started");
  expect(asked).toEqual([[orphan.message, "End it now? (yes/no) "]]);
  expect(orphan.message).toContain(`(process ${database.pid})`);
  expect(starts).toEqual([true, false]);
  expect(database.signalCode).toBe("SIGTERM");
});

test("a no leaves the database alone, and nothing starts", async () => {
  const { started, asked, starts } = aStart(false);
  expect(await started).toBeNull();
  expect([asked.length, starts]).toEqual([1, [true]]);
  expect(isRunning()).toBe(true);
});

test("a database that has ended before the answer is no obstacle", async () => {
  const gone = once(database, "exit");
  database.kill("SIGKILL");
  await gone;
  const { started, starts } = aStart(true);
  expect(await started).toBe("started");
  expect(starts).toEqual([false, false]);
});

test("without a terminal nobody is asked; the error says what to do", async () => {
  const { started, starts, orphan } = aStart(null);
  await expect(started).rejects.toBe(orphan);
  expect([starts, isRunning()]).toEqual([[true], true]);
});

test.each([
  ["yes\n", true],
  ["  YES \n", true],
  ["y\n", false],
  ["", false],
])("the answer %j confirms: %s", async (answer, confirms) => {
  const input = new PassThrough();
  const output = new PassThrough();
  const confirmed = confirm("End it now? ", { input, output });
  input.end(answer);
  expect(await confirmed).toBe(confirms);
  expect(String(output.read())).toBe("End it now? ");
});
