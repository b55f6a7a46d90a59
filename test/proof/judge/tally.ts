import { DAY, HOUR, MINUTE, SECOND } from "../../../lib/duration.ts";
import { FAULTS, type Finding } from "./verdict.ts";

interface Count {
  lives: number;
  readonly lengths: number[];
}

/** Figures of one kind of life, told in one way. */
interface Row {
  lives: number;
  samples: number;
  /** By cause, then by fault. */
  readonly causes: Map<string, Map<string, Count>>;
}

export interface Tally {
  readonly rows: Map<string, Row>;
}

export const emptyTally = (): Tally => ({ rows: new Map() });

const got = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const known = map.get(key) ?? make();
  map.set(key, known);
  return known;
};

export const count = (
  tally: Tally,
  kind: string,
  way: string,
  samples: number,
  findings: readonly Finding[],
): void => {
  const row = got(tally.rows, `${kind} | ${way}`, () => ({
    lives: 0,
    samples: 0,
    causes: new Map<string, Map<string, Count>>(),
  }));
  row.lives += 1;
  row.samples += samples;
  for (const [cause, ofCause] of Map.groupBy(findings, (one) => one.cause))
    for (const [name, found] of Map.groupBy(ofCause, (one) => one.name)) {
      const counts = got(row.causes, cause, () => new Map<string, Count>());
      const one = got(counts, name, () => ({ lives: 0, lengths: [] }));
      one.lives += 1;
      for (const { from, to } of found) one.lengths.push(to - from);
    }
};

const lengthText = (milliseconds: number): string => {
  if (milliseconds >= DAY) return `${(milliseconds / DAY).toFixed(1)} d`;
  if (milliseconds >= HOUR) return `${(milliseconds / HOUR).toFixed(1)} h`;
  if (milliseconds >= MINUTE) return `${(milliseconds / MINUTE).toFixed(1)} min`;
  return `${(milliseconds / SECOND).toFixed(0)} s`;
};

/** Lives; in brackets the median and the longest time. */
const cell = (of: Count | undefined, withLength: boolean): string => {
  if (of === undefined) return "0";
  if (!withLength) return String(of.lives);
  const sorted = of.lengths.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return `${of.lives} (${lengthText(median)}, ${lengthText(sorted.at(-1) ?? 0)})`;
};

const table = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
};

/** Lives with a fault, by kind of life and way of telling: wrong, excused by name, and untold. */
export const tallyText = ({ rows }: Tally): string => {
  const head = ["lives told", "lives", "samples", ...FAULTS];
  const of = (row: Row, cause: string): string[] =>
    FAULTS.map((name) => cell(row.causes.get(cause)?.get(name), cause !== "untold"));
  const part = (isPart: (cause: string) => boolean): string[][] =>
    [...rows].flatMap(([name, row]) =>
      [...row.causes.keys()]
        .filter(isPart)
        .map((cause) => [
          `${name}${cause === "untold" ? "" : ` | ${cause}`}`,
          String(row.lives),
          String(row.samples),
          ...of(row, cause),
        ]),
    );
  const wrong = [...rows].map(([name, row]) => [
    name,
    String(row.lives),
    String(row.samples),
    ...of(row, "wrong"),
  ]);
  return [
    "Wrong: lives (median and longest time)",
    table([head, ...wrong]),
    "",
    "Excused, by name: lives (median and longest time)",
    table([head, ...part((cause) => cause !== "wrong" && cause !== "untold")]),
    "",
    "Untold: lives in which a fact that decides had not come",
    table([head, ...part((cause) => cause === "untold")]),
  ].join("\n");
};
