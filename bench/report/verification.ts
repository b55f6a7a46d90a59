import type { VerificationResult } from "../sections/verification.ts";
import { table, times, whole } from "./markdown.ts";
import type { Section } from "./section.ts";

export const verificationSection = ({ bytesOfOne, comparisons }: VerificationResult): Section => {
  const sides = [...new Set(comparisons.flatMap(({ rates }) => rates.map(({ name }) => name)))];
  const cells = comparisons.flatMap(({ name, rates, ratios, cpuRatios }) =>
    rates.map((side) => [
      name,
      side.name,
      whole(side.median),
      side.name in ratios ? times(ratios[side.name] ?? Number.NaN) : "",
      whole(side.cpuMicroseconds),
      side.name in cpuRatios ? times(cpuRatios[side.name] ?? Number.NaN) : "",
    ]),
  );
  const text = `## Verification

Transactions of ${whole(bytesOfOne)} characters, signed by a chain of three certificates as the App Store's. The bytes
are the same for all. ${comparisons.map(({ name, how }) => `_${name}_: ${how.charAt(0).toLowerCase()}${how.slice(1)}`).join(" ")}
Apple's library checks the certificates of each transaction and keeps none when it works offline; \`jose\` and
\`crypto.verify\` have the key imported and check nothing but the signature. Processor time is that of all threads.

${table(["", "", "a second", "ours to it", "processor, µs", "ours to it"], cells)}

![Transactions verified in a second](charts/verification.svg)`;
  return {
    text,
    charts: {
      verification: {
        title: "Transactions verified in a second",
        kind: "bars",
        categories: comparisons.map(({ name }) => name),
        unit: "transactions a second",
        series: sides.map((side) => ({
          name: side,
          values: comparisons.map(
            ({ rates }) => rates.find(({ name }) => name === side)?.median ?? Number.NaN,
          ),
        })),
      },
    },
  };
};
