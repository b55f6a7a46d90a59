import { ROW_PROBLEMS, type RowProblems } from "../../lib/administration/import/claim.ts";
import type { Gates } from "../../lib/administration/import/pace.ts";
import { CAUSE_NAMES, CAUSES } from "../../lib/administration/import/report.ts";
import type { ImportReport, Progress } from "../../lib/administration/import/run.ts";
import { SECOND } from "../../lib/duration.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import type { Dialogue } from "../commands/command.ts";
import { columns, counted, type Lines } from "../text/answer.ts";

export const shareText = (part: number, whole: number): string =>
  whole === 0 ? "0 %" : `${((100 * part) / whole).toFixed(1)} %`;

export const durationText = (minutes: number): string => {
  if (minutes < 120) return counted(minutes, "minute");
  const hours = Math.round(minutes / 60);
  return hours < 72 ? counted(hours, "hour") : counted(Math.round(hours / 24), "day");
};

export const problemLines = (heading: string, problems: RowProblems): readonly Lines[] => [
  problems.size > 0 && heading,
  [...problems].map(
    ([problem, { count, firstRow }]) => `${counted(count, "row")}: ${ROW_PROBLEMS[problem]} (${firstRow})`,
  ),
];

export const problemsJson = (problems: RowProblems) =>
  [...problems].map(([problem, found]) => ({ problem, ...found }));

interface RunSummary {
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
    ? "No purchase carries an account identifier at its store."
    : `At the stores, ${counted(all, "purchase carries", "purchases carry")} an account identifier: ${confirms} the linked account's, ${contradicts} that of another account of the files, ${nobody} an unknown one.`;
};

const anonymousText = ({ purchases: { anonymous, anonymousWithAccess } }: ImportReport): string =>
  anonymous === 0
    ? ""
    : ` Stored without an account, until a first link: ${anonymous} (${anonymousWithAccess} with access).`;

export const reportText = (report: ImportReport, summary: RunSummary): readonly Lines[] => {
  const { accounts, purchases, rows } = report;
  return [
    `${counted(rows, "row")}, ${counted(accounts.all, "account")}: ${accounts.agree} agree (${shareText(accounts.agree, accounts.all)}), ${accounts.differ} differ${accounts.unanswered === 0 ? "" : `, ${are(accounts.unanswered, "account")} not answered yet`}.`,
    causeLines(report),
    `Linked: ${counted(purchases.linked, "purchase")}.${anonymousText(report)}`,
    echoText(report),
    ...problemLines("Rows that could not be used as they are:", report.problems),
    ...summary.stopped.map(
      (name) =>
        `The credential of ${name} is refused, or cannot be used in this shell (a workload identity needs AWS_REGION and AWS credentials): nothing more was asked there.`,
    ),
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

const BAR = 24;
/** Milliseconds between two lines, and between two bars. */
const LINE_EVERY = 10 * SECOND;
const BAR_EVERY = SECOND / 5;
/** Returns to the beginning of a terminal's line and clears it. */
const CLEAR = "\r\u001b[K";

const PHASES: Readonly<Record<Progress["phase"], string>> = {
  reading: "Reading",
  asking: "Asking the stores",
  linking: "Linking",
};

const pauses = (gates: Gates): readonly string[] =>
  [...gates].flatMap(([name, { isStopped, pausedUntil }]) => {
    if (isStopped) return [`${name}: the credential is refused`];
    return pausedUntil === null ? [] : [`${name} is left alone until ${isoTime(pausedUntil)}`];
  });

const bar = (part: number): string => `[${"#".repeat(Math.round(part * BAR)).padEnd(BAR)}] `;

const textOf = (
  { phase, done, all, differences }: Progress,
  milliseconds: number,
  isBar: boolean,
): string => {
  if (phase === "reading") return `${PHASES[phase]}: ${counted(done, "row")}`;
  const seconds = Math.max(1, milliseconds / SECOND);
  const left = done === 0 ? "" : `, ${durationText(Math.ceil(((all - done) * seconds) / done / 60))} left`;
  const found = phase === "asking" ? `, ${counted(differences, "difference")} so far` : "";
  const rate = `${(done / seconds).toFixed(1)} rows a second`;
  const shown = isBar ? bar(all === 0 ? 1 : done / all) : "";
  return `${PHASES[phase]} ${shown}${done} of ${counted(all, "row")}, ${rate}${left}${found}`;
};

/** Shows how far a run is: a bar in a terminal, a line every ten seconds elsewhere. */
export const createProgress = (
  now: () => Instant,
  { progress, terminal }: Pick<Dialogue, "progress" | "terminal">,
  gates: Gates,
) => {
  let phase: Progress["phase"] | null = null;
  let [startedAt, shownAt] = [now(), now()];
  const every = terminal === null ? LINE_EVERY : BAR_EVERY;
  const show = (done: Progress): void => {
    const moment = now();
    if (done.phase !== phase) [phase, startedAt] = [done.phase, moment];
    if (moment - shownAt < every) return;
    shownAt = moment;
    const text = [textOf(done, moment - startedAt, terminal !== null), ...pauses(gates)].join("; ");
    if (terminal === null) progress(text);
    else terminal(`${CLEAR}${text}`);
  };
  return { show, end: () => terminal?.(CLEAR) };
};
