import { STORES, type Store } from "../../contract/schemas.ts";
import { purchaseKey, type AccountId } from "../../identifiers.ts";
import { createTurns, sideBySide } from "../side-by-side.ts";
import {
  askPerson,
  askToken,
  ORDERS_AT_ONCE,
  packagesOf,
  resolveOrders,
  type Asked,
  type Asking,
} from "./asking.ts";
import { claimsOf, readRows, type Claim, type ImportSource, type PlacedClaim } from "./claim.ts";
import {
  applyEntry,
  countClaim,
  decide,
  givesAccess,
  idOf,
  isNewest,
  lineageOf,
  noteClaim,
  personOf,
  type Join,
  type JournalEntry,
  type Lineage,
  type Linked,
  type Person,
  type UnansweredOutcome,
} from "./join.ts";
import { causeOf, createTally, echoOf, type Difference, type Echo, type Tally } from "./report.ts";

export interface ImportRun extends Asking {
  readonly source: ImportSource;
  readonly join: Join;
  /** Accounts of purchases that the files give to several, by the purchase's key in the table. */
  readonly decided: ReadonlyMap<string, AccountId>;
  /** Claims that are asked about or linked at the same time. */
  readonly atOnce: number;
  /** Receives an outcome with the row that it answers, for whoever reads the journal. */
  readonly record: (entry: JournalEntry & Omit<PlacedClaim, "claim">) => void;
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

const note = (
  { join, record }: ImportRun,
  { file, row, claim }: PlacedClaim,
  outcome: Asked | { readonly linked: Linked },
): void => {
  const entry = { id: idOf(claim), ...outcome };
  record({ file, row, ...entry });
  applyEntry(join, entry);
};

/** Counts the claims that are done with, asked about or not, and takes the answers. */
const createAnswers = (run: ImportRun, all: number) => {
  let [done, differences] = [0, 0];
  const report = (): void => run.progress({ phase: "asking", done, all, differences });
  return {
    done: (claims: number): void => {
      done += claims;
      report();
    },
    settle: (placed: PlacedClaim, asked: Asked): void => {
      note(run, placed, asked);
      const { claim } = placed;
      const isGiven = givesAccess(lineageOf(run.join, claim).state);
      if (claim.access !== null && claim.access.given !== isGiven) differences += 1;
      report();
    },
  };
};
type Answers = ReturnType<typeof createAnswers>;

type Question = readonly [PlacedClaim, ...PlacedClaim[]];

/** Asks about purchases that order ids name: for their tokens, then for each. */
const askOrders = async (run: ImportRun, batch: Question, { settle }: Answers): Promise<void> => {
  const waiting = new Map(batch.map((placed) => [placed.claim.name?.value ?? "", placed]));
  let outcome: UnansweredOutcome = "unconfigured";
  for (const configuration of packagesOf(run.application, batch[0].claim)) {
    const { found, failed } = await resolveOrders(run.orders, configuration, [...waiting.keys()]);
    outcome = failed ?? "dropped";
    await sideBySide(found, run.atOnce, async (order) => {
      const placed = waiting.get(order.orderIdentifier);
      if (placed === undefined) return;
      waiting.delete(order.orderIdentifier);
      const { claim } = placed;
      const { purchaseToken: token, productKind: kind } = order;
      settle(
        placed,
        await askToken(run, claim, { token, kind, product: claim.product, also: [idOf(claim)] }),
      );
    });
    if (waiting.size === 0 || failed !== null) break;
  }
  for (const placed of waiting.values()) settle(placed, { outcome });
};

const isOpen = ({ join }: ImportRun, claim: Claim): boolean =>
  claim.name !== null && isNewest(join, claim) && lineageOf(join, claim).state === "unasked";

/** Claims that are to be asked about, one by one; those with an order id, a batch of one bundle or package at a time. */
const questionsOf = async function* (
  run: ImportRun,
  store: Store,
  answers: Answers,
): AsyncGenerator<Question> {
  const batches = new Map<string, [PlacedClaim, ...PlacedClaim[]]>();
  for await (const placed of claimsOf(run.source)) {
    const { claim } = placed;
    if (claim.store !== store) continue;
    if (!isOpen(run, claim)) answers.done(1);
    else if (claim.name?.kind !== "order") yield [placed];
    else {
      const app = claim.app ?? "";
      const batch: [PlacedClaim, ...PlacedClaim[]] = [placed, ...(batches.get(app) ?? [])];
      batches.set(app, batch);
      if (batch.length < ORDERS_AT_ONCE) continue;
      batches.delete(app);
      yield batch;
    }
  }
  yield* batches.values();
};

/** Asks a store about everything of it that is not answered yet. Claims of one account are asked about one by one. */
const askStore = async (run: ImportRun, store: Store, answers: Answers): Promise<void> => {
  const turns = createTurns<string>();
  const ask = async (question: Question): Promise<void> => {
    const [placed] = question;
    const { claim } = placed;
    const { name, kind, product } = claim;
    if (name?.kind === "order") return askOrders(run, question, answers);
    // A person's other claim may have been answered meanwhile.
    if (!isOpen(run, claim)) return;
    const asked =
      store === "ios-store"
        ? await askPerson(run, claim)
        : await askToken(run, claim, { token: name?.value ?? "", kind, product, also: [] });
    answers.settle(placed, asked);
  };
  await sideBySide(questionsOf(run, store, answers), run.atOnce, async (question) => {
    const [{ claim }] = question;
    await turns(claim.account ?? idOf(claim), async () => ask(question));
    answers.done(question.length);
  });
};

const linkPerson = async (run: ImportRun, placed: PlacedClaim): Promise<void> => {
  const { claim } = placed;
  const lineage = lineageOf(run.join, claim);
  const { stored, environment, key } = lineage;
  const person = personOf(lineage);
  const account = person.decided ?? (person.isDisputed ? null : claim.account);
  if (account === null || person.linked !== null || stored !== "stored" || key === null) return;
  const reference = { store: claim.store, environment, key: purchaseKey(key) };
  note(run, placed, { linked: await run.storing.link(reference, account) });
};

const linkAll = async (run: ImportRun, all: number): Promise<void> => {
  let done = 0;
  const turns = createTurns<Person>();
  await sideBySide(claimsOf(run.source), run.atOnce, async (placed) => {
    const { claim } = placed;
    done += 1;
    run.progress({ phase: "linking", done, all, differences: 0 });
    if (!isNewest(run.join, claim)) return;
    const person = personOf(lineageOf(run.join, claim));
    await turns(person, async () => linkPerson(run, placed));
  });
};

const compareAll = async (run: ImportRun, tally: Tally) => {
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
    const echo = echoOf(claim, lineage, tally.isNamed);
    const cause = causeOf(claim, lineage, echo);
    echoes[echo] += 1;
    if (personOf(lineage).linked === "linked") counts.linked += 1;
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
  const answers = createAnswers(run, all);
  await Promise.all(STORES.map(async (store) => askStore(run, store, answers)));
  const tally = createTally();
  const moment = run.now();
  const rows = await readRows(run.source, (claim) => {
    if (!isNewest(run.join, claim)) return;
    if (claim.account !== null) tally.name(claim.account);
    countClaim(run.join, claim, moment);
  });
  decide(run.join, run.decided);
  await linkAll(run, all);
  const compared = await compareAll(run, tally);
  return { ...rows, ...compared, ...tally.summed() };
};
export type ImportReport = Awaited<ReturnType<typeof runImport>>;
