import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { lockFolder, type FolderLock } from "./folder-lock.ts";
import { codeOf, LocalError } from "../local-error.ts";

/** Files that a local service keeps between runs. Without a folder nothing is kept. */
export interface DataFolder {
  /** DynamoDB Local's folder; null: in memory. */
  readonly dynamoDb: string | null;
  /** Null if there is no such file. */
  read(name: string): string | null;
  /** Writes a file that only its owner can read (mode 0600), as a whole or not at all. */
  write(name: string, content: string): void;
  /** Records the database's process id, for a start after this process was killed. */
  nameDatabase(process: number): void;
  /** Unlocks the folder. */
  release(): void;
}

/** Creates one level at a time: a recursive `mkdirSync` below `/proc` never returns. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  mkdirSync(folder);
};

const SQLITE_HEADER = "SQLite format 3\0";

const beginsAsSqlite = (file: string): boolean => {
  const opened = openSync(file, "r");
  try {
    const header = Buffer.alloc(SQLITE_HEADER.length);
    const length = readSync(opened, header, 0, header.length, 0);
    // SQLite takes an empty file for an empty database.
    return length === 0 || header.toString("latin1") === SQLITE_HEADER;
  } finally {
    closeSync(opened);
  }
};

/** DynamoDB Local starts on a file that is not a database, and then fails every request. */
const requireDatabase = (dynamoDb: string): void => {
  for (const name of readdirSync(dynamoDb).filter((name) => name.endsWith(".db")))
    if (!beginsAsSqlite(join(dynamoDb, name))) throw damaged(dynamoDb);
};

/** The database's files cannot be read. */
export const damaged = (dynamoDb: string, cause?: unknown): LocalError =>
  new LocalError(
    `The database in ${dynamoDb} is damaged; restore it, remove that folder to start with an empty one, or choose another with --data <folder>.`,
    { cause },
  );

/** @throws LocalError if the folder cannot be created or written, holds no database, or another service uses it */
export const openDataFolder = (folder: string | null): DataFolder => {
  if (folder === null)
    return {
      dynamoDb: null,
      read: () => null,
      write: () => undefined,
      nameDatabase: () => undefined,
      release: () => undefined,
    };
  const dynamoDb = join(folder, "dynamodb");
  let lock: FolderLock;
  try {
    makeFolder(dynamoDb);
    const probe = join(dynamoDb, ".probe");
    writeFileSync(probe, "");
    rmSync(probe);
    lock = lockFolder(folder, dynamoDb);
  } catch (cause) {
    if (cause instanceof LocalError) throw cause;
    throw new LocalError(
      `The data folder ${folder} cannot be written (${codeOf(cause)}); choose another with --data <folder>.`,
      { cause },
    );
  }
  try {
    requireDatabase(dynamoDb);
  } catch (error) {
    lock.release();
    throw error;
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
    nameDatabase: lock.nameDatabase,
    release: lock.release,
  };
};
