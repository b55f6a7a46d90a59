import * as z from "zod";
import { parseJson } from "../../bounded-text.ts";
import { STATES } from "./asking/verdict.ts";

/**
 * A run's journal: one line of JSON for each outcome, from which an interrupted run goes on. It holds SHA-256 of
 * identifiers, purchase keys and outcomes; no token, no key and nothing signed.
 */

const sha = z.string().regex(/^[0-9a-f]{64}$/);
/** Row of the files, and SHA-256 of what it names. */
const place = z.object({ file: z.int(), row: z.int(), id: sha });
export type Place = z.output<typeof place>;

/** First line. A dry run and a run never continue each other. */
const journalHead = z.object({
  import: z.literal(1),
  application: z.string(),
  table: z.string(),
  isDryRun: z.boolean(),
  /** Null: each that the manifest accepts. */
  environment: z.enum(["production", "sandbox"]).nullable(),
  /** Identifies the run in the audit. */
  run: z.string(),
  startedAt: z.number(),
});
export type JournalHead = z.output<typeof journalHead>;

const lineage = z.object({
  /** SHA-256 of the lineage's identifier, and of others of it that the files name. */
  id: sha,
  also: z.array(sha),
  /** The purchase's key in the table; an Android purchase's is the SHA-256 of its token. */
  key: z.string(),
  environment: z.enum(["production", "sandbox"]),
  state: z.enum(STATES),
  isMapped: z.boolean(),
  /** SHA-256 of the account as the store echoes it; null: it echoes none. */
  echo: sha.nullable(),
});
export type AnsweredLineage = z.output<typeof lineage>;

const answered = z.object({
  ...place.shape,
  outcome: z.literal("answered"),
  /** `conflict`: the answer names customers of different accounts. */
  stored: z.enum(["stored", "erased", "conflict"]),
  lineages: z.array(lineage),
  /** Other lineages of the files that the store says are the same person's. */
  samePerson: z.array(sha),
});
export type AnsweredEntry = z.output<typeof answered>;
export type Stored = AnsweredEntry["stored"];

/** Outcomes after which a run that goes on asks again. */
const OPEN = ["unanswered", "stopped", "unconfigured", "unverified"] as const;
const unanswered = z.object({
  ...place.shape,
  outcome: z.enum([...OPEN, "unknown", "dropped", "excluded"]),
});
export type UnansweredOutcome = z.output<typeof unanswered>["outcome"];

/** `elsewhere`: another account has the customer. */
const linked = z.object({ ...place.shape, linked: z.enum(["linked", "elsewhere", "erased"]) });
export type Linked = z.output<typeof linked>["linked"];

const journalEntry = z.union([answered, unanswered, linked]);
export type JournalEntry = z.output<typeof journalEntry>;

const finished = z.object({ finishedAt: z.number() });

const isOpen = (entry: JournalEntry): boolean =>
  "outcome" in entry && OPEN.some((outcome) => outcome === entry.outcome);

/** Applies a journal's entries; a last line that was cut off is left out. `head` null: it is no journal. */
export const readJournal = async (lines: AsyncIterable<string>, apply: (entry: JournalEntry) => void) => {
  let head: JournalHead | null = null;
  let isFinished = false;
  for await (const line of lines) {
    const value = parseJson(line);
    head ??= journalHead.safeParse(value).data ?? null;
    const entry = journalEntry.safeParse(value).data;
    if (entry !== undefined && !isOpen(entry)) apply(entry);
    else if (finished.safeParse(value).success) isFinished = true;
  }
  return { head, isFinished };
};
