import type { Application, ApplicationDirectory } from "../applications/application.ts";
import type { Environment, Store } from "../contract/schemas.ts";
import { SECOND } from "../duration.ts";
import { referenceText } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import {
  afterFailure,
  HEALTHY,
  type Lease,
  type PauseReason,
  type QueueHealth,
} from "../freshness/queue-health.ts";
import { isLongOver, nextRefresh } from "../freshness/refresh-times.ts";
import { REFRESHED_ENVIRONMENTS, type DueRefresh } from "../freshness/refresh.ts";
import type { ApplicationId } from "../identifiers.ts";
import { inTurns } from "../in-turns.ts";
import type { CustomerTable } from "./customer-table.ts";
import type { RefreshOutcome } from "./refresh-outcome.ts";
import type { QueueReference, RefreshQueue } from "./refresh-queue.ts";

export interface RefreshRun {
  readonly store: Store;
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  readonly queue: RefreshQueue;
  readonly table: Pick<CustomerTable, "findFacts">;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  /** Asks the store about a purchase, and stores its answer. Rejects if this service fails. */
  readonly ask: (application: Application, due: DueRefresh) => Promise<RefreshOutcome>;
  readonly newWorker: () => string;
  readonly now: () => Instant;
  /** Waits this many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Takes an unexpected failure of one refresh, or of one application's queue. */
  readonly onFailure: (error: unknown) => void;
}

/** A queue that is paused. */
export interface PausedQueue {
  readonly application: ApplicationId;
  readonly environment: Environment;
  readonly because: PauseReason;
  readonly failingSince: Instant;
  readonly until: Instant;
}

/** Outcome of a run. */
export interface RefreshReport {
  /** Purchases whose store answered. */
  readonly refreshed: number;
  /** Refreshes that failed and are tried again later. */
  readonly failed: number;
  /**
   * Age of the oldest refresh of production that was due at the end of the run, in milliseconds; 0: none was. Queues that
   * a rejected credential pauses are left out.
   */
  readonly oldest: number;
  readonly paused: readonly PausedQueue[];
}

/** Refreshes of one application per second: Google allows 50, and so does Apple for each of its endpoints. */
export const REFRESHES_PER_SECOND = 30;

/** Apple allows a tenth in its sandbox. Google counts test purchases with all others. */
export const SANDBOX_REFRESHES_PER_SECOND = 3;

const QUEUES_AT_ONCE = 10;

/** Time for which a worker has a queue: longer than a turn and its last batch. A worker that dies gives way after it. */
export const LEASE_MILLISECONDS = 60 * SECOND;

/** Time after which another application's queue has its turn. */
const TURN_MILLISECONDS = 10 * SECOND;

/** Pause of a refresh whose purchase cannot be read, so that it does not keep the others out of their batches. */
const UNREADABLE_STEP = 60 * 60 * SECOND;

/** Longest pause of a refresh that was not answered among others that were. */
const UNANSWERED_STEP = 5 * 60 * SECOND;

/** Age from which a refresh whose store stays unavailable moves on, so that it does not try the queue for ever. */
const MOVES_ON_AFTER = 60 * 60 * SECOND;

/** The bundle or package of a refresh, each of which has a credential of its own. */
const bundleOrPackageOf = ({ source }: DueRefresh): string =>
  source.store === "ios-store" ? source.bundleIdentifier : source.packageName;

/**
 * The refreshes of the next second: all that were read, or after a failure one of each bundle or package, which shows
 * whether the store is back.
 */
const batchOf = (due: readonly DueRefresh[], { failures }: QueueHealth): readonly DueRefresh[] =>
  failures === 0
    ? due
    : [...Map.groupBy(due, bundleOrPackageOf).values()].flatMap((some) => {
        // Not the same one each time: it may be the only one that fails.
        const place = failures % some.length;
        return some.slice(place, place + 1);
      });

const textOf = ({ purchase, dueAt }: DueRefresh): string => `${dueAt} ${referenceText(purchase)}`;

