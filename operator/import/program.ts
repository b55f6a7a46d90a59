import type { Command } from "commander";
import type { Answer } from "../text/answer.ts";
import { acting, type Frame } from "../commands/frame.ts";
import { checkFiles, type CheckOptions } from "./check-command.ts";
import { compareFiles, type CompareOptions } from "./compare-command.ts";
import { runFiles, type RunOptions, type RunWorld } from "./run-command.ts";

/** Parts of the program that the commands need. */
export interface ImportFrame extends Pick<Frame, "answer">, RunWorld {
  /** Runs a command without the table, and writes its answer. */
  readonly offline: (act: () => Promise<Answer>) => Promise<void>;
}

const collect = (value: string, values: readonly string[] = []): readonly string[] => [...values, value];

/** Adds the options of every command that reads exports. */
const reading = (command: Command): Command =>
  command
    .argument("<files...>", "exports: CSV or NDJSON, also compressed")
    .option("--map <column=name>", "the file's name of a table's column; may be repeated", collect)
    .option(
      "--account <last-seen|original>",
      "which of RevenueCat's identifiers is the account",
      "last-seen",
    );

const addRun = (imports: Command, { answer, ...world }: ImportFrame): void => {
  reading(acting(imports.command("run")))
    .description("ask the stores about an export's purchases, store and link what they say, and report")
    .requiredOption("--application <id>", "the application's identifier")
    .option("--dry-run", "ask the stores, and store nothing")
    .option("--limit <rows>", "take no more rows")
    .option("--environment <production|sandbox>", "take only purchases of it")
    .option("--rate <number>", "requests a second to each bundle or package", "20")
    .option("--decide <file.csv>", "the account of purchases that the files give to several")
    .option("--journal <file>", "where the run notes what is done; beside the first file by default")
    .option("--csv <file>", "where the accounts that differ are listed; beside the first file by default")
    .action((files: string[], options: RunOptions) =>
      answer((session) => runFiles(session, files, options, world)),
    );
};

const addCompare = (imports: Command, { answer }: ImportFrame): void => {
  reading(imports.command("compare"))
    .description("compare a newer export with what this service answers; asks no store")
    .requiredOption("--application <id>", "the application's identifier")
    .option("--tolerance <percent>", "accounts that may differ; more end with exit code 1", "0")
    .option("--csv <file>", "where the accounts that differ are listed; beside the first file by default")
    .action((files: string[], options: CompareOptions) =>
      answer((session) => compareFiles(session, files, options)),
    );
};

/** Defines the commands that move purchases in from another service. */
export const addImportCommands = (program: Command, frame: ImportFrame): void => {
  const imports = program.command("import").description("move purchases in from another service");
  reading(imports.command("check"))
    .description("read exports, and show what a run would do; asks nobody")
    .option("--manifest <file.yaml>", "show the products that it does not map")
    .option("--rate <number>", "requests a second of a run", "20")
    .action((files: string[], options: CheckOptions) => frame.offline(() => checkFiles(files, options)));
  addRun(imports, frame);
  addCompare(imports, frame);
};
