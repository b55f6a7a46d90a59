import { compare } from "../../lib/order.ts";

type Row = Readonly<Record<string, unknown>>;

const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const areRows = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRow);
const isShare = (value: unknown): value is readonly [string, number] =>
  Array.isArray(value) && typeof value[0] === "string" && typeof value[1] === "number";

const LARGEST_SHARES = 6;

const number = (value: number): string =>
  value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) >= 100 ? 0 : 3 });

/** A row's value in one cell: `2 BatchGetItem, 1 Query` for counted requests, the largest of named shares. */
const cell = (value: unknown): string => {
  if (typeof value === "number") return number(value);
  if (isRow(value))
    return Object.entries(value)
      .sort(([a], [b]) => compare(a, b))
      .map(([name, part]) => (isRow(part) ? `${name}: ${cell(part)}` : `${cell(part)} ${name}`))
      .join(", ");
  if (Array.isArray(value))
    return value
      .filter(isShare)
      .slice(0, LARGEST_SHARES)
      .map(([name, share]) => `${number(share)} ${name}`)
      .join(", ");
  return String(value);
};

/** Figures of single rounds are kept in the results and not printed. */
const cells = (row: Row): Record<string, string> =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([, value]) => !areRows(value) && !(Array.isArray(value) && typeof value[0] === "number"))
      .map(([name, value]) => [name, cell(value)]),
  );

const nameOf = (row: Row): string =>
  Object.values(row)
    .filter((value) => typeof value === "string")
    .slice(0, 1)
    .join("");

/** Prints rows as a table, and the rows within each row as a table of their own. */
const printTable = (title: string, rows: readonly object[]): void => {
  const read = rows.filter(isRow);
  process.stdout.write(`\n${title}\n`);
  console.table(read.map(cells));
  for (const row of read)
    for (const [name, value] of Object.entries(row))
      if (areRows(value)) printTable(`${title}, ${nameOf(row)}, ${name}`, value);
};

/** Prints a section's result: a table for each of its lists. */
export const printSection = (section: string, result: object): void => {
  for (const [name, value] of Object.entries(result)) {
    if (areRows(value)) printTable(`${section}: ${name}`, value);
    else if (isRow(value)) printTable(`${section}: ${name}`, [value]);
    else process.stdout.write(`\n${section}: ${name} ${cell(value)}\n`);
  }
};
