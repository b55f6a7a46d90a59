import type { Application } from "../../applications/application.ts";
import type { Store } from "../../contract/schemas.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../duration.ts";
import { referenceText, selectsNothing } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { failingOf, type Failing } from "../../queues/health.ts";
import { eachAlone, turnOf, type Outcome, type Work } from "../../queues/work-off.ts";
import { workOffApplications, type RunOfApplications } from "../../queues/work-off-all.ts";
import { givenUpAt } from "../../stores/android-store/reading.ts";
import {
  type DueAsk,
  type AskOutcome,
  askAfterFailure,
  type Said,
  type AskQueues,
  type PauseReason,
} from "./ask.ts";
import type { CustomerTable } from "../storing/fact-store.ts";
import type { StoredPurchase } from "../storing/records.ts";
import { askQueuesOf, storeText, type StoreInEnvironment } from "../application-stores.ts";

export interface AskRun extends RunOfApplications<Application> {
  readonly store: Store;
  readonly queues: AskQueues;
  readonly table: Pick<CustomerTable, "findFacts" | "findCustomers">;
  /** Asks the store about a purchase, and stores its answer. Rejects if this service fails. */
  readonly ask: (application: Application, due: DueAsk) => Promise<AskOutcome>;
}

/** Questions per second about a bundle or package: Google allows 50, and so does Apple for each of its endpoints. */
export const ASKED_PER_SECOND = 30;

/** Apple allows a tenth in its sandbox. Google counts test purchases with all others. */
export const ASKED_PER_SECOND_IN_SANDBOX = 3;

export type PausedQueue = StoreInEnvironment & Failing<PauseReason>;

export interface AskReport {
  readonly asked: number;
  readonly failed: number;
  /** Age in milliseconds of the oldest due production question, save in queues that a rejected credential pauses; 0: none. */
  readonly oldest: number;
  readonly paused: readonly PausedQueue[];
  /** Acknowledgements of purchases that belong to an account. All but `made` and `due` count production. */
  readonly acknowledgements: {
    readonly made: number;
    /** Tried without success, or waiting in a queue that is paused. */
    readonly due: number;
    /** Age in milliseconds of the oldest one; 0: none is. */
    readonly oldest: number;
    /** Less than a day from their deadline, or past it. */
    readonly nearDeadline: number;
    /** Refunded by the store, dropped by it, or given up. */
    readonly failed: number;
  };
}

const QUEUES_AT_ONCE = 50;

/** Delay of a question whose purchase cannot be read, so that it does not keep others out of their batches. */
const UNREADABLE_STEP = HOUR;

const NEAR_MILLISECONDS = DAY;

/** Due items of a paused queue whose acknowledgements are counted. */
const COUNTED = 100;

/** A store that is down is retried within a renewal leeway of 15 minutes; a rejected key needs a person. */
const PAUSES: Readonly<Record<PauseReason, readonly number[]>> = {
  unavailable: [30 * SECOND, MINUTE, 2 * MINUTE, 4 * MINUTE, 5 * MINUTE],
  "credential-rejected": [5 * MINUTE, 15 * MINUTE, HOUR],
};
export const pausesOf = (because: PauseReason): readonly number[] => PAUSES[because];

/** Longest pause that a store can ask for. */
const LONGEST_PAUSE = HOUR;

/** Age from which a question moves on although its queue is paused: it holds up no others. */
const MOVES_ON_AFTER = HOUR;

type Asked = Outcome<PauseReason> & { readonly said: Said };

const resultOf = (answer: AskOutcome, moment: Instant): Asked => {
  const said = answer.outcome;
  if (answer.outcome === "unavailable") {
    const retryAt = answer.retryAt && Math.min(answer.retryAt, moment + LONGEST_PAUSE);
    const end = { because: answer.outcome, retryAt, isForAll: retryAt !== null };
    return { item: "failed", end, said };
  }
  if (said === "credential-rejected")
    return { item: "failed", end: { because: said, retryAt: null, isForAll: false }, said };
  const isDone = said === "stored" || said === "over";
  return { item: isDone ? "done" : "failed", end: isDone || said === "unknown" ? "up" : null, said };
};

const nothingYet = () => ({
  asked: 0,
  failed: 0,
  oldest: 0,
  paused: [] as PausedQueue[],
  acknowledgements: { made: 0, due: 0, oldest: 0, nearDeadline: 0, failed: 0 },
});

