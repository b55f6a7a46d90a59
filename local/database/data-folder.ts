import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { lockFolder } from "./folder-lock.ts";
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

/** The database's files cannot be read. */
export const damaged = (dynamoDb: string, cause?: unknown): LocalError =>
  new LocalError(
    `The database in ${dynamoDb} is damaged; restore it, remove that folder to start with an empty one, or choose another with --data <folder>.`,
    { cause },
  );

/** @throws LocalError if the folder cannot be created or written, or another service uses it */
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
  let lock: ReturnType<typeof lockFolder>;
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
