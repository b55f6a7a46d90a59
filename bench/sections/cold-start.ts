import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as z from "zod";
import { baselineEntry, bundle, entryOf, FUNCTIONS } from "../bundles.ts";
import { ratio } from "../measure.ts";
import { median } from "../../testing/support/metered/measuring.ts";
import { eventsOf, functionEnvironment, startBenchService } from "../service.ts";

type Timing = "load" | "answer" | "loadCpu" | "answerCpu";

const ROUNDS = 40;
const STARTER = fileURLToPath(new URL("../workers/first-answer.cjs", import.meta.url));
const run = promisify(execFile);

const started = z.object({
  status: z.literal(200),
  load: z.number(),
  answer: z.number(),
  loadCpu: z.number(),
  answerCpu: z.number(),
});
type Started = z.infer<typeof started>;

const DOCUMENT_CLIENT = "document-client";

/** The document client, bundled like the functions: with the stand-ins and without what they leave out. */
export const AS_OURS = { name: `${DOCUMENT_CLIENT}, bundled as the functions`, event: {} } as const;

/** Start of each function in a fresh process: medians of milliseconds until it is loaded and until it has answered. */
export const measureColdStart = async () => {
  const folder = mkdtempSync(join(tmpdir(), "cold-start-"));
  const service = await startBenchService();
  try {
    const events = eventsOf(service);
    const measured = await Promise.all(
      [
        { name: "empty", entry: baselineEntry("empty"), event: {}, plain: true },
        { name: DOCUMENT_CLIENT, entry: baselineEntry(DOCUMENT_CLIENT), event: {}, plain: true },
        { ...AS_OURS, entry: baselineEntry(DOCUMENT_CLIENT), plain: false },
        ...FUNCTIONS.map((name) => ({
          name: String(name),
          entry: entryOf(name),
          event: events[name] ?? {},
          plain: false,
        })),
      ].map(async ({ name, entry, event, plain }) => {
        const eventFile = join(folder, `${name}.json`);
        writeFileSync(eventFile, JSON.stringify(event));
        const starts: Started[] = [];
        return {
          name,
          eventFile,
          starts,
          bundle: await bundle(entry, join(folder, `${name}.cjs`), { plain }),
        };
      }),
    );
    const resultFile = join(folder, "result.json");
    for (let round = 0; round <= ROUNDS; round += 1)
      for (const { name, bundle, eventFile, starts } of measured) {
        await run(process.execPath, [STARTER, bundle.file, eventFile, resultFile], {
          env: functionEnvironment(service, name),
        });
        const start = started.parse(JSON.parse(readFileSync(resultFile, "utf8")));
        // The first round is not counted: it reads files that are not cached yet.
        if (round > 0) starts.push(start);
      }
    const baseline = measured.find(({ name }) => name === DOCUMENT_CLIENT)?.starts ?? [];
    const rows = measured.map(({ name, bundle: { bytes, parts }, starts }) => {
      const valuesOf = (timing: Timing, of: readonly Started[]) => of.map((start) => start[timing]);
      const each = (valueOf: (timing: Timing) => number): Record<Timing, number> => ({
        load: valueOf("load"),
        answer: valueOf("answer"),
        loadCpu: valueOf("loadCpu"),
        answerCpu: valueOf("answerCpu"),
      });
      return {
        name,
        bytes,
        parts: parts.slice(0, 12),
        ...each((timing) => median(valuesOf(timing, starts))),
        // Medians of the rounds' ratios to a function with the document client alone.
        ratios: each((timing) => ratio(valuesOf(timing, starts), valuesOf(timing, baseline))),
      };
    });
    return { rounds: ROUNDS, functions: rows };
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};
