import { dirname, join } from "node:path";
import { compareExport, type Comparison } from "../../lib/administration/import/reports/compare.ts";
import { APPLICATION_OPTION, command, findApplication, numberFrom, required } from "../commands/command.ts";
import { OperatorError } from "../operator-error.ts";
import { columns, counted, type Lines } from "../text/answer.ts";
import { openCsv } from "./files/differences-file.ts";
import { CSV, FILES, READING } from "./options.ts";
import { openSource } from "./files/source.ts";
import { shareText } from "./text.ts";

const AT_ONCE = 32;

const textOf = (
  { accounts, agree, onlyThere, onlyHere }: Comparison,
  tolerance: number,
  isWithin: boolean,
  csv: string,
): Lines => [
  `${counted(accounts, "account")}: ${agree} agree (${shareText(agree, accounts)}).`,
  columns([
    ["The other service alone gives access", String(onlyThere)],
    ["This service alone gives access", String(onlyHere)],
    ["Accounts that differ", csv],
  ]),
  `${shareText(accounts - agree, accounts)} differ: ${isWithin ? "within" : "above"} the tolerance of ${tolerance} %.`,
];

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
    const application = await findApplication(session, options.application);
    const { tolerance } = options;
    const source = await openSource(files, options);
    if (!source.files.some(({ claimsAccess }) => claimsAccess))
      throw new OperatorError(
        "These files do not say who has access, so there is nothing to compare: use RevenueCat's export of transactions, or a table with active or ends_at.",
      );
    const csv = options.csv ?? join(dirname(files[0] ?? ""), "import-comparison.csv");
    const file = openCsv(csv, ["account", "other_service_gives_access", "status"]);
    try {
      const comparison = await compareExport(source, {
        table: session.customers,
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
  },
});
