import type { Application, ApplicationDirectory } from "../applications/application.ts";
import type { Environment, Store } from "../contract/schemas.ts";
import { DAY, HOUR, MINUTE } from "../duration.ts";
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
import type { PauseReason } from "../queues/health.ts";
import { fromOthersEachMinute, inTurns } from "../queues/turns.ts";
import { workOff, type Outcome, type Run, type WorkedOff } from "../queues/work-off.ts";
import { givenUpAt } from "../stores/android-store/acknowledgement-deadline.ts";
import { nextAcknowledgement, type DueAsk } from "./ask.ts";
import type { AskOutcome } from "./ask-outcome.ts";
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

/** `unclaimed`: only an acknowledgement was due, and the purchase belongs to no account: nothing was delivered. */
type Asked = Outcome & { readonly said: AskOutcome | { readonly outcome: "unclaimed" } };

const resultOf = (said: AskOutcome): Asked => {
  switch (said.outcome) {
    case "stored":
    case "over":
      return { outcome: "done", said };
    case "unknown":
      return { outcome: "failed", isUp: true, said };
    case "unconfigured":
    case "failed":
    case "unstored":
      return { outcome: "failed", isUp: null, said };
    case "credential-rejected":
      return { outcome: "credential-rejected", retryAt: null, said };
    case "unavailable":
      // A refusal of one purchase, perhaps for good: the store is up.
      return said.isOfThisPurchase === true
        ? { outcome: "failed", isUp: true, said }
        : { outcome: "unavailable", retryAt: said.retryAt, said };
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
    return { outcome: "failed", isUp: null, said: { outcome: "unclaimed" } };
  const said = await run.ask(application, due).catch((error: unknown): AskOutcome => {
    run.onFailure(error);
    return { outcome: "unstored" };
  });
  const { acknowledgements: counts } = progress;
  if (said.outcome === "stored" || said.outcome === "over") progress.asked += 1;
  else progress.failed += 1;
  if (said.outcome === "over") await run.queues.move(due, null);
  if (said.outcome !== "stored") return resultOf(said);
  if (said.isAcknowledged === false) countPending(progress, due, run.now());
  else if (said.isAcknowledged === true) counts.made += 1;
  else if (said.isRefunded === true && due.purchase.environment === "production") counts.failed += 1;
  return resultOf(said);
};

/** What still waits in a queue: its oldest question, its pause, and its acknowledgements. */
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

const workOffQueue = async (
  run: AskRun,
  application: Application,
  reference: StoreInEnvironment,
  until: Instant,
  progress: Progress,
): Promise<WorkedOff> => {
  const isSandbox = reference.store === "ios-store" && reference.environment !== "production";
  const work = {
    queue: run.queues.of(reference),
    dueAtOf: ({ dueAt }: DueAsk) => dueAt,
    perSecond: isSandbox ? ASKED_PER_SECOND_IN_SANDBOX : ASKED_PER_SECOND,
    act: (due: DueAsk) => askOne(run, application, due, progress),
    postpone: (due: DueAsk, asked: Asked | null) => postpone(run, due, asked, progress),
  };
  return workOff(work, run, until);
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
  const found = await Promise.all(
    (await run.applications()).map((identifier) =>
      run.directory.byIdentifier(identifier).catch((error: unknown) => {
        run.onFailure(error);
        return null;
      }),
    ),
  );
  const queues = found.flatMap((application) =>
    application === null
      ? []
      : askQueuesOf(application, run.store).map((reference) => ({ application, reference })),
  );
  const inOrder = fromOthersEachMinute(queues, QUEUES_AT_ONCE, run.now());
  const waiting = new Map(inOrder.map((one) => [JSON.stringify(one.reference), one]));
  const ask = async (one: (typeof queues)[number]): Promise<"done" | "more"> => {
    const { application, reference } = one;
    // What waits is reported, and not looked at again.
    const reportOnce = async (): Promise<void> => {
      if (waiting.delete(JSON.stringify(reference))) await reportWaiting(run, reference, progress);
    };
    try {
      const { state } =
        run.now() < until
          ? await workOffQueue(run, application, reference, until, progress)
          : ({ state: "waiting" } as const);
      if (state === "more") return "more";
      if (state === "waiting") await reportOnce();
    } catch (error) {
      run.onFailure(error);
      // What is due still waits, and counts.
      await reportOnce().catch(run.onFailure);
    }
    return "done";
  };
  const { untilNextLook } = run;
  const again = () => Promise.resolve(run.now() < until ? waiting : new Map<string, never>());
  await inTurns(new Map(waiting), QUEUES_AT_ONCE, ask, untilNextLook && { untilNextLook, again });
  return progress;
};
