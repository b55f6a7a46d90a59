import { ROW_PROBLEMS, type RowProblems } from "../../lib/administration/import/claim.ts";
import { counted, type Lines } from "../text/answer.ts";

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
