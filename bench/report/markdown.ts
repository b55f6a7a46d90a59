import { compare } from "../../lib/order.ts";

/** Markdown tables with aligned columns, and number formats. */
type Cell = string | number;

const width = (text: string): number => [...text].length;

export const table = (head: readonly string[], rows: readonly (readonly Cell[])[]): string => {
  const texts = [head.map(String), ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(3, ...texts.map((row) => width(row[column] ?? ""))));
  const line = (row: readonly string[]): string =>
    `| ${row
      .map((text, column) => {
        const space = " ".repeat((widths[column] ?? 0) - width(text));
        return column === 0 ? text + space : space + text;
      })
      .join(" | ")} |`;
  const rule = `| ${widths.map((size, column) => (column === 0 ? "-".repeat(size) : `${"-".repeat(size - 1)}:`)).join(" | ")} |`;
  const [first = [], ...others] = texts;
  return [line(first), rule, ...others.map(line)].join("\n");
};

const GROUPS = /\B(?=(\d{3})+$)/g;

export const whole = (value: number): string => String(Math.round(value)).replace(GROUPS, ",");

export const milliseconds = (value: number): string =>
  value >= 100 ? whole(value) : value.toFixed(value >= 10 ? 1 : 2);

export const times = (value: number): string => `${value.toFixed(2)} ×`;

export const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;

export const dollars = (value: number): string =>
  value >= 100 ? `$${whole(value)}` : `$${value.toFixed(value >= 0.1 ? 2 : 3)}`;

/** A price with up to six decimals. */
export const price = (value: number): string => `$${Number(value.toFixed(6))}`;

/** `2 BatchGetItem, 1 Query`. */
export const requests = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([a], [b]) => compare(a, b))
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
