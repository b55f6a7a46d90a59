import type { Application, ApplicationDirectory } from "../applications/application.ts";
import { findApplications } from "../applications/find-applications.ts";
import type { Environment, Store } from "../contract/schemas.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";
import {
  ASKED_AFTER_END,
  earliest,
  isLongOver,
  lastHeard,
  nextAsk,
  type NextAsk,
} from "../entitlements/next-ask.ts";
import { referenceText, selectsNothing, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { eachAlone, type Outcome, type Work } from "../queues/work-off.ts";
import { workOffAll, type RunOfAll } from "../queues/work-off-all.ts";
import { givenUpAt } from "../stores/android-store/acknowledgement-deadline.ts";
import { nextAcknowledgement, type DueAsk } from "./ask.ts";
import type { AskOutcome } from "./ask-outcome.ts";
import type { AskQueues, PauseReason } from "./ask-queue.ts";
import type { CustomerTable } from "./customer-table.ts";
import type { StoredPurchase } from "./records.ts";
import type { StoreInEnvironment } from "./store-in-environment.ts";

export interface AskRun extends RunOfAll {
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

/** Delay of a question without an answer, within a day of an end: the renewal leeway may run. */
const UNANSWERED_STEP = 5 * MINUTE;
const UNANSWERED_LATER_STEP = HOUR;

/** Delay of a question whose purchase cannot be read, so that it does not keep others out of their batches. */
const UNREADABLE_STEP = HOUR;

/**
 * Time after {@link givenUpAt} for which an acknowledgement without an answer is tried: the store may have refunded the
 * purchase, and the queue may have the last copy of its token.
 */
const UNANSWERED_KEPT = 7 * DAY;

const NEAR_MILLISECONDS = DAY;

/** Due items of a paused queue that are read, to count its acknowledgements. */
const COUNTED = 100;

/**
 * Pauses of a queue. A store that is down is retried often enough for a renewal leeway of 15 minutes; a rejected key
 * needs a person.
 */
const PAUSES: Readonly<Record<PauseReason, readonly number[]>> = {
  unavailable: [0.5, 1, 2, 4, 5].map((minutes) => minutes * MINUTE),
  "credential-rejected": [5, 15, 60].map((minutes) => minutes * MINUTE),
};
export const pausesOf = (because: PauseReason): readonly number[] => PAUSES[because];

/** Longest pause that a store can ask for. */
const LONGEST_PAUSE = HOUR;

/** Age from which a question moves on although its queue is paused, so that it does not hold up the others. */
const MOVES_ON_AFTER = HOUR;

/** `unclaimed`: only an acknowledgement was due, and the purchase belongs to no account: nothing was delivered. */
type Asked = Outcome<PauseReason> & { readonly said: AskOutcome | { readonly outcome: "unclaimed" } };

const resultOf = (said: AskOutcome, moment: Instant): Asked => {
  const failed = (end: Asked["end"]): Asked => ({ item: "failed", end, said });
  switch (said.outcome) {
    case "stored":
    case "over":
      return { item: "done", end: "up", said };
    case "unknown":
      return failed("up");
    case "unconfigured":
    case "failed":
    case "unstored":
      return failed(null);
    case "credential-rejected":
      return failed({ because: said.outcome, retryAt: null, isForAll: false });
    case "unavailable": {
      // A refusal of one purchase, perhaps for good: the store is up.
      if (said.isOfThisPurchase === true) return failed("up");
      const retryAt = said.retryAt && Math.min(said.retryAt, moment + LONGEST_PAUSE);
      return failed({ because: said.outcome, retryAt, isForAll: retryAt !== null });
    }
  }
};

const hasEndedWithin = ({ lines }: Purchase, milliseconds: number, moment: Instant): boolean =>
  lines.some(({ endsAt }) => endsAt !== null && endsAt <= moment && moment < endsAt + milliseconds);

const SAYS_NOTHING: ReadonlySet<string> = new Set([
  "unavailable",
  "credential-rejected",
  "unstored",
  "failed",
]);

/** The next question about a purchase whose last one had no answer; null: there is none. */
export const askAfterFailure = (
  { purchase, acknowledgement }: Pick<StoredPurchase, "purchase" | "acknowledgement">,
  said: Asked["said"]["outcome"],
  moment: Instant,
): NextAsk | null => {
  const next = nextAsk(purchase, moment, true);
  const isOver = isLongOver(purchase, moment);
  if (isOver && !SAYS_NOTHING.has(said)) return null;
  const tried =
    acknowledgement &&
    ({ at: nextAcknowledgement(acknowledgement, moment), because: "acknowledgement" } as const);
  if (said === "unclaimed") return earliest([next, tried]);
  const isLast = next === null && moment >= lastHeard(purchase) + ASKED_AFTER_END;
  const step = hasEndedWithin(purchase, DAY, moment)
    ? UNANSWERED_STEP
    : SAYS_NOTHING.has(said)
      ? UNANSWERED_LATER_STEP
      : Infinity;
  const repeats = isLast || isOver || said === "unconfigured" ? Infinity : moment + step;
  const at = Math.min(next?.at ?? Infinity, tried?.at ?? Infinity, repeats);
  return at === Infinity ? null : { at, because: "no-answer" };
};

/** Whether a pending acknowledgement is given up after a try: the store no longer wants it, or never said. */
const isGivenUp = (
  { environment }: Purchase,
  acknowledgement: NonNullable<StoredPurchase["acknowledgement"]>,
  said: Asked["said"]["outcome"],
  moment: Instant,
): boolean =>
  moment >= givenUpAt(environment, acknowledgement) + (SAYS_NOTHING.has(said) ? UNANSWERED_KEPT : 0);

/** Counts of a run so far. */
interface Progress {
  asked: number;
  failed: number;
  oldest: number;
  readonly paused: PausedQueue[];
  readonly acknowledgements: {
    made: number;
    due: number;
    oldest: number;
    nearDeadline: number;
    failed: number;
  };
}

const countPending = (
  { acknowledgements: counts }: Progress,
  { purchase: { environment }, acknowledgement }: DueAsk,
  moment: Instant,
): void => {
  if (acknowledgement === null) return;
  counts.due += 1;
  if (environment !== "production") return;
  counts.oldest = Math.max(counts.oldest, moment - acknowledgement.dueSince);
  if (acknowledgement.deadline - moment < NEAR_MILLISECONDS) counts.nearDeadline += 1;
};

const read = async (
  { table, now }: AskRun,
  { application, purchase }: DueAsk,
): Promise<StoredPurchase | undefined> => {
  const known = await table.findFacts(application, [], [purchase], now());
  return known.purchases.get(referenceText(purchase));
};

/**
 * Whether somebody has got a purchase: it belongs to an account, and of a one-time purchase a product was selected.
 * A notification alone selects none.
 */
const isDelivered = async (run: AskRun, due: DueAsk): Promise<boolean> => {
  const stored = await read(run, due);
  if (stored === undefined || selectsNothing(stored.purchase)) return false;
  const { living } = await run.table.findCustomers(due.application, [stored.customer]);
  return (living.get(stored.customer)?.link ?? null) !== null;
};

/** Moves a question without an answer to its next time, or out of the queue. */
const postpone = async (run: AskRun, due: DueAsk, asked: Asked | null, progress: Progress): Promise<void> => {
  const { queues, now } = run;
  const said = asked?.said.outcome ?? "unstored";
  const stored = await read(run, due).catch((error: unknown) => {
    run.onFailure(error);
    return null;
  });
  const moment = now();
  if (stored === undefined) return queues.move(due, null);
  const pending = stored?.acknowledgement ?? null;
  if (stored === null || pending === null || !isGivenUp(stored.purchase, pending, said, moment)) {
    if (said !== "unclaimed") countPending(progress, due, moment);
    const unread = { at: moment + UNREADABLE_STEP, because: due.because };
    return queues.move(due, stored === null ? unread : askAfterFailure(stored, said, moment));
  }
  if (said !== "unclaimed" && due.purchase.environment === "production")
    progress.acknowledgements.failed += 1;
  const to = askAfterFailure({ ...stored, acknowledgement: null }, said, moment);
  return queues.acknowledged(due.application, stored, due.source, to);
};

/** Asks the store about one purchase, and counts what became of its acknowledgement. */
const askOne = async (
  run: AskRun,
  application: Application,
  due: DueAsk,
  progress: Progress,
): Promise<Asked> => {
  // Neither a failed question, nor a sign that the store answers.
  if (due.because === "acknowledgement" && !(await isDelivered(run, due)))
    return { item: "failed", end: null, said: { outcome: "unclaimed" } };
  const said = await run.ask(application, due).catch((error: unknown): AskOutcome => {
    run.onFailure(error);
    return { outcome: "unstored" };
  });
  const { acknowledgements: counts } = progress;
  if (said.outcome === "stored" || said.outcome === "over") progress.asked += 1;
  else progress.failed += 1;
  if (said.outcome === "over") await run.queues.move(due, null);
  if (said.outcome !== "stored") return resultOf(said, run.now());
  if (said.isAcknowledged === false) countPending(progress, due, run.now());
  else if (said.isAcknowledged === true) counts.made += 1;
  else if (said.isRefunded === true && due.purchase.environment === "production") counts.failed += 1;
  return resultOf(said, run.now());
};

/** Adds a queue's oldest question, its pause and its pending acknowledgements to the report. */
const reportWaiting = async (
  run: AskRun,
  reference: StoreInEnvironment,
  progress: Progress,
): Promise<void> => {
  const { queues, now } = run;
  const moment = now();
  const due = await queues.of(reference).due(moment, COUNTED);
  const [oldest] = due;
  if (oldest === undefined) return;
  const { because, failingSince, pausedUntil: until } = await queues.healthOf(reference);
  if (because !== null)
    progress.paused.push({ ...reference, because, failingSince: failingSince ?? moment, until });
  if (because !== "credential-rejected" && reference.environment === "production")
    progress.oldest = Math.max(progress.oldest, moment - oldest.dueAt);
  for (const one of due)
    if (one.acknowledgement !== null && (await isDelivered(run, one))) countPending(progress, one, moment);
};

const workOn = (
  run: AskRun,
  application: Application,
  reference: StoreInEnvironment,
  progress: Progress,
): Work<DueAsk, PauseReason, Asked> => {
  const isSandbox = reference.store === "ios-store" && reference.environment !== "production";
  return {
    queue: run.queues.of(reference),
    keyOf: ({ purchase }) => referenceText(purchase),
    dueAtOf: ({ dueAt }) => dueAt,
    atOnce: isSandbox ? ASKED_PER_SECOND_IN_SANDBOX : ASKED_PER_SECOND,
    pace: SECOND,
    act: eachAlone((due: DueAsk) => askOne(run, application, due, progress), run.onFailure),
    postpone: (due, asked) => postpone(run, due, asked, progress),
    staysFor: MOVES_ON_AFTER,
    pausesOf,
  };
};

const ENVIRONMENTS = ["production", "sandbox"] as const satisfies readonly Environment[];

/** The queues of an application: one for each bundle or package, in each environment that a store can be asked about. */
export const askQueuesOf = (
  { identifier: application, iosStore, androidStore }: Application,
  store: Store,
): readonly StoreInEnvironment[] => {
  const names =
    store === "ios-store"
      ? iosStore.map(({ bundleIdentifier }) => bundleIdentifier)
      : androidStore.map(({ packageName }) => packageName);
  return names.flatMap((bundleOrPackage) =>
    ENVIRONMENTS.map((environment) => ({ application, store, environment, bundleOrPackage })),
  );
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
  const found = await findApplications(run.directory, await run.applications(), run.onFailure);
  const queues = new Map(
    found.flatMap((application) =>
      askQueuesOf(application, run.store).map((reference) => {
        const work = workOn(run, application, reference, progress);
        return [JSON.stringify(reference), { reference, work }] as const;
      }),
    ),
  );
  const works = new Map([...queues].map(([name, { work }]) => [name, work]));
  const left = await workOffAll(works, run, { atOnce: QUEUES_AT_ONCE, until });
  const waiting = [...queues].filter(([name]) => left.get(name)?.state === "waiting");
  await Promise.all(
    waiting.map(async ([, { reference }]) => reportWaiting(run, reference, progress).catch(run.onFailure)),
  );
  return progress;
};
