import { CAUSE_NAMES, CAUSES } from "../../lib/administration/import/reports/report.ts";
import type { ImportReport } from "../../lib/administration/import/run.ts";
import { columns, counted, type Lines } from "../text/answer.ts";
import { problemLines, problemsJson, shareText } from "./text.ts";

export interface RunSummary {
  readonly isDryRun: boolean;
  /** Bundles and packages whose credential their store has refused. */
  readonly stopped: readonly string[];
  readonly journal: string;
  readonly differences: string;
  /** File of this report as JSON, for the console. */
  readonly report: string;
}

const are = (count: number, noun: string): string => `${counted(count, noun)} ${count === 1 ? "is" : "are"}`;

const switchLine = ({ ifSwitched }: ImportReport): string => {
  const { payersLose, othersLose, notKnown } = ifSwitched;
  const open = notKnown === 0 ? "" : ` Of ${counted(notKnown, "account")} this is not known yet.`;
  return `If you switched now: ${counted(payersLose, "payer")} would lose access, ${othersLose} would lose what they no longer pay for.${open}`;
};

const causesOf = ({ accounts: { byCause } }: ImportReport) =>
  CAUSE_NAMES.filter((cause) => byCause[cause] > 0).map((cause) => ({
    cause,
    meaning: CAUSES[cause],
    accounts: byCause[cause],
  }));

const causeLines = (report: ImportReport): readonly string[] =>
  columns(causesOf(report).map(({ cause, meaning, accounts }) => [String(accounts), cause, meaning]));

const echoText = ({ echoes: { confirms, contradicts, nobody } }: ImportReport): string => {
  const all = confirms + contradicts + nobody;
  return all === 0
    ? "The stores' purchases echo no account."
    : `The stores echo an account with ${counted(all, "purchase")}: ${confirms} the linked one, ${contradicts} another one of the files, ${nobody} none of the files.`;
};

const anonymousText = ({ purchases: { anonymous, anonymousWithAccess } }: ImportReport): string =>
  anonymous === 0
    ? ""
    : ` Without an account until the first link: ${anonymous}, of which ${anonymousWithAccess} give access.`;

export const reportText = (report: ImportReport, summary: RunSummary): readonly Lines[] => {
  const { accounts, purchases, rows } = report;
  return [
    `${counted(rows, "row")}, ${counted(accounts.all, "account")}: ${accounts.agree} agree (${shareText(accounts.agree, accounts.all)}), ${accounts.differ} differ${accounts.unanswered === 0 ? "" : `, ${are(accounts.unanswered, "account")} not answered yet`}.`,
    causeLines(report),
    `Linked: ${counted(purchases.linked, "purchase")}.${anonymousText(report)}`,
    echoText(report),
    ...problemLines("Rows that could not be used as they are:", report.problems),
    ...summary.stopped.map((name) => `The credential of ${name} is refused: nothing more was asked there.`),
    "",
    switchLine(report),
    "",
    ...columns([
      ["Accounts that differ", summary.differences],
      ["Report for the console", summary.report],
      ["Journal", summary.journal],
    ]),
    summary.isDryRun && "Nothing was stored: it was a dry run.",
  ];
};

export const reportJson = (report: ImportReport, summary: RunSummary) => ({
  ...summary,
  ...report,
  causes: causesOf(report),
  sentence: switchLine(report),
  problems: problemsJson(report.problems),
});
