import type { AccountChoice } from "../../lib/administration/import/formats/row.ts";
import {
  asText,
  oneOf,
  optional,
  repeated,
  required,
  numberFrom,
  type Argument,
} from "../commands/command.ts";
import { OperatorError } from "../operator-error.ts";
import type { ColumnNames } from "./files/rows.ts";

export const FILES = {
  name: "<files...>",
  about: "exports: CSV or NDJSON, also compressed",
  read: (given: unknown): readonly string[] => [given].flat().map(String),
} satisfies Argument<readonly string[]>;

const readMap = (maps: readonly string[]): ColumnNames =>
  new Map(
    maps.map((map) => {
      const [column = "", name = ""] = map.split(/=(.*)/s);
      if (column === "" || name === "") throw new OperatorError("--map has the form column=name.");
      return [name, column] as const;
    }),
  );

export const READING = {
  map: repeated("--map <column=name>", "the file's name of a table's column", readMap),
  account: required(
    "--account <last-seen|original>",
    "which of RevenueCat's identifiers is the account",
    oneOf<AccountChoice>(["last-seen", "original"]),
    "last-seen",
  ),
};

export const rate = (about: string) => required("--rate <number>", about, numberFrom(0.1, 1000), "20");

export const CSV = optional(
  "--csv <file>",
  "where the accounts that differ are listed; beside the first file by default",
  asText,
);
