import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDataFolder } from "../../../local/database/data-folder.ts";
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
