import type { HostileResult } from "../sections/hostile.ts";
import { milliseconds, table, times, whole } from "./markdown.ts";
import type { Section } from "./section.ts";

/** Shapes that are shown: the costliest. */
const SHOWN = 12;

export const hostileSection = ({
  size,
  transactions,
  honestMilliseconds,
  shapes,
}: HostileResult): Section => ({
  text: `## A hostile body

The endpoint that needs no credential, from event to answer: processor time of one request, of all threads. The honest
body holds ${whole(transactions)} renewals, which are known already, in ${whole(size)} characters, and takes
${milliseconds(honestMilliseconds)} ms. No hostile body is longer, and all are refused. There are ${shapes.length}
shapes; where they hold JWS the app transaction is a good one. The costliest:

${table(
  ["shape", "processor, ms", "to the honest body"],
  shapes.slice(0, SHOWN).map((row) => [row.shape, milliseconds(row.milliseconds), times(row.ratio)]),
)}`,
  charts: {},
});
