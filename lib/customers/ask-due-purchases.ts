import { storesOf, type Application, type ApplicationDirectory } from "../applications/application.ts";
import type { Environment, Store } from "../contract/schemas.ts";
import { DAY, HOUR } from "../duration.ts";
import { referenceText, selectsNothing } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { PauseReason } from "../queues/health.ts";
import { fromOthersEachMinute, inTurns } from "../queues/turns.ts";
import { workOff, type Outcome, type Run } from "../queues/work-off.ts";
import { givenUpAt } from "../stores/android-store/acknowledgement-deadline.ts";
import { askAfterFailure, type AskOutcome, type DueAsk, type Said } from "./ask.ts";
import type { AskQueues } from "./ask-queue.ts";
import type { CustomerTable } from "./customer-table.ts";
import type { StoredPurchase } from "./records.ts";
import type { StoreInEnvironment } from "./store-in-environment.ts";

export interface AskRun extends Run {
  /** Waits a second in real time, while a slow store holds the run up. Unset: the others are not looked at again. */
  readonly untilNextLook?: () => Promise<void>;
  readonly store: Store;
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  readonly queues: AskQueues;
  readonly table: Pick<CustomerTable, "findFacts" | "findCustomers">;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  /** Asks the store about a purchase, and stores its answer. Rejects if this service fails. */
  readonly ask: (application: Application, due: DueAsk) => Promise<AskOutcome>;
}

/** Questions per second about a bundle or package: Google allows 50, and so does Apple for each of its endpoints. */
export const ASKED_PER_SECOND = 30;

/** Apple allows a tenth in its sandbox. Google counts test purchases with all others. */
export const ASKED_PER_SECOND_IN_SANDBOX = 3;

/** A queue that is paused. */
export interface PausedQueue extends StoreInEnvironment {
  readonly because: PauseReason;
  /** First failure in a row. */
  readonly failingSince: Instant;
  readonly until: Instant;
}

/** Acknowledgements of purchases that belong to an account. */
export interface AcknowledgementReport {
  readonly made: number;
  /** Tried without success, or waiting in a queue that is paused; `oldest` and `nearDeadline` count production. */
  readonly due: number;
  /** Age in milliseconds of the oldest one; 0: none is. */
  readonly oldest: number;
  /** Less than a day from their deadline, or past it. */
  readonly nearDeadline: number;
  /** Refunded by the store, dropped by it, or given up. Production only. */
  readonly failed: number;
}

/** Outcome of a run. */
export interface AskReport {
  /** Purchases whose store answered. */
  readonly asked: number;
  /** Questions that failed and are repeated later. */
  readonly failed: number;
  /**
   * Age in milliseconds of the oldest production question that is still due; 0: none. Queues that a rejected credential
   * pauses are left out.
   */
  readonly oldest: number;
  readonly paused: readonly PausedQueue[];
  readonly acknowledgements: AcknowledgementReport;
}

const QUEUES_AT_ONCE = 50;

/** Delay of a question whose purchase cannot be read, so that it does not keep others out of their batches. */
const UNREADABLE_STEP = HOUR;

const NEAR_MILLISECONDS = DAY;

/** Due items of a paused queue that are read, to count its acknowledgements. */
const COUNTED = 100;

type Asked = Outcome & { readonly said: Said };

const resultOf = (answer: AskOutcome): Asked => {
  const said = answer.outcome;
  switch (answer.outcome) {
    case "stored":
    case "over":
      return { outcome: "done", said };
    case "unknown":
      return { outcome: "failed", isUp: true, said };
    case "unconfigured":
    case "failed":
    case "unstored":
    case "unclaimed":
      return { outcome: "failed", isUp: null, said };
    case "credential-rejected":
      return { outcome: "credential-rejected", retryAt: null, said };
    case "unavailable":
      return { outcome: "unavailable", retryAt: answer.retryAt, said };
  }
};

type Counts<Report> = { -readonly [Field in keyof Report]: Report[Field] };

