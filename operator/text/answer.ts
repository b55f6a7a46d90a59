import { isoTime, type Instant } from "../../lib/entitlements/time.ts";

/** Lines of text: a nested list is indented below what stands before it, and `false` is left out. */
export type Lines = string | false | readonly Lines[];

/** Result of a command, as one JSON document and as text for a person. */
export interface Answer {
  /** Printed by {@link jsonText}, so its times are instants. */
  readonly json: unknown;
  readonly text: Lines;
  /** Whether part of the work still waits, so that the exit code is not 0. */
  readonly unfinished?: boolean;
}

export const linesText = (lines: Lines, depth = 0): string => {
  if (typeof lines === "string") return "  ".repeat(depth) + lines;
  if (lines === false) return "";
  return lines
    .filter((one) => one !== false && (typeof one === "string" || one.length > 0))
    .map((one) => linesText(one, typeof one === "string" ? depth : depth + 1))
    .join("\n");
};

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

/** ISO 8601; null for 0 (never) and Infinity (without an end). */
export const timeOrNull = (instant: Instant | null): string | null =>
  instant === null || instant === 0 || instant === Infinity ? null : isoTime(instant);

type TimeName = "at" | "since" | "until" | "moment" | `${string}${"At" | "Since" | "Until"}`;
const TIME_NAME = /^(?:at|since|until|moment)$|(?:At|Since|Until)$/;

/** A value as {@link jsonText} writes it: its instants are ISO 8601 texts, or null where {@link timeOrNull} is. */
export type AsJson<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly AsJson<Item>[]
    : {
        readonly [Name in keyof Value]:
          | AsJson<Exclude<Value[Name], Name extends TimeName ? number : never>>
          | (Name extends TimeName ? (number extends Value[Name] ? string | null : never) : never);
      };

export const jsonText = (value: unknown, spaces = 0): string =>
  JSON.stringify(
    value,
    (name, part: unknown) => (typeof part === "number" && TIME_NAME.test(name) ? timeOrNull(part) : part),
    spaces,
  );
