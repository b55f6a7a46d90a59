import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LocalError } from "./local-error.ts";

/** Files that a local service keeps between runs. Without a folder nothing is kept. */
export interface DataFolder {
  /** DynamoDB Local's folder; null: in memory. */
  readonly dynamoDb: string | null;
  /** Null if there is no such file. */
  read(name: string): string | null;
  /** Writes a file that only its owner can read (mode 0600), as a whole or not at all. */
  write(name: string, content: string): void;
  /** Unlocks the folder. */
  release(): void;
}

/** Holds the id of the process that uses the folder. */
const LOCK_FILE = ".in-use-by";

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);

/** Creates one level at a time: a recursive `mkdirSync` below `/proc` never returns. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  mkdirSync(folder);
};

const isRunning = (holder: number): boolean => {
  try {
    return process.kill(holder, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
};

const takeLock = (file: string): boolean => {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
};

/** Locks the folder: two databases in one folder would overwrite each other's data. */
const lock = (folder: string): (() => void) => {
  const file = join(folder, LOCK_FILE);
  if (!takeLock(file)) {
    const holder = Number(readFileSync(file, "utf8"));
    // A killed process leaves its lock behind; in a container the next process may have the same id.
    const isHeld = Number.isInteger(holder) && holder > 0 && holder !== process.pid && isRunning(holder);
    if (!isHeld) rmSync(file, { force: true });
    if (isHeld || !takeLock(file))
      throw new LocalError(
        `The data folder ${folder} is in use by process ${holder}; stop that one, choose another folder with --data <folder>, or, where that process is no service of this kind, remove ${LOCK_FILE} from it.`,
      );
  }
  return () => rmSync(file, { force: true });
};

/** @throws LocalError if the folder cannot be created or written, or another service uses it */
export const openDataFolder = (folder: string | null): DataFolder => {
  if (folder === null)
    return { dynamoDb: null, read: () => null, write: () => undefined, release: () => undefined };
  const dynamoDb = join(folder, "dynamodb");
  let release: () => void;
  try {
    makeFolder(dynamoDb);
    const probe = join(dynamoDb, ".probe");
    writeFileSync(probe, "");
    rmSync(probe);
    release = lock(folder);
  } catch (cause) {
    if (cause instanceof LocalError) throw cause;
    throw new LocalError(
      `The data folder ${folder} cannot be written (${codeOf(cause)}); choose another with --data <folder>.`,
      { cause },
    );
  }
  return {
    dynamoDb,
    read: (name) => {
      try {
        return readFileSync(join(folder, name), "utf8");
      } catch (error) {
        if (codeOf(error) === "ENOENT") return null;
        throw new LocalError(
          `${join(folder, name)} cannot be read (${codeOf(error)}); choose another folder with --data <folder>.`,
          { cause: error },
        );
      }
    },
    write: (name, content) => {
      const written = join(folder, `.${name}.written`);
      writeFileSync(written, content, { mode: 0o600 });
      renameSync(written, join(folder, name));
    },
    release,
  };
};
