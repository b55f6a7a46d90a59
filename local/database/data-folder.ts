import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf, LocalError } from "../local-error.ts";
import { lockFolder } from "./folder-lock.ts";

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

export const damaged = (dynamoDb: string, cause?: unknown): LocalError =>
  new LocalError(
    `The database in ${dynamoDb} is damaged; restore it, remove that folder to start with an empty one, or choose another with --data <folder>.`,
    { cause },
  );

const openLocked = (folder: string, dynamoDb: string): ReturnType<typeof lockFolder> => {
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

/**
 * Parses the text of a file of the data folder.
 *
 * @param advice what happens once the file is removed
 * @throws LocalError if `parse` throws
 */
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
