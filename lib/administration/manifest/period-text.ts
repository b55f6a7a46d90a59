import { DAY, MINUTE } from "../../duration.ts";
import type { Period } from "../../entitlements/time.ts";

const UNITS = [
  ["D", DAY],
  ["H", 3_600_000],
  ["M", MINUTE],
  ["S", 1000],
] as const;

/** The period as an ISO 8601 duration: `P1Y`, `P7D`, `PT36H` as `P1DT12H`. */
export const periodText = ({ months, milliseconds }: Period): string => {
  const date = months === 0 ? "" : months % 12 === 0 ? `${months / 12}Y` : `${months}M`;
  let rest = milliseconds;
  const [days = "", ...time] = UNITS.map(([letter, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? "" : `${count}${letter}`;
  });
  return `P${date}${days}${time.some(Boolean) ? `T${time.join("")}` : ""}`;
};

/** Milliseconds as an ISO 8601 duration: `PT15M`, `PT0S`. */
export const durationText = (milliseconds: number): string =>
  milliseconds === 0 ? "PT0S" : periodText({ months: 0, milliseconds });
