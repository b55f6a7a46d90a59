import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, LocalError } from "../local-error.ts";

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

/**
 * Locks a data folder: two databases in one folder would overwrite each other's data.
 *
 * @throws LocalError if another service, or the database of one that was killed, uses it
 */
export const lockFolder = (folder: string, dynamoDb: string) => {
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
