import { dirname, join } from "node:path";
import { compareExport, type Comparison } from "../../lib/administration/import/report.ts";
import { APPLICATION_OPTION, command, findApplication, numberFrom, required } from "../commands/command.ts";
import { OperatorError } from "../operator-error.ts";
import { columns, counted, type Answer } from "../text/answer.ts";
import { CSV, openCsv } from "./files.ts";
import { shareText } from "./report-text.ts";
import { FILES, openSource, READING } from "./source.ts";

const presentComparison = (comparison: Comparison, tolerance: number, csv: string): Answer => {
  const { accounts, agree, onlyThere, onlyHere } = comparison;
  const differ = accounts - agree;
  const isWithin = accounts === 0 || (100 * differ) / accounts <= tolerance;
  return {
    json: { ...comparison, tolerance, isWithin, differences: csv },
    text: [
      `${counted(accounts, "account")}: ${agree} agree (${shareText(agree, accounts)}).`,
      columns([
        ["The other service alone gives access", String(onlyThere)],
        ["This service alone gives access", String(onlyHere)],
        ["Accounts that differ", csv],
      ]),
      `${shareText(differ, accounts)} differ: ${isWithin ? "within" : "above"} the tolerance of ${tolerance} %.`,
    ],
    unfinished: !isWithin,
  };
};

export const compareFiles = command({
  name: "import compare",
  about: "compare a newer export with what this service answers; asks no store",
  takes: { files: FILES },
  options: {
    ...READING,
    application: APPLICATION_OPTION,
    tolerance: required(
      "--tolerance <percent>",
      "accounts that may differ; more end with exit code 1",
      numberFrom(0, 100),
      "0",
    ),
    csv: CSV,
  },
  run: async ({ session, files, options }) => {
    const application = await findApplication(options.application, session);
    const source = await openSource(files, options);
    if (!source.files.some(({ claimsAccess }) => claimsAccess))
      throw new OperatorError(
        "These files do not say who has access, so there is nothing to compare: use RevenueCat's export of transactions, or a table with active or ends_at.",
      );
    const csv = options.csv ?? join(dirname(files[0] ?? ""), "import-comparison.csv");
    const file = openCsv(csv, ["account", "other_service_gives_access", "status"]);
    try {
      const { customers, now } = session;
      const comparison = await compareExport(source, customers, application, now(), (one) =>
        file.add([one.account, String(one.claimed), one.status ?? ""]),
      );
      return presentComparison(comparison, options.tolerance, csv);
    } finally {
      file.close();
    }
  },
});
