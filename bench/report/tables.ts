type Row = Readonly<Record<string, unknown>>;

const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const areRows = (value: unknown): value is readonly Row[] => Array.isArray(value) && value.every(isRow);

const shown = (value: unknown): unknown =>
  typeof value === "number"
    ? value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) >= 100 ? 0 : 3 })
    : value;

/** A row's figures by their path in it. Lists of single rounds and of parts are kept in the results and not printed. */
const cellsOf = (row: Row, path = ""): readonly (readonly [column: string, value: unknown])[] =>
  Object.entries(row).flatMap(([name, value]) => {
    if (Array.isArray(value)) return [];
    return isRow(value) ? cellsOf(value, `${path}${name}.`) : [[`${path}${name}`, shown(value)] as const];
  });

/** Prints a section's result: a table for each of its lists, and for the rows within each row. */
export const printSection = (section: string, result: object): void => {
  for (const [name, value] of Object.entries(result)) {
    const rows = isRow(value) ? [value] : areRows(value) ? value : null;
    process.stdout.write(`\n${section}: ${name}${rows === null ? ` ${String(shown(value))}` : ""}\n`);
    if (rows === null) continue;
    console.table(rows.map((row) => Object.fromEntries(cellsOf(row))));
    for (const row of rows)
      for (const [within, of] of Object.entries(row))
        if (areRows(of)) printSection(`${section}, ${name}, ${String(row["name"])}`, { [within]: of });
  }
};