/** Counts of a run so far. */
interface Progress extends Counts<Omit<AskReport, "paused" | "acknowledgements">> {
  readonly paused: PausedQueue[];
  readonly acknowledgements: Counts<AcknowledgementReport>;
}

/** One queue in a run. */
interface QueueContext {
  readonly run: AskRun;
  readonly progress: Progress;
  readonly application: Application;
  readonly reference: StoreInEnvironment;
}

const countPending = (
  { run, progress: { acknowledgements: counts } }: QueueContext,
  { purchase: { environment }, acknowledgement }: DueAsk,
): void => {
  if (acknowledgement === null) return;
  counts.due += 1;
  if (environment !== "production") return;
  counts.oldest = Math.max(counts.oldest, run.now() - acknowledgement.dueSince);
  if (acknowledgement.deadline - run.now() < NEAR_MILLISECONDS) counts.nearDeadline += 1;
};

const countUnmade = (
  { progress: { acknowledgements: counts } }: QueueContext,
  { purchase }: DueAsk,
): void => {
  if (purchase.environment === "production") counts.failed += 1;
};

const read = async (
  { run: { table, now } }: QueueContext,
  { application, purchase }: DueAsk,
): Promise<StoredPurchase | undefined> => {
  const known = await table.findFacts(application, [], [purchase], now());
  return known.purchases.get(referenceText(purchase));
};

/**
 * Whether somebody has got a purchase: it belongs to an account, and of a one-time purchase a product was selected.
 * A notification alone selects none.
 */
const isDelivered = async (context: QueueContext, due: DueAsk): Promise<boolean> => {
  const stored = await read(context, due);
  if (stored === undefined || selectsNothing(stored.purchase)) return false;
  const { living } = await context.run.table.findCustomers(due.application, [stored.customer]);
  return (living.get(stored.customer)?.link ?? null) !== null;
};

/** Moves a question without an answer to its next time, or out of the queue. */
const postpone = async (context: QueueContext, due: DueAsk, said: Said): Promise<void> => {
  const { queues, now, onFailure } = context.run;
  const stored = await read(context, due).catch((error: unknown) => {
    onFailure(error);
    return null;
  });
  if (stored === undefined) return queues.move(due, null);
  const moment = now();
  const pending = stored?.acknowledgement ?? null;
  if (stored !== null && pending !== null && moment >= givenUpAt(stored.purchase.environment, pending)) {
    if (said !== "unclaimed") countUnmade(context, due);
    const to = askAfterFailure({ ...stored, acknowledgement: null }, said, moment);
    return queues.acknowledged(due.application, stored, due.source, to);
  }
  if (said !== "unclaimed") countPending(context, due);
  const unread = { at: moment + UNREADABLE_STEP, because: due.because };
  return queues.move(due, stored === null ? unread : askAfterFailure(stored, said, moment));
};

/** Asks the store about one purchase, and counts what became of its acknowledgement. */
const askOne = async (context: QueueContext, due: DueAsk): Promise<Asked> => {
  const { run, application, progress } = context;
  // Neither a failed question, nor a sign that the store answers.
  if (due.because === "acknowledgement" && !(await isDelivered(context, due)))
    return resultOf({ outcome: "unclaimed" });
  const answer = await run.ask(application, due).catch((error: unknown): AskOutcome => {
    run.onFailure(error);
    return { outcome: "unstored" };
  });
  const result = resultOf(answer);
  if (result.outcome === "done") progress.asked += 1;
  else progress.failed += 1;
  if (answer.outcome === "over") await run.queues.move(due, null);
  if (answer.outcome !== "stored") return result;
  const { isAcknowledged = null, isRefunded = false } = answer;
  if (isAcknowledged === false) countPending(context, due);
  else if (isAcknowledged === true) progress.acknowledgements.made += 1;
  else if (isRefunded) countUnmade(context, due);
  return result;
};

