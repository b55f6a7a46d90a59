import type { AccountChoice } from "../../lib/administration/import/formats/row.ts";
import type { ImportSource } from "../../lib/administration/import/claim.ts";
import { optional, repeated, required, type Argument, type ValuesOf } from "../commands/command.ts";
import { OperatorError } from "../operator-error.ts";
import type { ColumnNames } from "./files/rows.ts";
import { openSource } from "./files/source.ts";

export const FILES = {
  name: "<files...>",
  about: "exports: CSV or NDJSON, also compressed",
  read: (given: unknown): readonly string[] => [given].flat().map(String),
} satisfies Argument<readonly string[]>;

export const READING = {
  map: repeated("--map <column=name>", "the file's name of a table's column"),
  account: required(
    "--account <last-seen|original>",
    "which of RevenueCat's identifiers is the account",
    "last-seen",
  ),
};

export const CSV = optional(
  "--csv <file>",
  "where the accounts that differ are listed; beside the first file by default",
);

const readMap = (maps: readonly string[]): ColumnNames =>
  new Map(
    maps.map((map) => {
      const [column = "", name = ""] = map.split(/=(.*)/s);
      if (column === "" || name === "") throw new OperatorError("--map has the form column=name.");
      return [name, column] as const;
    }),
  );

const readAccount = (text: string): AccountChoice => {
  if (text === "last-seen" || text === "original") return text;
  throw new OperatorError("--account is last-seen or original.");
};

/** @throws OperatorError */
export const openFiles = (
  paths: readonly string[],
  { map, account }: ValuesOf<typeof READING>,
): Promise<ImportSource> => openSource(paths, { names: readMap(map), account: readAccount(account) });

export const readNumber = (name: string, text: string, most: number): number => {
  const number = Number(text);
  if (!/^\d+(?:\.\d+)?$/.test(text) || number <= 0 || number > most)
    throw new OperatorError(`${name} must be a number above 0, up to ${most}.`);
  return number;
};
