import type { Command } from "commander";
import type { Answer } from "../answer.ts";
import { checkFiles, type CheckOptions } from "./check-command.ts";

/** Parts of the program that the commands need. */
export interface ImportFrame {
  /** Runs a command without the table, and writes its answer. */
  readonly offline: (act: () => Promise<Answer>) => Promise<void>;
}

const collect = (value: string, values: readonly string[] = []): readonly string[] => [...values, value];

/** Adds the options of every command that reads exports. */
const reading = (command: Command): Command =>
  command
    .option("--map <column=name>", "the file's name of a table's column; may be repeated", collect)
    .option(
      "--account <last-seen|original>",
      "which of RevenueCat's identifiers is the account",
      "last-seen",
    );

/** Defines the commands that move purchases in from another service. */
export const addImportCommands = (program: Command, { offline }: ImportFrame): void => {
  const imports = program.command("import").description("move purchases in from another service");
  reading(imports.command("check"))
    .description("read exports, and show what a run would do; asks nobody")
    .argument("<files...>", "exports: CSV or NDJSON, also compressed")
    .option("--manifest <file.yaml>", "show the products that it does not map")
    .option("--rate <number>", "requests a second of a run", "20")
    .action((files: string[], options: CheckOptions) => offline(() => checkFiles(files, options)));
};
