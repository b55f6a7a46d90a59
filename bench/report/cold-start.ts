import type { ColdStartResult } from "../sections/cold-start.ts";
import { milliseconds, table, times, whole } from "./markdown.ts";
import type { Section } from "./section.ts";

const KILOBYTE = 1024;

export const coldStartSection = ({ rounds, functions }: ColdStartResult): Section => ({
  text: `## Cold start

Each function, bundled as it is deployed, in a fresh process of Node with Lambda's environment variables, ${rounds} times
in turn. "Load" is the time to load the bundle, "first answer" from the beginning of the load until the first event is
answered, with DynamoDB Local (and the sandbox store) on this machine; the start of Node itself, which is the same for
all, is left out. The first answer of the document client reads one item, or four times one; the reader's asks twice; that of
the iOS-store functions asks four times (three times where the application is the credential's), one after the other, and
verifies a chain and two signatures. "iOS store, by hand" is the least that this work takes: the same requests, signatures
and libraries without a schema, a log, a rule or an answer. Ratios are to the document client alone, as the SDK makes it and
esbuild bundles it; what is taken out of the functions is not taken out of it, save in the row that says so
([decision 12](decisions/0012-what-a-function-loads.md)).

${table(
  ["function", "bundle, KB", "load, ms", "", "first answer, ms", "", "processor to first answer, ms", ""],
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

![Cold start](charts/cold-start.svg)

### What is in the bundles

KB after minification, of the largest packages.

${table(
  ["function", "packages"],
  functions.map(({ name, parts }) => [
    name,
    parts
      .slice(0, 9)
      .map(([part, bytes]) => `${part} ${whole(bytes / KILOBYTE)}`)
      .join(", "),
  ]),
)}`,
  charts: {
    "cold-start": {
      title: "Cold start, without Node's own",
      kind: "horizontal bars",
      height: 460,
      categories: functions.map(({ name }) => name),
      unit: "milliseconds",
      series: [
        { name: "load", values: functions.map(({ load }) => load) },
        { name: "first answer", values: functions.map(({ answer }) => answer) },
      ],
    },
  },
});
