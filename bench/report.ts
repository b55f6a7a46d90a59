import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import type { Results } from "./results.ts";
import { AS_OURS } from "./sections/cold-start.ts";
import { APPLES, JOSE, RAW } from "./sections/verification.ts";

interface Goal {
  readonly goal: string;
  readonly wanted: string;
  readonly measured: string;
  readonly isMet: boolean;
}

const times = (value: number): string => `${value.toFixed(2)} ×`;

const compared =
  (sign: "≥" | "≤") =>
  (goal: string, wanted: number, measured: number): Goal => ({
    goal,
    wanted: `${sign} ${times(wanted)}`,
    measured: times(measured),
    isMet: sign === "≥" ? measured >= wanted : measured <= wanted,
  });
const atLeast = compared("≥");
const atMost = compared("≤");

const goalsOf = ({ verification, hostile, storing, reading, telling, load }: Results): readonly Goal[] => {
  const rateTo = (comparison: string, other: string): number =>
    verification.comparisons.find(({ name }) => name === comparison)?.ratios[other] ?? Number.NaN;
  const share = Math.max(...storing.bySize.map(({ restPart }) => restPart));
  const readUnits = new Set(
    reading.rows.filter(({ customers }) => customers === 1).map(({ readUnits }) => readUnits),
  );
  const beside = Math.max(...telling.besideSlow.map(({ p99 }) => p99));
  const errors = load.rows.reduce((total, row) => total + row.errors, 0);
  return [
    atLeast("Verify one, to Apple's library", 15, rateTo("one at a time", APPLES)),
    atLeast("Verify 100 at once, to Apple's library", 15, rateTo("a request of 100", APPLES)),
    atLeast("Verify one, to `jose` alone", 0.9, rateTo("one at a time", JOSE)),
    atLeast("Verify 100 at once, to `crypto.verify`", 0.9, rateTo("a request of 100", RAW)),
    atMost(
      "Costliest hostile body, to an honest one",
      3,
      Math.max(...hostile.shapes.map(({ ratio }) => ratio)),
    ),
    {
      goal: "Own share of a request, beside verification and DynamoDB",
      wanted: "< 15 %",
      measured: `${(share * 100).toFixed(1)} %`,
      isMet: share < 0.15,
    },
    {
      goal: "Read units, with 1 to 10,000 past purchases",
      wanted: "flat",
      measured: [...readUnits].join(" to "),
      isMet: readUnits.size === 1,
    },
    atMost("CPU time of a warm read, to the bare Query", 1.15, reading.warm.ratio),
    {
      goal: "99 of 100 messages beside a destination that takes 15 s a try",
      wanted: "< 5 s",
      measured: `${(beside / 1000).toFixed(1)} s`,
      isMet: beside < 5000,
    },
    { goal: "Errors under load", wanted: "0", measured: String(errors), isMet: errors === 0 },
  ];
};

const START_GOALS: readonly (readonly [name: string, wanted: number])[] = [
  ["authorize-credential", 1.15],
  ["read-account-entitlements", 1.15],
  ["synchronize-ios-store-purchases", 1.25],
  ["link-ios-store-customer", 1.25],
  ["link-android-store-customer", 2],
];

/** A function's load and first answer, as multiples of the DynamoDB document client's as its package ships it. */
const startGoalsOf = ({ coldStart }: Results) =>
  START_GOALS.map(([name, wanted]) => {
    const ratios = coldStart.functions.find((row) => row.name === name)?.ratios;
    const [load, answer] = [ratios?.load ?? Number.NaN, ratios?.answer ?? Number.NaN];
    return { name, wanted, load, answer, isMet: load <= wanted && answer <= wanted };
  });

const BUNDLED_GOALS: readonly (readonly [name: string, wanted: number])[] = [
  ["read-account-entitlements", 1.25],
  ["synchronize-ios-store-purchases", 1.5],
  ["link-ios-store-customer", 1.5],
];

/** First answers relative to the document client's, bundled as the functions are. */
const bundledGoalsOf = ({ coldStart }: Results): readonly Goal[] => {
  const answerOf = (wanted: string): number =>
    coldStart.functions.find(({ name }) => name === wanted)?.answer ?? Number.NaN;
  return BUNDLED_GOALS.map(([name, wanted]) =>
    atMost(
      `First answer of \`${name}\`, to the client bundled alike`,
      wanted,
      answerOf(name) / answerOf(AS_OURS.name),
    ),
  );
};

const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));

const table = (rows: readonly (readonly string[])[]): string => {
  const [head = [], ...others] = rows;
  return [head, head.map(() => "---"), ...others].map((row) => `| ${row.join(" | ")} |`).join("\n");
};

const met = (isMet: boolean): string => (isMet ? "yes" : "**no**");

/** Machines and days of the sections; usually one. */
const whereAndWhen = ({ runs }: Results): string =>
  [
    ...new Set(
      Object.values(runs).map(
        ({ at, machine: { processors, model, node } }) =>
          `${processors} processors (${model}), Node.js ${node}, ${at.slice(0, 10)}`,
      ),
    ),
  ].join("; ");

/** The page for somebody who asks which goals are met: at most 400 words. */
const pageOf = (results: Results): string => `# Performance

\`npm run bench\` measures in half an hour, prints its tables, keeps the figures in \`bench/results.json\` and writes this page.
DynamoDB Local runs on the same processors. Measured on: ${whereAndWhen(results)}.

A machine's speed changes from hour to hour, so goals are ratios of one run. No test asserts a time.
\`test/bench/\` asserts what cannot vary: requests, capacity units, signature checks, bundle sizes.

## Goals

${table([
  ["Goal", "Wanted", "Measured", "Met"],
  ...[...goalsOf(results), ...bundledGoalsOf(results)].map(({ goal, wanted, measured, isMet }) => [
    goal,
    wanted,
    measured,
    met(isMet),
  ]),
])}

## Cold start

Multiples of the DynamoDB document client's own load and first answer.

${table([
  ["Function", "Wanted", "Load", "First answer", "Met"],
  ...startGoalsOf(results).map(({ name, wanted, load, answer, isMet }) => [
    `\`${name}\``,
    `≤ ${wanted}`,
    load.toFixed(2),
    answer.toFixed(2),
    met(isMet),
  ]),
])}

What misses its goal stays: the rest is the service's own code, which V8 compiles at the first call, and \`zod\`. [Why the bundles
look as they do](decisions/0012-what-a-function-loads.md). \`provisionedConcurrency\` avoids cold starts.
`;

/** Writes a file, formatted by the project's formatter. */
export const writeFormatted = async (file: string, text: string): Promise<void> => {
  const options = await resolveConfig(file);
  writeFileSync(file, await format(text, { ...options, filepath: file }));
};

export const writePage = (results: Results): Promise<void> => writeFormatted(PAGE, pageOf(results));

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