/** Next time of a refresh that brought nothing; null: there is none. */
const nextOf = async (
  { table, now }: RefreshRun,
  due: DueRefresh,
  outcome: RefreshOutcome["outcome"],
): Promise<Instant | null> => {
  if (outcome === "over") return null;
  const moment = now();
  const known = await table.findFacts(due.application, [], [due.purchase], moment);
  const stored = known.purchases.get(referenceText(due.purchase));
  if (stored === undefined || (outcome === "unknown" && isLongOver(stored.purchase, moment))) return null;
  const next = nextRefresh(stored.purchase, moment)?.at ?? null;
  // A question that got no answer among others that did is asked again while the renewal leeway may still run.
  return outcome === "unavailable" && next !== null ? Math.min(next, moment + UNANSWERED_STEP) : next;
};

/** Moves a refresh that brought nothing to its next step; out of the queue where there is none. */
const moveOn = async (
  run: RefreshRun,
  due: DueRefresh,
  outcome: RefreshOutcome["outcome"],
): Promise<void> => {
  const next = await nextOf(run, due, outcome).catch((error: unknown) => {
    run.onFailure(error);
    return run.now() + UNREADABLE_STEP;
  });
  await run.queue.move(due, next);
};

interface Progress {
  refreshed: number;
  failed: number;
}

/** Tries one refresh. A purchase that was asked about already in this turn, and is still due, moves on. */
const tryOne = async (
  run: RefreshRun,
  application: Application,
  due: DueRefresh,
  tried: ReadonlySet<string>,
): Promise<RefreshOutcome> => {
  if (tried.has(textOf(due))) return { outcome: "failed" };
  try {
    return await run.ask(application, due);
  } catch (error) {
    run.onFailure(error);
    return { outcome: "failed" };
  }
};

/** Whether the store answered, be it that it knows nothing of the purchase. */
const isAnswer = ({ outcome }: RefreshOutcome): boolean =>
  outcome === "stored" || outcome === "over" || outcome === "unknown";

/** Why the whole queue waits after a batch; null: it goes on. One answer shows that the store is there. */
const pauseAfter = (
  outcomes: readonly RefreshOutcome[],
): { readonly because: PauseReason; readonly retryAt: Instant | null } | null => {
  const failures = outcomes.filter((one) => one.outcome === "unavailable");
  const named = failures.flatMap(({ retryAt }) => retryAt ?? []);
  if (named.length > 0) return { because: "unavailable", retryAt: Math.max(...named) };
  if (outcomes.some(isAnswer)) return null;
  // An application may have several credentials: one that is rejected does not pause what another can ask about.
  if (outcomes.some(({ outcome }) => outcome === "credential-rejected"))
    return { because: "credential-rejected", retryAt: null };
  return failures.length > 0 ? { because: "unavailable", retryAt: null } : null;
};

/** Moves what a batch has not stored, as far as it may be tried again. */
const settle = async (
  run: RefreshRun,
  batch: readonly DueRefresh[],
  outcomes: readonly RefreshOutcome[],
  isPaused: boolean,
): Promise<void> => {
  const moves = batch.map(async (due, index) => {
    const outcome = outcomes[index]?.outcome ?? "failed";
    if (outcome === "stored") return;
    const waits = isPaused && (outcome === "unavailable" || outcome === "credential-rejected");
    if (waits && run.now() - due.dueAt < MOVES_ON_AFTER) return;
    await moveOn(run, due, isPaused && outcome === "unavailable" ? "failed" : outcome).catch(run.onFailure);
  });
  await Promise.all(moves);
};

/**
 * Works off one application's queue for a turn, or until it is empty or paused.
 *
 * @returns `more`: its next turn goes on; `left`: something is due and has to wait
 */
