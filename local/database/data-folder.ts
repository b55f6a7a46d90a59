import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { isInstant } from "../../lib/entitlements/time.ts";
import type { TimedStore } from "../../sandbox/clock.ts";
import type { MovedClock } from "../clock/moved-clock.ts";
import { codeOf, LocalError } from "../server.ts";

/** Ids of the processes that use the folder: the service, and on the second line its database. */
const LOCK_FILE = ".in-use-by";

const isRunning = (holder: number): boolean => {
  try {
    return process.kill(holder, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
};

/**
 * Whether the process is a database on the folder: after a restart of the machine, another one may have its id. Where its
 * command cannot be read, it counts as the database.
 */
const isDatabaseOf = (dynamoDb: string, id: number): boolean => {
  if (!isRunning(id)) return false;
  try {
    const command = execFileSync("ps", ["-ww", "-o", "args=", "-p", String(id)], { encoding: "utf8" });
    return command.includes(dynamoDb) || command.includes("docker");
  } catch {
    return true;
  }
};

const idIn = (line: string | undefined): number | null => {
  const id = Number(line);
  return line && Number.isInteger(id) && id > 0 ? id : null;
};

const take = (file: string): boolean => {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
};

/** Refuses a folder that another service, or the database of one that was killed, uses: they would overwrite each other. */
const lockFolder = (folder: string, dynamoDb: string) => {
  const file = join(folder, LOCK_FILE);
  if (!take(file)) {
    const [holder, database] = readFileSync(file, "utf8").split("\n").map(idIn);
    // A killed process leaves its lock behind; in a container the next process may have the same id.
    const isHeld = holder != null && holder !== process.pid && isRunning(holder);
    if (!isHeld && database != null && isDatabaseOf(dynamoDb, database))
      throw new LocalError(
        `An earlier run was killed, and its DynamoDB Local (process ${database}) still uses the data folder ${folder}; end it with kill ${database}, and start again.`,
      );
    if (!isHeld) rmSync(file, { force: true });
    if (isHeld || !take(file))
      throw new LocalError(
        `The data folder ${folder} is in use by process ${holder}. Stop it, or pass another --data. If that process is not this service, delete ${file}.`,
      );
  }
  return {
    nameDatabase: (id: number): void => writeFileSync(file, `${process.pid}\n${id}`),
    release: (): void => rmSync(file, { force: true }),
  };
};

/** Files that a local service keeps between runs; without a folder, none. */
export interface DataFolder {
  /** DynamoDB Local's folder; null: in memory. */
  readonly dynamoDb: string | null;
  /** Null if there is no such file. */
  read(name: string): string | null;
  /** Writes a file for its owner alone (mode 0600), as a whole or not at all. */
  write(name: string, content: string): void;
  /** Records the database's process id: it outlives a service that is killed. */
  nameDatabase(process: number): void;
  release(): void;
}

/** One level at a time: a recursive `mkdirSync` below `/proc` never returns. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  mkdirSync(folder);
};

const openLocked = (folder: string, dynamoDb: string) => {
  try {
    makeFolder(dynamoDb);
    const probe = join(dynamoDb, ".probe");
    writeFileSync(probe, "");
    rmSync(probe);
    return lockFolder(folder, dynamoDb);
  } catch (cause) {
    if (cause instanceof LocalError) throw cause;
    throw new LocalError(
      `The data folder ${folder} cannot be written (${codeOf(cause)}); choose another with --data <folder>.`,
      { cause },
    );
  }
};

const IN_MEMORY: DataFolder = {
  dynamoDb: null,
  read: () => null,
  write: () => undefined,
  nameDatabase: () => undefined,
  release: () => undefined,
};

/** @throws LocalError if the folder cannot be created or written, or another service uses it */
export const openDataFolder = (folder: string | null): DataFolder => {
  if (folder === null) return IN_MEMORY;
  const dynamoDb = join(folder, "dynamodb");
  const lock = openLocked(folder, dynamoDb);
  return {
    ...lock,
    dynamoDb,
    read: (name) => {
      try {
        return readFileSync(join(folder, name), "utf8");
      } catch (cause) {
        if (codeOf(cause) === "ENOENT") return null;
        throw new LocalError(
          `${join(folder, name)} cannot be read (${codeOf(cause)}); choose another folder with --data <folder>.`,
          { cause },
        );
      }
    },
    write: (name, content) => {
      const written = join(folder, `.${name}.written`);
      writeFileSync(written, content, { mode: 0o600 });
      renameSync(written, join(folder, name));
    },
  };
};

/** Parses the text of a file. If it cannot be parsed, a LocalError advises what happens once the file is removed. */
export const parseKept = <Kept>(
  file: string,
  text: string,
  parse: (text: string) => Kept,
  advice: string,
): Kept => {
  try {
    return parse(text);
  } catch (cause) {
    throw new LocalError(`${file} in the data folder cannot be read; remove it${advice}.`, { cause });
  }
};

/** The text of a file of the data folder, or a new one, which is written. */
export const keptOrNew = (
  folder: DataFolder,
  file: string,
  make: () => string,
  isUsable: (kept: string) => boolean = () => true,
): string => {
  const kept = folder.read(file)?.trim();
  if (kept && isUsable(kept)) return kept;
  const made = make();
  folder.write(file, `${made}\n`);
  return made;
};

const CLOCK_FILE = "clock.json";
export const STORE_FILES = {
  "ios-store": "sandbox-ios-store-purchases.json",
  "android-store": "sandbox-android-store-purchases.json",
} as const;

const keptClock = z.object({ offset: z.number().refine(isInstant) });

/** Offset of the clock, so that a restart does not go back in time; 0 if there is none. */
export const keptOffset = (folder: DataFolder): number =>
  parseKept(
    CLOCK_FILE,
    folder.read(CLOCK_FILE) ?? '{"offset":0}',
    (text) => keptClock.parse(JSON.parse(text)).offset,
    " to start in real time, with another folder: what was verified in the future stays in the table",
  );

/** Writes what has changed of the clock and the stores into the data folder. Never throws. */
export const createKeeper = (
  folder: DataFolder,
  clock: MovedClock,
  stores: Readonly<Record<keyof typeof STORE_FILES, TimedStore>>,
  log: (line: string) => void,
): (() => void) => {
  if (folder.dynamoDb === null) return () => undefined;
  const written = new Map<string, string>();
  const keep = (file: string, text: string): void => {
    if (written.get(file) === text) return;
    folder.write(file, text);
    written.set(file, text);
  };
  return () => {
    try {
      keep(CLOCK_FILE, JSON.stringify({ offset: clock.offset() }));
      for (const store of ["ios-store", "android-store"] as const)
        keep(STORE_FILES[store], stores[store].save());
    } catch (error) {
      log(`The data folder could not be written: ${String(error)}`);
    }
  };
};
