import type { HostileResult } from "../sections/hostile.ts";
import { milliseconds, table, times, whole } from "./markdown.ts";

/** Number of shapes in the report, costliest first. */
const SHOWN = 12;

export const hostileSection = ({
  size,
  transactions,
  honestMilliseconds,
  shapes,
}: HostileResult): string => `## A hostile body

CPU time (all threads) of one request to synchronize, the endpoint without a credential, from event to answer. The honest
body replays ${whole(transactions)} renewals in ${whole(size)} characters and takes ${milliseconds(honestMilliseconds)} ms. Each of the ${shapes.length} hostile
shapes is at most as long, and is refused. Those with transactions carry a valid app transaction. The costliest:

${table(
  ["shape", "CPU, ms", "relative to the honest body"],
  shapes.slice(0, SHOWN).map((row) => [row.shape, milliseconds(row.milliseconds), times(row.ratio)]),
)}`;
