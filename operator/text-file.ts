import { readFile } from "node:fs/promises";
import { OperatorError } from "./operator-error.ts";

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  EISDIR: "is a folder",
  EACCES: "may not be read",
  ERR_ENCODING_INVALID_ENCODED_DATA: "is not UTF-8 text",
};

export const cannotRead = (file: string, cause: unknown): OperatorError => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
  return new OperatorError(`The file ${file} ${PROBLEMS[code] ?? `cannot be read (${code})`}.`, { cause });
};

/** @throws OperatorError if the file cannot be read, or is not text */
export const readTextFile = async (file: string): Promise<string> => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw cannotRead(file, error);
  }
};
