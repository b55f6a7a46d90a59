import type { Results } from "../results.ts";
import { AS_OURS } from "../sections/cold-start.ts";
import { APPLES, JOSE, RAW } from "../sections/verification.ts";

export interface Goal {
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

export const goalsOf = ({
  verification,
  hostile,
  storing,
  reading,
  telling,
  load,
}: Results): readonly Goal[] => {
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

/** A function's load and first answer, as multiples of the DynamoDB document client's. */
export interface StartGoal {
  readonly name: string;
  readonly wanted: number;
  readonly load: number;
  readonly answer: number;
  readonly isMet: boolean;
}

const START_GOALS: readonly (readonly [name: string, wanted: number])[] = [
  ["authorize-credential", 1.15],
  ["read-account-entitlements", 1.15],
  ["synchronize-ios-store-purchases", 1.25],
  ["link-ios-store-customer", 1.25],
  ["link-android-store-customer", 2],
];

/** Relative to the document client as its package ships it. */
export const startGoalsOf = ({ coldStart }: Results): readonly StartGoal[] =>
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
export const bundledGoalsOf = ({ coldStart }: Results): readonly Goal[] => {
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