interface QueueContext {
  readonly run: AskRun;
  readonly progress: ReturnType<typeof nothingYet>;
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

const countUnmade = ({ progress }: QueueContext, { purchase }: DueAsk): void => {
  if (purchase.environment === "production") progress.acknowledgements.failed += 1;
};

const read = async (
  { run: { table, now } }: QueueContext,
  { application, purchase }: DueAsk,
): Promise<StoredPurchase | undefined> => {
  const known = await table.findFacts(application, [], [purchase], now());
  return known.purchases.get(referenceText(purchase));
};

/** Whether somebody has got a purchase: it has an account, and of a one-time purchase a product was selected. */
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
  const unread = { at: moment + UNREADABLE_STEP, because: due.ask.because };
  return queues.move(due, stored === null ? unread : askAfterFailure(stored, said, moment));
};

const askOne = async (context: QueueContext, due: DueAsk): Promise<Asked> => {
  const { run, application, progress } = context;
  // Neither a failed question, nor a sign that the store answers.
  if (due.ask.because === "acknowledgement" && !(await isDelivered(context, due)))
    return resultOf({ outcome: "unclaimed" }, run.now());
  const answer = await run.ask(application, due).catch((error: unknown): AskOutcome => {
    run.onFailure(error);
    return { outcome: "failed" };
  });
  const result = resultOf(answer, run.now());
  if (result.item === "done") progress.asked += 1;
  else progress.failed += 1;
  if (answer.outcome === "over") await run.queues.move(due, null);
  if (answer.outcome !== "stored") return result;
  const { isAcknowledged = null, isRefunded = false } = answer;
  if (isAcknowledged === false) countPending(context, due);
  else if (isAcknowledged === true) progress.acknowledgements.made += 1;
  else if (isRefunded) countUnmade(context, due);
  return result;
};

const reportWaiting = async (context: QueueContext): Promise<void> => {
  const { run, progress, reference } = context;
  const moment = run.now();
  const due = await run.queues.of(reference).due(moment, COUNTED);
  const [oldest] = due;
  if (oldest === undefined) return;
  const failing = failingOf(await run.queues.healthOf(reference));
  if (failing !== null) progress.paused.push({ ...reference, ...failing });
  if (failing?.because !== "credential-rejected" && reference.environment === "production")
    progress.oldest = Math.max(progress.oldest, moment - oldest.ask.at);
  for (const one of due)
    if (one.acknowledgement !== null && (await isDelivered(context, one))) countPending(context, one);
};

const workOn = (context: QueueContext): Work<DueAsk, PauseReason, Asked> => {
  const { run, reference } = context;
  const isSandbox = reference.store === "ios-store" && reference.environment !== "production";
  return {
    queue: run.queues.of(reference),
    keyOf: ({ purchase }) => referenceText(purchase),
    dueAtOf: ({ ask }) => ask.at,
    atOnce: isSandbox ? ASKED_PER_SECOND_IN_SANDBOX : ASKED_PER_SECOND,
    pace: SECOND,
    act: eachAlone((due: DueAsk) => askOne(context, due), run.onFailure),
    postpone: (due, asked) => postpone(context, due, asked?.said ?? "failed"),
    staysFor: MOVES_ON_AFTER,
    pausesOf,
  };
};

/**
 * Asks the store about the due purchases of all applications. A store's failure pauses its own queue alone.
 *
 * @param until no batch starts from this moment on
 */
export const askDuePurchases = async (run: AskRun, until: Instant): Promise<AskReport> => {
  const progress = nothingYet();
  const queues = new Map<string, QueueContext>();
  const turnsOf = (application: Application) =>
    askQueuesOf(application, run.store).map((reference) => {
      const name = storeText(reference);
      const queue = { run, progress, application, reference };
      queues.set(name, queue);
      return [name, turnOf(workOn(queue), run)] as const;
    });
  const left = await workOffApplications(run, turnsOf, { atOnce: QUEUES_AT_ONCE, until });
  const waiting = [...queues].filter(([name]) => left.get(name)?.state === "waiting");
  await Promise.all(waiting.map(async ([, queue]) => reportWaiting(queue).catch(run.onFailure)));
  return progress;
};
