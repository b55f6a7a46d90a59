import type { ColdStartResult } from "../sections/cold-start.ts";
import { milliseconds, table, times, whole } from "./markdown.ts";

const KILOBYTE = 1024;

export const coldStartSection = ({ rounds, functions }: ColdStartResult): string => `## Cold start

Each function runs ${rounds} times, in alternation with the others: bundled as deployed, in a fresh Node process with
Lambda's environment variables. DynamoDB Local and the sandbox store run on this machine. Node's own start, the same for
all, is excluded.

- "Load" is the time to load the bundle. "First answer" is the time from the start of the load to the first event's answer.
- The document client's first answer reads one item, once or four times. The reader's sends two requests. Those of the
  iOS-store functions send four in sequence (three if the credential names the application), and verify a chain and two
  signatures. Those of the functions for notifications send five, and the Android one also asks for Google's keys, an access
  token and the purchase. \`watch-notifications\` finds its applications' last notifications.
- "iOS store, by hand" is the least that this work takes: the same requests, signatures and libraries, without schemas, log,
  rules or answer.
- Ratios are to the document client alone, as the SDK ships it and esbuild bundles it. It keeps what the
  functions leave out, except in the row that says so ([decision 12](decisions/0012-what-a-function-loads.md)).

${table(
  [
    "function",
    "bundle, KB",
    "load, ms",
    "ratio",
    "first answer, ms",
    "ratio",
    "CPU to first answer, ms",
    "ratio",
  ],
  functions.map((row) => [
    row.name,
    whole(row.bytes / KILOBYTE),
    milliseconds(row.load),
    times(row.ratios.load),
    milliseconds(row.answer),
    times(row.ratios.answer),
    milliseconds(row.answerCpu),
    times(row.ratios.answerCpu),
  ]),
)}

### Bundle contents

The largest packages, in KB after minification.

${table(
  ["function", "packages"],
  functions.map(({ name, parts }) => [
    name,
    parts
      .slice(0, 9)
      .map(([part, bytes]) => `${part} ${whole(bytes / KILOBYTE)}`)
      .join(", "),
  ]),
)}`;
