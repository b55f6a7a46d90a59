import { STORES } from "../../contract/schemas.ts";
import { purchaseKey, type AccountId } from "../../identifiers.ts";
import { askStore } from "./asking/ask-stores.ts";
import type { Asking } from "./asking/asking.ts";
import { causeOf, createTally, type Difference, type Echo, echoOf, type Tally } from "./reports/report.ts";
import { claimsOf, type ImportSource, type PlacedClaim, readRows, sha256 } from "./claim.ts";
import type { JournalEntry } from "./journal.ts";
import {
  applyEntry,
  countClaim,
  decisionsOf,
  idOf,
  isNewest,
  lineageOf,
  noteClaim,
  personOf,
  type Decisions,
  type Lineage,
  type Person,
} from "./join.ts";
import { createTurns, sideBySide } from "../side-by-side.ts";
import { givesAccess } from "./asking/verdict.ts";

export interface ImportRun extends Omit<Asking, "onClaim" | "onAsked"> {
  readonly source: ImportSource;
  /** Accounts of purchases that the files give to several, by the purchase's key in the table. */
  readonly decided: ReadonlyMap<string, AccountId>;
  readonly onDifference: (difference: Difference) => void;
  readonly progress: (progress: Progress) => void;
}

export interface Progress {
  readonly phase: "reading" | "asking" | "linking";
  readonly done: number;
  readonly all: number;
  /** Stores' answers that differ from what the files claim, so far. */
  readonly differences: number;
}

/** First reading: joins the rows. Before the journal is applied. */
export const readClaims = async (
  { source, join }: Pick<ImportRun, "source" | "join">,
  progress: ImportRun["progress"],
): Promise<number> => {
  let all = 0;
  for await (const { claim } of claimsOf(source)) {
    noteClaim(join, claim);
    all += 1;
    progress({ phase: "reading", done: all, all, differences: 0 });
  }
  return all;
};

const askAll = async (run: ImportRun, all: number): Promise<void> => {
  let [done, differences] = [0, 0];
  const report = (): void => run.progress({ phase: "asking", done, all, differences });
  const asking: Asking = {
    ...run,
    onClaim: () => {
      done += 1;
      report();
    },
    onAsked: ({ claim }) => {
      const { state } = lineageOf(run.join, claim);
      if (claim.access !== null && claim.access.given !== givesAccess(state)) differences += 1;
      report();
    },
  };
  await Promise.all(STORES.map(async (store) => askStore(run.source, store, asking)));
};

const linkPerson = async (
  { join, storing, record }: ImportRun,
  decisions: Decisions,
  { file, row, claim }: PlacedClaim,
): Promise<void> => {
  const lineage = lineageOf(join, claim);
  const { stored, environment, key } = lineage;
  const person = personOf(lineage);
  const account = decisions.get(person) ?? (person.isDisputed ? null : claim.account);
  if (account === null || person.linked !== null || stored !== "stored" || key === null) return;
  const reference = { store: claim.store, environment, key: purchaseKey(key) };
  const linked = await storing.link(reference, account);
  const entry: JournalEntry = { file, row, id: sha256(idOf(claim)), linked };
  record(entry);
  applyEntry(join, entry);
};

const linkAll = async (run: ImportRun, decisions: Decisions, all: number): Promise<void> => {
  let done = 0;
  const turns = createTurns<Person>();
  await sideBySide(claimsOf(run.source), run.atOnce, async (placed) => {
    done += 1;
    run.progress({ phase: "linking", done, all, differences: 0 });
    if (!isNewest(run.join, placed.claim)) return;
    const person = personOf(lineageOf(run.join, placed.claim));
    await turns(person, async () => linkPerson(run, decisions, placed));
  });
};

const compareAll = async (run: ImportRun, decisions: Decisions, tally: Tally) => {
  const { join } = run;
  const echoes: Record<Echo, number> = { confirms: 0, contradicts: 0, nobody: 0, none: 0 };
  /** `anonymous`: stored, and nobody's until the first link claims them. */
  const counts = { linked: 0, anonymous: 0, anonymousWithAccess: 0 };
  const seen = new Map<Lineage, Set<AccountId | null>>();
  for await (const placed of claimsOf(run.source)) {
    const { claim } = placed;
    if (!isNewest(join, claim)) continue;
    const lineage = lineageOf(join, claim);
    const accounts = seen.get(lineage) ?? new Set();
    if (accounts.has(claim.account)) continue;
    seen.set(lineage, accounts.add(claim.account));
    if (claim.account === null) {
      counts.anonymous += 1;
      if (givesAccess(lineage.state)) counts.anonymousWithAccess += 1;
      continue;
    }
    const person = personOf(lineage);
    const echo = echoOf(claim, lineage, tally.isNamed);
    const cause = causeOf(claim, lineage, echo, decisions.get(person) ?? null);
    echoes[echo] += 1;
    if (person.linked === "linked") counts.linked += 1;
    tally.count(claim.account, lineage, cause);
    if (cause !== null) run.onDifference({ ...placed, cause, lineage });
  }
  return { purchases: counts, echoes };
};

/**
 * Runs an import: asks the stores about what the journal does not answer, stores what they say, links, and compares. Every
 * step may be repeated, and none depends on the order of the rows.
 */
export const runImport = async (run: ImportRun, all: number) => {
  await askAll(run, all);
  const tally = createTally();
  const moment = run.now();
  const rows = await readRows(run.source, (claim) => {
    if (!isNewest(run.join, claim)) return;
    if (claim.account !== null) tally.name(claim.account);
    countClaim(run.join, claim, moment);
  });
  const decisions = decisionsOf(run.join, run.decided);
  await linkAll(run, decisions, all);
  const compared = await compareAll(run, decisions, tally);
  return { ...rows, ...compared, ...tally.summed() };
};
export type ImportReport = Awaited<ReturnType<typeof runImport>>;
