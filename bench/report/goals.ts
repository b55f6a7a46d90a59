import type { Results } from "../results.ts";
import { AS_OURS } from "../sections/cold-start.ts";
import { APPLES, JOSE, RAW } from "../sections/verification.ts";
import { percent, table, times } from "./markdown.ts";

interface Goal {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  /** The same ratio of CPU time, which other work on the machine changes little. */
  readonly byProcessor?: string;
  readonly isMet: boolean;
}

const atLeast = (what: string, wanted: number, measured: number, processor: number): Goal => ({
  what,
  wanted: `at least ${times(wanted)}`,
  measured: times(measured),
  byProcessor: times(processor),
  isMet: measured >= wanted,
});

const atMost = (what: string, wanted: number, measured: number, processor: number): Goal => ({
  what,
  wanted: `at most ${times(wanted)}`,
  measured: times(measured),
  byProcessor: times(processor),
  isMet: measured <= wanted,
});

/** Maximum time to load and to the first answer, as a multiple of the document client's alone. */
const START_GOALS: readonly (readonly [name: string, ratio: number])[] = [
  ["authorize-credential", 1.15],
  ["read-account-entitlements", 1.15],
  ["synchronize-ios-store-purchases", 1.25],
  ["link-ios-store-customer", 1.25],
  ["link-android-store-customer", 2],
];

/** The same, as a multiple of the document client's that is bundled as the functions are. */
const BUNDLED_START_GOALS: readonly (readonly [name: string, ratio: number])[] = [
  ["read-account-entitlements", 1.25],
  ["synchronize-ios-store-purchases", 1.5],
  ["link-ios-store-customer", 1.5],
];

const goalsOf = ({ verification, hostile, storing, reading, coldStart, load }: Results): Goal[] => {
  const faster = (what: string, wanted: number, comparison: string, to: string): Goal => {
    const found = verification.comparisons.find(({ name }) => name === comparison);
    const processor = found?.cpuRatios[to] ?? Number.NaN;
    return atLeast(what, wanted, found?.ratios[to] ?? Number.NaN, 1 / processor);
  };
  const starting = (what: string, timing: "load" | "answer", name: string, wanted: number): Goal => {
    const ratios = coldStart.functions.find((row) => row.name === name)?.ratios;
    const processor = ratios?.[timing === "load" ? "loadCpu" : "answerCpu"];
    return atMost(
      `${what} of ${name}, relative to the document client alone`,
      wanted,
      ratios?.[timing] ?? Number.NaN,
      processor ?? Number.NaN,
    );
  };
  const bundled = coldStart.functions.find((row) => row.name === AS_OURS.name);
  const startingBundled = (name: string, wanted: number): Goal => {
    const row = coldStart.functions.find((one) => one.name === name);
    const ratioOf = (timing: "answer" | "answerCpu"): number =>
      (row?.[timing] ?? Number.NaN) / (bundled?.[timing] ?? Number.NaN);
    return atMost(
      `first answer of ${name}, to the document client bundled as the functions`,
      wanted,
      ratioOf("answer"),
      ratioOf("answerCpu"),
    );
  };
  const worst = Math.max(...hostile.shapes.map(({ ratio }) => ratio));
  const restParts = storing.bySize.map(({ restPart }) => restPart);
  const most = Math.max(...restParts);
  const readUnits = reading.rows
    .filter(({ kind, customers }) => kind.includes("consumables") && customers === 1)
    .map((row) => row.readUnits);
  const errors = load.rows.reduce((total, row) => total + row.errors, 0);
  return [
    faster("verification rate, one at a time, relative to Apple's library", 15, "one at a time", APPLES),
    faster(
      "verification rate, a request of 100, relative to Apple's library",
      15,
      "a request of 100",
      APPLES,
    ),
    faster("verification rate, one at a time, relative to jose alone", 0.9, "one at a time", JOSE),
    faster(
      "verification rate, a request of 100, relative to crypto.verify on one thread",
      0.9,
      "a request of 100",
      RAW,
    ),
    {
      what: "CPU time of the costliest hostile body, relative to an honest one of its size",
      wanted: `at most ${times(3)}`,
      measured: times(worst),
      isMet: worst <= 3,
    },
    {
      what: "largest share of a request's time outside verification and DynamoDB",
      wanted: "under 15 %",
      measured: percent(most),
      isMet: most < 0.15,
    },
    {
      what: "read units with 1 to 10,000 past purchases that grant nothing",
      wanted: "flat",
      measured: [...new Set(readUnits)].join(" to "),
      isMet: new Set(readUnits).size === 1,
    },
    ...START_GOALS.map(([name, wanted]) => starting("load", "load", name, wanted)),
    ...START_GOALS.map(([name, wanted]) => starting("first answer", "answer", name, wanted)),
    ...BUNDLED_START_GOALS.map(([name, wanted]) => startingBundled(name, wanted)),
    {
      what: "processor time of a warm read, to the document client's Query in the same process",
      wanted: `at most ${times(1.15)}`,
      measured: times(reading.warm.ratio),
      isMet: reading.warm.ratio <= 1.15,
    },
    { what: "errors under load", wanted: "none", measured: String(errors), isMet: errors === 0 },
  ];
};

export const goalsSection = (results: Results): string => `## Goals

${table(
  ["Goal", "Wanted", "Measured", "In CPU time", "Met"],
  goalsOf(results).map(({ what, wanted, measured, byProcessor = "", isMet }) => [
    what,
    wanted,
    measured,
    byProcessor,
    isMet ? "yes" : "no",
  ]),
)}`;
