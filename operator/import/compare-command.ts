import { dirname, join } from "node:path";
import { compareExport, type Comparison } from "../../lib/administration/import/reports/compare.ts";
import { claimsAccess } from "../../lib/administration/import/reports/check.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { pause } from "../../lib/pause.ts";
import { columns, counted, type Answer } from "../text/answer.ts";
import { OperatorError } from "../operator-error.ts";
import { findApplication, readApplicationIdentifier, type Session } from "../session.ts";
import { shareText } from "./check-text.ts";
import { openCsv } from "./files/differences-file.ts";
import { openFiles, type FileOptions } from "./options.ts";

export interface CompareOptions extends FileOptions {
  readonly application: string;
  readonly tolerance: string;
  readonly csv?: string;
}

/** Accounts that are read at once. */
const AT_ONCE = 32;

const readTolerance = (text: string): number => {
  const percent = Number(text);
  if (!/^\d+(?:\.\d+)?$/.test(text) || percent > 100)
    throw new OperatorError("--tolerance is a percentage, from 0 to 100.");
  return percent;
};

const textOf = (
  { accounts, agree, onlyThere, onlyHere }: Comparison,
  tolerance: number,
  isWithin: boolean,
  csv: string,
): string =>
  [
    `${counted(accounts, "account")}: ${agree} agree (${shareText(agree, accounts)}).`,
    ...columns([
      ["  The other service alone gives access", String(onlyThere)],
      ["  This service alone gives access", String(onlyHere)],
      ["  Accounts that differ", csv],
    ]),
    `${shareText(accounts - agree, accounts)} differ: ${isWithin ? "within" : "above"} the tolerance of ${tolerance} %.`,
  ].join("\n");

/** Compares a newer export with what the service answers, and asks no store. */
export const compareFiles = async (
  session: Session,
  paths: readonly string[],
  options: CompareOptions,
): Promise<Answer> => {
  const application = await findApplication(session, readApplicationIdentifier(options.application));
  const tolerance = readTolerance(options.tolerance);
  const source = await openFiles(paths, options);
  if (!claimsAccess(source))
    throw new OperatorError(
      "These files do not say who has access, so there is nothing to compare: use RevenueCat's export of transactions, or a table with active or ends_at.",
    );
  const csv = options.csv ?? join(dirname(paths[0] ?? ""), "import-comparison.csv");
  const file = openCsv(csv, ["account", "other_service_gives_access", "status"]);
  try {
    const comparison = await compareExport(source, {
      table: createCustomerTable(session.table, pause),
      application,
      now: session.now,
      atOnce: AT_ONCE,
      onDifference: ({ account, claimed, status }) => file.add([account, String(claimed), status ?? ""]),
    });
    const { accounts, agree } = comparison;
    const isWithin = accounts === 0 || (100 * (accounts - agree)) / accounts <= tolerance;
    return {
      json: { ...comparison, tolerance, isWithin, differences: csv },
      text: textOf(comparison, tolerance, isWithin, csv),
      unfinished: !isWithin,
    };
  } finally {
    file.close();
  }
};
