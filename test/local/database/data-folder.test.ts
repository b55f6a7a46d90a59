import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DAY } from "../../../lib/duration.ts";
import { createMovedClock } from "../../../local/clock/moved-clock.ts";
import {
  createKeeper,
  keptOffset,
  openDataFolder,
  STORE_FILES,
} from "../../../local/database/data-folder.ts";
import type { TimedStore } from "../../../sandbox/clock.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const folder = temporaryFolder();
const lock = join(folder, ".in-use-by");

test("a folder is held until it is released", () => {
  const held = openDataFolder(folder);
  expect(existsSync(lock)).toBe(true);
  held.release();
  expect(existsSync(lock)).toBe(false);
});

test("a folder that a running process holds is refused", () => {
  writeFileSync(lock, String(process.ppid));
  expect(() => openDataFolder(folder)).toThrow(`is in use by process ${process.ppid}.`);
  rmSync(lock);
});

test.each([
  ["a process that has ended", String(spawnSync(process.execPath, ["--version"]).pid)],
  ["an earlier process with this process's id", String(process.pid)],
  ["no process", ""],
  ["an invalid process id", "-1"],
])("a lock of %s is taken over", (_, holder) => {
  writeFileSync(lock, holder);
  openDataFolder(folder).release();
  expect(existsSync(lock)).toBe(false);
});

const path = temporaryFolder();
const opened = openDataFolder(path);

const aStore = (save: () => string): TimedStore => ({
  nextEventAt: () => null,
  runUntil: async () => undefined,
  reset: () => undefined,
  save,
});

test("the clock's offset and the changes of the stores are kept", () => {
  const clock = createMovedClock();
  let sold = "[]";
  const log: string[] = [];
  const keep = createKeeper(
    opened,
    clock,
    { "ios-store": aStore(() => sold), "android-store": aStore(() => "{}") },
    (line) => void log.push(line),
  );
  keep();
  expect(keptOffset(opened)).toBe(0);
  const android = join(path, STORE_FILES["android-store"]);
  writeFileSync(android, "not written again");

  clock.moveTo(clock.now() + DAY);
  sold = "[1]";
  keep();
  expect(keptOffset(opened)).toBe(clock.offset());
  expect(opened.read(STORE_FILES["ios-store"])).toBe("[1]");
  expect(readFileSync(android, "utf8")).toBe("not written again");
  expect(statSync(join(path, STORE_FILES["ios-store"])).mode & 0o077).toBe(0);
  expect(log).toEqual([]);
});

test.each([
  ["a store that cannot be saved is logged", opened, ["The data folder could not be written: Error: broken"]],
  ["without a folder nothing is kept", openDataFolder(null), []],
])("%s", (_, into, logged) => {
  const log: string[] = [];
  const broken = aStore(() => {
    throw new Error("broken");
  });
  const stores = { "ios-store": broken, "android-store": broken };
  createKeeper(into, createMovedClock(), stores, (line) => void log.push(line))();
  expect(log).toEqual(logged);
});

test.each(["", "{}", '{"offset":-1}', '{"offset":"1"}', '{"offset":1e99}'])(
  "a clock kept as %j is refused",
  (text) => {
    opened.write("clock.json", text);
    expect(() => keptOffset(opened)).toThrow("clock.json in the data folder cannot be read; remove it");
  },
);
