import type { Application, ApplicationDirectory } from "../applications/application.ts";
import type { Environment, Store } from "../contract/schemas.ts";
import { MINUTE, SECOND } from "../duration.ts";
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
   * Age in milliseconds of the oldest production refresh still due at the end of the run; 0: none. Queues that a
   * rejected credential pauses are left out.
   */
  readonly oldest: number;
  readonly paused: readonly PausedQueue[];
}

/** Refreshes of one application per second: Google allows 50, and so does Apple for each of its endpoints. */
export const REFRESHES_PER_SECOND = 30;

/** Apple allows a tenth in its sandbox. Google counts test purchases with all others. */
export const SANDBOX_REFRESHES_PER_SECOND = 3;

const QUEUES_AT_ONCE = 10;

/** Length of a worker's lease of a queue: longer than a turn and its last batch. A dead worker's lease expires. */
export const LEASE_MILLISECONDS = 60 * SECOND;

/** Time after which another application's queue has its turn. */
const TURN_MILLISECONDS = 10 * SECOND;

/** Delay of a refresh whose purchase cannot be read, so that it does not keep others out of their batches. */
const UNREADABLE_STEP = 60 * 60 * SECOND;

/** Longest delay of an unanswered refresh if others in its batch were answered. */
const UNANSWERED_STEP = 5 * 60 * SECOND;

/**
 * Delay of a refresh whose bundle's or package's credential is rejected, while others of the application have credentials of
 * their own: it leaves the head of the queue to them.
 */
const REJECTED_STEP = 15 * MINUTE;

/**
 * Age from which a refresh is rescheduled even if its store stays unavailable, so that it does not hold up its queue.
 */
const MOVES_ON_AFTER = 60 * 60 * SECOND;

/** The bundle or package of a refresh, each of which has a credential of its own. */
const bundleOrPackageOf = ({ source }: DueRefresh): string =>
  source.store === "ios-store" ? source.bundleIdentifier : source.packageName;

/**
 * The refreshes to try in the next second: all that were read or, after a failure, one of each bundle or package, to
 * probe whether the store is back.
 */
const batchOf = (due: readonly DueRefresh[], { failures }: QueueHealth): readonly DueRefresh[] =>
  failures === 0
    ? due
    : [...Map.groupBy(due, bundleOrPackageOf).values()].flatMap((some) => {
        // A different one each time: one purchase alone may cause the failures.
        const place = failures % some.length;
        return some.slice(place, place + 1);
      });

const textOf = ({ purchase, dueAt }: DueRefresh): string => `${dueAt} ${referenceText(purchase)}`;

/** Next time of a refresh that stored nothing; null: there is none. */
const nextOf = async (
  { table, now }: RefreshRun,
  due: DueRefresh,
  outcome: RefreshOutcome["outcome"],
): Promise<Instant | null> => {
  if (outcome === "over") return null;
  const moment = now();
  const known = await table.findFacts(due.application, [], [due.purchase], moment);
  const stored = known.purchases.get(referenceText(due.purchase));
  const cannotBeAnswered = outcome === "unknown" || outcome === "unconfigured";
  if (stored === undefined || (cannotBeAnswered && isLongOver(stored.purchase, moment))) return null;
  const next = nextRefresh(stored.purchase, moment)?.at ?? null;
  // A question that got no answer among others that did is asked again while the renewal leeway may still run.
  return outcome === "unavailable" && next !== null ? Math.min(next, moment + UNANSWERED_STEP) : next;
};

/** Moves a refresh that stored nothing to its next time, or out of the queue. */
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
  /** Queues that go on although the credential of one of their bundles or packages is rejected. */
  readonly rejected: Map<string, PausedQueue>;
}

/** Tries one refresh. One already tried in this turn that is still due counts as failed, and so moves on. */
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

const REJECTED: RefreshOutcome = { outcome: "credential-rejected" };

/** Whether the store answered, even if only that it does not know the purchase. */
const isAnswer = ({ outcome }: RefreshOutcome): boolean =>
  outcome === "stored" || outcome === "over" || outcome === "unknown";

/** Bundles or packages of an application that the store can be asked about. */
const askableIn = (application: Application, store: Store): readonly string[] =>
  store === "ios-store"
    ? application.iosStore.flatMap(({ bundleIdentifier, serverApi }) =>
        serverApi === null ? [] : [bundleIdentifier],
      )
    : application.androidStore.map(({ packageName }) => packageName);