const workOff = async (
  run: RefreshRun,
  reference: QueueReference,
  until: Instant,
  progress: Progress,
): Promise<"empty" | "more" | "left"> => {
  const { queue, now, directory } = run;
  const [first] = await queue.due(reference, now(), 1);
  if (first === undefined) return "empty";
  const application = await directory.byIdentifier(reference.application);
  if (application === null) return "left";
  const worker = run.newWorker();
  const lease: Lease = { worker, until: now() + LEASE_MILLISECONDS };
  let health = await queue.take(reference, lease, now());
  if (health === null) return "left";

  const turnEnds = Math.min(until, now() + TURN_MILLISECONDS);
  const tried = new Set<string>();
  const isLive = reference.environment === "production";
  const read = async (): Promise<readonly DueRefresh[]> =>
    queue.due(reference, now(), isLive ? REFRESHES_PER_SECOND : SANDBOX_REFRESHES_PER_SECOND);
  try {
    // Read under the lease: another worker may have refreshed them since.
    let due = await read();
    while (due.length > 0 && now() < turnEnds) {
      const began = now();
      const batch = batchOf(due, health);
      const outcomes: readonly RefreshOutcome[] = await Promise.all(
        batch.map((one) => tryOne(run, application, one, tried)),
      );
      for (const one of batch) tried.add(textOf(one));
      const answered = outcomes.filter(isAnswer).length;
      progress.refreshed += answered;
      progress.failed += outcomes.length - answered;
      const pause = pauseAfter(outcomes);
      await settle(run, batch, outcomes, pause !== null);
      if (pause !== null) {
        health = afterFailure(health, pause.because, now(), pause.retryAt);
        return "left";
      }
      health = answered > 0 ? HEALTHY : health;
      due = await read();
      if (due.length === 0) break;
      await run.wait(Math.max(0, began + SECOND - now()));
    }
    return due.length === 0 ? "empty" : "more";
  } finally {
    await queue.release(reference, lease, health);
  }
};

/** Age of the oldest refresh that is left in a queue, and the queue's pause. */
const leftIn = async (
  { queue, now }: RefreshRun,
  reference: QueueReference,
): Promise<{ readonly age: number; readonly paused: PausedQueue | null }> => {
  const moment = now();
  const [oldest] = await queue.due(reference, moment, 1);
  if (oldest === undefined) return { age: 0, paused: null };
  const { because, failingSince, pausedUntil } = await queue.healthOf(reference);
  const { application, environment } = reference;
  return {
    age: because === "credential-rejected" || environment !== "production" ? 0 : moment - oldest.dueAt,
    paused:
      because === null
        ? null
        : { application, environment, because, failingSince: failingSince ?? moment, until: pausedUntil },
  };
};

/**
 * Works off the due refreshes of all applications, each queue oldest first, several queues in parallel, and each at most
 * {@link REFRESHES_PER_SECOND}. One application's failing store or rejected credential pauses its own queue alone.
 *
 * @param until no batch starts from this moment on
 */
export const refreshDuePurchases = async (run: RefreshRun, until: Instant): Promise<RefreshReport> => {
  const progress: Progress = { refreshed: 0, failed: 0 };
  const applications = await run.applications();
  const queues = REFRESHED_ENVIRONMENTS.flatMap((environment) =>
    applications.map((application): QueueReference => ({ application, store: run.store, environment })),
  );
  const left: Awaited<ReturnType<typeof leftIn>>[] = [];
  await inTurns(queues, QUEUES_AT_ONCE, async (reference) => {
    try {
      const outcome = run.now() < until ? await workOff(run, reference, until, progress) : "left";
      if (outcome === "more") return "more";
      if (outcome === "left") left.push(await leftIn(run, reference));
    } catch (error) {
      run.onFailure(error);
      // Its due refreshes still wait, and count.
      await leftIn(run, reference).then((found) => left.push(found), run.onFailure);
    }
    return "done";
  });
  return {
    ...progress,
    oldest: Math.max(0, ...left.map(({ age }) => age)),
    paused: left.flatMap(({ paused }) => paused ?? []),
  };
};
