import { join } from "node:path";
import { baselineEntry, bundle, entryOf, FUNCTIONS } from "../bundles.ts";
import { ratio, median } from "../measure.ts";
import {
  eventsOf,
  inFolder,
  invoke,
  startBenchService,
  type BenchService,
  type Timings,
} from "../service.ts";

const ROUNDS = 40;
const DOCUMENT_CLIENT = "document-client";

/** The document client, bundled like the functions: with the stand-ins and without what they leave out. */
export const AS_OURS = { name: `${DOCUMENT_CLIENT}, bundled as the functions`, event: {} } as const;

/** Baselines and functions, bundled into the folder. */
const bundlesOf = async (service: BenchService, folder: string) => {
  const events = eventsOf(service);
  const started = [
    { name: "empty", entry: baselineEntry("empty"), event: {}, plain: true },
    { name: DOCUMENT_CLIENT, entry: baselineEntry(DOCUMENT_CLIENT), event: {}, plain: true },
    { ...AS_OURS, entry: baselineEntry(DOCUMENT_CLIENT), plain: false },
    ...FUNCTIONS.map((name) => ({
      name: String(name),
      entry: entryOf(name),
      event: events[name],
      plain: false,
    })),
  ];
  return Promise.all(
    started.map(async ({ name, entry, event, plain }) => ({
      ...(await bundle(entry, join(folder, `${name}.cjs`), { plain })),
      name,
      event,
      starts: Array.of<Timings>(),
    })),
  );
};

const TIMINGS = ["load", "answer", "loadCpu", "answerCpu"] as const;
type Timing = (typeof TIMINGS)[number];

const each = (valueOf: (timing: Timing) => number) =>
  Object.fromEntries(TIMINGS.map((timing) => [timing, valueOf(timing)])) as Record<Timing, number>;

const startsIn = async (folder: string) => {
  const service = await startBenchService();
  try {
    const bundles = await bundlesOf(service, folder);
    for (let round = 0; round <= ROUNDS; round += 1)
      for (const { event, starts, ...bundle } of bundles) {
        const start = await invoke(service, bundle, [event]);
        // The first round is not counted: it reads files that are not cached yet.
        if (round > 0) starts.push(start);
      }
    return bundles;
  } finally {
    await service.stop();
  }
};

/** Start of each function in a fresh process: medians of milliseconds until it is loaded and until it has answered. */
export const measureColdStart = async () => {
  const bundles = await inFolder(startsIn);
  const baseline = bundles.find(({ name }) => name === DOCUMENT_CLIENT)?.starts ?? [];
  const functions = bundles.map(({ name, bytes, parts, starts }) => {
    const valuesOf = (timing: Timing, of: readonly Timings[]) => of.map((start) => start[timing]);
    return {
      name,
      bytes,
      parts: parts.slice(0, 12),
      ...each((timing) => median(valuesOf(timing, starts))),
      // Medians of the rounds' ratios to a function with the document client alone.
      ratios: each((timing) => ratio(valuesOf(timing, starts), valuesOf(timing, baseline))),
    };
  });
  return { rounds: ROUNDS, functions };
};