/**
 * Why the queue pauses after a batch; null: it continues. One answer shows that the store is up, unless it named a
 * retry time. A rejected credential pauses it only where no bundle or package is left with another.
 */
const pauseAfter = (
  outcomes: readonly RefreshOutcome[],
  { areOthersLeft }: { readonly areOthersLeft: boolean },
): { readonly because: PauseReason; readonly retryAt: Instant | null } | null => {
  const failures = outcomes.filter((one) => one.outcome === "unavailable");
  const named = failures.flatMap(({ retryAt }) => retryAt ?? []);
  if (named.length > 0) return { because: "unavailable", retryAt: Math.max(...named) };
  if (outcomes.some(isAnswer)) return null;
  if (!areOthersLeft && outcomes.some(({ outcome }) => outcome === "credential-rejected"))
    return { because: "credential-rejected", retryAt: null };
  return failures.length > 0 ? { because: "unavailable", retryAt: null } : null;
};

/** Reschedules what a batch has not stored. In a paused queue, unanswered ones stay at first. */
const settle = async (
  run: RefreshRun,
  batch: readonly DueRefresh[],
  outcomes: readonly RefreshOutcome[],
  { isPaused, areOthersLeft }: { readonly isPaused: boolean; readonly areOthersLeft: boolean },
): Promise<void> => {
  const moves = batch.map(async (due, index) => {
    const outcome = outcomes[index]?.outcome ?? "failed";
    if (outcome === "stored") return;
    const waits = isPaused && (outcome === "unavailable" || outcome === "credential-rejected");
    if (waits && run.now() - due.dueAt < MOVES_ON_AFTER) return;
    if (!isPaused && areOthersLeft && outcome === "credential-rejected") {
      await run.queue.move(due, run.now() + REJECTED_STEP).catch(run.onFailure);
      return;
    }
    await moveOn(run, due, isPaused && outcome === "unavailable" ? "failed" : outcome).catch(run.onFailure);
  });
  await Promise.all(moves);
};

/**
 * Processes one application's queue for a turn, or until it is empty or paused.
 *
 * @returns `more`: the queue needs another turn; `left`: refreshes are due, but have to wait
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
  const rejected = new Set<string>();
  const askable = askableIn(application, reference.store);
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
        batch.map((one) =>
          rejected.has(bundleOrPackageOf(one)) ? REJECTED : tryOne(run, application, one, tried),
        ),
      );
      batch.forEach((one, index) => {
        if (outcomes[index]?.outcome === "credential-rejected") rejected.add(bundleOrPackageOf(one));
      });
      for (const one of batch) tried.add(textOf(one));
      const answered = outcomes.filter(isAnswer).length;
      progress.refreshed += answered;
      progress.failed += outcomes.length - answered;
      const areOthersLeft = askable.some((name) => !rejected.has(name));
      const pause = pauseAfter(outcomes, { areOthersLeft });
      await settle(run, batch, outcomes, { isPaused: pause !== null, areOthersLeft });
      if (pause !== null) {
        health = afterFailure(health, pause.because, now(), pause.retryAt);
        return "left";
      }
      if (rejected.size > 0 && areOthersLeft)
        progress.rejected.set(`${reference.application} ${reference.environment}`, {
          application: reference.application,
          environment: reference.environment,
          because: "credential-rejected",
          failingSince: now(),
          until: now() + REJECTED_STEP,
        });
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

/** Age of the oldest due refresh in a queue, and the queue's pause. */
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
 * Processes the due refreshes of all applications: several queues in parallel, each oldest first and at most
 * {@link REFRESHES_PER_SECOND} per second. A failing store or a rejected credential pauses only that application's
 * queue.
 *
 * @param until no batch starts from this moment on
 */
export const refreshDuePurchases = async (run: RefreshRun, until: Instant): Promise<RefreshReport> => {
  const progress: Progress = { refreshed: 0, failed: 0, rejected: new Map() };
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
  const { refreshed, failed, rejected } = progress;
  return {
    refreshed,
    failed,
    oldest: Math.max(0, ...left.map(({ age }) => age)),
    paused: [...left.flatMap(({ paused }) => paused ?? []), ...rejected.values()],
  };
};
