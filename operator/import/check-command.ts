import { readFile } from "node:fs/promises";
import { checkImport, DEFAULT_RATE } from "../../lib/administration/import/reports/check.ts";
import { problemText, readManifest } from "../../lib/administration/manifest/manifest.ts";
import type { Catalog } from "../../lib/entitlements/catalog.ts";
import { indent, type Answer } from "../text/answer.ts";
import { OperatorError } from "../operator-error.ts";
import { presentCheck } from "./check-text.ts";
import { openFiles, readNumber, type FileOptions } from "./options.ts";

export interface CheckOptions extends FileOptions {
  readonly manifest?: string;
  readonly rate?: string;
}

/** @throws OperatorError */
const catalogIn = async (file: string): Promise<Catalog> => {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new OperatorError(`The file ${file} cannot be read.`, { cause });
  });
  const anywhere = (): boolean => true;
  // Only its catalog is used, so it does not matter where its credentials and destinations lead.
  const reading = readManifest(text, anywhere, anywhere);
  if (reading.outcome === "valid") return reading.manifest.catalog;
  throw new OperatorError(
    [`${file} is not a valid manifest.`, ...indent(reading.problems.map(problemText))].join("\n"),
  );
};

/** Reads exports, and says what a run would do. Asks neither a store nor the table. */
export const checkFiles = async (paths: readonly string[], options: CheckOptions): Promise<Answer> => {
  const { manifest, rate } = options;
  const source = await openFiles(paths, options);
  const catalog = manifest === undefined ? null : await catalogIn(manifest);
  const perSecond = rate === undefined ? DEFAULT_RATE : readNumber("--rate", rate, 1000);
  return presentCheck(source, await checkImport(source, catalog, perSecond));
};
