import type { VerificationResult } from "../sections/verification.ts";
import { table, times, whole } from "./markdown.ts";

export const verificationSection = ({ bytesOfOne, comparisons }: VerificationResult): string => {
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
  return `## Verification

Transactions of ${whole(bytesOfOne)} characters, signed by a chain of three certificates like the App Store's. All sides verify
the same bytes. ${comparisons.map(({ name, how }) => `_${name}_: ${how.charAt(0).toLowerCase()}${how.slice(1)}`).join(" ")}
Offline, Apple's library checks the certificates of each transaction and caches none. \`jose\` and \`crypto.verify\` have the
key imported and check only the signature. CPU time is that of all threads.

${table(["comparison", "side", "per second", "ours relative to it", "CPU, µs", "ours relative to it"], cells)}`;
};
