import type { ImportCheck } from "../../lib/administration/import/reports/check.ts";
import { ROW_PROBLEMS } from "../../lib/administration/import/claim.ts";
import type { ImportSource, ReadonlyProblems } from "../../lib/administration/import/source.ts";
import { columns, counted, indent, type Answer } from "../text/answer.ts";

export const shareText = (part: number, whole: number): string =>
  whole === 0 ? "0 %" : `${((100 * part) / whole).toFixed(1)} %`;

export const durationText = (minutes: number): string => {
  if (minutes < 120) return counted(minutes, "minute");
  const hours = Math.round(minutes / 60);
  return hours < 72 ? counted(hours, "hour") : counted(Math.round(hours / 24), "day");
};

const unmappedLines = ({ unmapped }: ImportCheck): readonly string[] => {
  if (unmapped === null) return ["--manifest <file.yaml> shows the products that it does not map."];
  if (unmapped.size === 0) return ["The manifest maps every product."];
  const rows = [...unmapped]
    .sort(([, a], [, b]) => b - a)
    .map(([product, claims]) => [product, counted(claims, "row")]);
  return ["Products that the manifest does not map:", ...indent(columns(rows))];
};

/** Rows that cannot be used as they are, under a heading; none if there are none. */
export const problemLines = (heading: string, problems: ReadonlyProblems): readonly string[] =>
  problems.size === 0
    ? []
    : [
        heading,
        ...indent(
          [...problems].map(
            ([problem, { count, firstRow }]) =>
              `${counted(count, "row")}: ${ROW_PROBLEMS[problem]} (${firstRow})`,
          ),
        ),
      ];

export const problemsJson = (problems: ReadonlyProblems) =>
  [...problems].map(([problem, found]) => ({ problem, ...found }));

export const presentCheck = ({ files }: ImportSource, check: ImportCheck): Answer => {
  const { rows, accounts, lineages, claims, requests, minutes, problems, unmapped } = check;
  const ofAll = (part: number): string => `${part} (${shareText(part, claims.all)})`;
  return {
    json: {
      files,
      rows,
      accounts,
      purchases: lineages,
      anonymous: claims.anonymous,
      sandbox: claims.sandbox,
      unaskable: claims.unaskable,
      ordersOnly: claims.ordersOnly,
      unmappedProducts: unmapped === null ? null : Object.fromEntries(unmapped),
      problems: problemsJson(problems),
      requests,
      minutes,
    },
    text: [
      ...columns(files.map(({ name, format }) => [name, format])),
      "",
      ...columns([
        ["Rows", String(rows)],
        ["Accounts", String(accounts)],
        ["Purchases", String(lineages)],
        ["Without an account", ofAll(claims.anonymous)],
        ["Of the sandbox", ofAll(claims.sandbox)],
        ["That no store can answer: no id, no token", ofAll(claims.unaskable)],
        ["Google purchases with an order id alone", String(claims.ordersOnly)],
        ["Requests to the App Store", String(requests["ios-store"])],
        ["Requests to Google", String(requests["android-store"])],
        ["A run takes about", durationText(minutes)],
      ]),
      "",
      ...unmappedLines(check),
      ...problemLines("Rows that cannot be used as they are:", problems),
    ].join("\n"),
  };
};
