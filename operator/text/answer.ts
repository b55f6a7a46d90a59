import { isoTime, type Instant } from "../../lib/entitlements/time.ts";

/** Result of a command, as one JSON document and as text for a person. */
export interface Answer {
  readonly json: unknown;
  readonly text: string;
  /** Whether part of the work still waits, so that the exit code is not 0. */
  readonly unfinished?: boolean;
}

export const indent = (lines: readonly string[], spaces = 2): string[] =>
  lines.map((line) => " ".repeat(spaces) + line);

/** A number with its noun: `1 customer`, `2 identities`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

export const columns = (rows: readonly (readonly string[])[]): string[] => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
};

export const timeOrNull = (instant: Instant | null): string | null =>
  instant === null ? null : isoTime(instant);