/** What still waits in a queue: its oldest question, its pause, and its acknowledgements. */
const reportWaiting = async (context: QueueContext): Promise<void> => {
  const { run, progress, reference } = context;
  const moment = run.now();
  const due = await run.queues.of(reference).due(moment, COUNTED);
  const [oldest] = due;
  if (oldest === undefined) return;
  const { because, failingSince, pausedUntil: until } = await run.queues.healthOf(reference);
  if (because !== null)
    progress.paused.push({ ...reference, because, failingSince: failingSince ?? moment, until });
  if (because !== "credential-rejected" && reference.environment === "production")
    progress.oldest = Math.max(progress.oldest, moment - oldest.dueAt);
  for (const one of due)
    if (one.acknowledgement !== null && (await isDelivered(context, one))) countPending(context, one);
};

/** Works off a queue for its turn. */
const workOffQueue = async (context: QueueContext, until: Instant) => {
  const { run, reference } = context;
  if (run.now() >= until) return "waiting";
  const isSandbox = reference.store === "ios-store" && reference.environment !== "production";
  const work = {
    queue: run.queues.of(reference),
    dueAtOf: ({ dueAt }: DueAsk) => dueAt,
    perSecond: isSandbox ? ASKED_PER_SECOND_IN_SANDBOX : ASKED_PER_SECOND,
    act: (due: DueAsk) => askOne(context, due),
    postpone: (due: DueAsk, asked: Asked | null) => postpone(context, due, asked?.said ?? "unstored"),
  };
  return (await workOff(work, run, until)).state;
};

const ENVIRONMENTS = ["production", "sandbox"] as const satisfies readonly Environment[];

/** The queues of an application: one for each bundle or package, in each environment that a store can be asked about. */
export const askQueuesOf = (application: Application, store: Store): readonly StoreInEnvironment[] =>
  storesOf(application)
    .filter((one) => one.store === store)
    .flatMap((one) =>
      ENVIRONMENTS.map((environment) => ({ application: application.identifier, environment, ...one })),
    );

/** The queues of all applications. */
const queuesOf = async (run: AskRun, progress: Progress): Promise<readonly QueueContext[]> => {
  const ofOne = async (identifier: ApplicationId): Promise<readonly QueueContext[]> => {
    const application = await run.directory.byIdentifier(identifier);
    if (application === null) return [];
    return askQueuesOf(application, run.store).map((reference) => ({
      run,
      progress,
      application,
      reference,
    }));
  };
  const found = await Promise.allSettled((await run.applications()).map(ofOne));
  return found.flatMap((one) => {
    if (one.status === "fulfilled") return one.value;
    run.onFailure(one.reason);
    return [];
  });
};

/**
 * Asks the store about the due purchases of all applications: the queues of all bundles and packages at once, each
 * oldest first. A store that fails, or a rejected credential, pauses its own queue alone.
 *
 * @param until no batch starts from this moment on
 */
export const askDuePurchases = async (run: AskRun, until: Instant): Promise<AskReport> => {
  const acknowledgements = { made: 0, due: 0, oldest: 0, nearDeadline: 0, failed: 0 };
  const progress: Progress = { asked: 0, failed: 0, oldest: 0, paused: [], acknowledgements };
  const inOrder = fromOthersEachMinute(await queuesOf(run, progress), QUEUES_AT_ONCE, run.now());
  const waiting = new Map(inOrder.map((one) => [JSON.stringify(one.reference), one]));
  // What waits is reported once, and not looked at again.
  const report = async (context: QueueContext): Promise<void> => {
    if (waiting.delete(JSON.stringify(context.reference))) await reportWaiting(context);
  };
  const ask = async (context: QueueContext): Promise<"done" | "more"> => {
    try {
      const state = await workOffQueue(context, until);
      if (state === "more") return "more";
      if (state === "waiting") await report(context);
    } catch (error) {
      run.onFailure(error);
      await report(context).catch(run.onFailure);
    }
    return "done";
  };
  const { untilNextLook } = run;
  const again = () => Promise.resolve(run.now() < until ? waiting : new Map<string, never>());
  await inTurns(new Map(waiting), QUEUES_AT_ONCE, ask, untilNextLook && { untilNextLook, again });
  return progress;
};
