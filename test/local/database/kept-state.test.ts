import { readFileSync, statSync, writeFileSync } from "node:fs";
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

const path = temporaryFolder();
const folder = openDataFolder(path);

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
    folder,
    clock,
    { "ios-store": aStore(() => sold), "android-store": aStore(() => "{}") },
    (line) => void log.push(line),
  );
  keep();
  expect(keptOffset(folder)).toBe(0);
  const android = join(path, STORE_FILES["android-store"]);
  writeFileSync(android, "not written again");

  clock.moveTo(clock.now() + DAY);
  sold = "[1]";
  keep();
  expect(keptOffset(folder)).toBe(clock.offset());
  expect(folder.read(STORE_FILES["ios-store"])).toBe("[1]");
  expect(readFileSync(android, "utf8")).toBe("not written again");
  expect(statSync(join(path, STORE_FILES["ios-store"])).mode & 0o077).toBe(0);
  expect(log).toEqual([]);
});

test.each([
  ["a store that cannot be saved is logged", folder, ["The data folder could not be written: Error: broken"]],
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
    folder.write("clock.json", text);
    expect(() => keptOffset(folder)).toThrow("clock.json in the data folder cannot be read; remove it");
  },
);
