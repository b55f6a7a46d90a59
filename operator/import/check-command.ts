import { checkImport } from "../../lib/administration/import/reports/check.ts";
import { problemText, readManifest } from "../../lib/administration/manifest/manifest.ts";
import type { Catalog } from "../../lib/entitlements/catalog.ts";
import { optional, optionsIn, required, type Command } from "../commands/command.ts";
import { OperatorError } from "../operator-error.ts";
import { indent } from "../text/answer.ts";
import { readTextFile } from "../text-file.ts";
import { presentCheck } from "./check-text.ts";
import { FILES, openFiles, READING, readNumber } from "./options.ts";

/** @throws OperatorError */
const catalogIn = async (file: string): Promise<Catalog> => {
  const anywhere = (): boolean => true;
  // Only its catalog is used, so it does not matter where its credentials and destinations lead.
  const reading = readManifest(await readTextFile(file), anywhere, anywhere);
  if (reading.outcome === "valid") return reading.manifest.catalog;
  throw new OperatorError(
    [`${file} is not a valid manifest.`, ...indent(reading.problems.map(problemText))].join("\n"),
  );
};

const OPTIONS = {
  ...READING,
  manifest: optional("--manifest <file.yaml>", "show the products that it does not map"),
  rate: required("--rate <number>", "requests a second of a run", "20"),
};

/** Reads exports, and says what a run would do. Asks neither a store nor the table. */
export const checkFiles: Command = {
  name: "import check",
  about: "read exports, and show what a run would do; asks nobody",
  takes: { files: FILES },
  options: OPTIONS,
  run: async (_, texts) => {
    const options = optionsIn(OPTIONS, texts);
    const source = await openFiles(FILES.read(texts["files"]), options);
    const catalog = options.manifest === undefined ? null : await catalogIn(options.manifest);
    const rate = readNumber("--rate", options.rate, 1000);
    return presentCheck(source, await checkImport(source, catalog, rate));
  },
};
