import type { Application, ApplicationDirectory } from "../applications/application.ts";
import type { Environment, Store } from "../contract/schemas.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";
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

/** Due refreshes of a queue among which another bundle or package is looked for, once one cannot be asked about. */
const LOOKED_AHEAD = 1_000;

const QUEUES_AT_ONCE = 10;

/** Length of a worker's lease of a queue: longer than a turn and its last batch. A dead worker's lease expires. */
export const LEASE_MILLISECONDS = 60 * SECOND;

/** Time after which another application's queue has its turn. */
const TURN_MILLISECONDS = 10 * SECOND;

/** Delay of a refresh whose purchase cannot be read, so that it does not keep others out of their batches. */
const UNREADABLE_STEP = 60 * 60 * SECOND;

/**
 * Delay of an unanswered refresh while the store answers about others: at most the first while the renewal leeway may still
 * run, the second from a day after the purchase's end on.
 */
const UNANSWERED_STEP = 5 * MINUTE;
const UNANSWERED_LATER_STEP = HOUR;

/**
 * Delay of the refreshes of a bundle or package that cannot be asked about now, while others of the application can: they
 * leave the head of the queue to them. Each has a credential of its own, and its quota.
 */
const HELD_BACK_STEP: Readonly<Record<PauseReason, number>> = {
  "credential-rejected": 15 * MINUTE,
  unavailable: UNANSWERED_STEP,
};

/**
 * Age from which a refresh is rescheduled even if its store stays unavailable, so that it does not hold up its queue.
 */
const MOVES_ON_AFTER = 60 * 60 * SECOND;

/** The bundle or package of a refresh, each of which has a credential of its own. */
const bundleOrPackageOf = ({ source }: DueRefresh): string =>
  source.store === "ios-store" ? source.bundleIdentifier : source.packageName;

/**
 * The refreshes to try in the next second: all that were read or, after a failure, two of each bundle or package, to
 * probe whether the store is back: a different one each time, and the newest. A few purchases alone may cause the failures;
 * they stay at the head of the queue, in front of purchases whose period has just ended.
 */
const batchOf = (due: readonly DueRefresh[], { failures }: QueueHealth): readonly DueRefresh[] =>
  failures === 0
    ? due
    : [...Map.groupBy(due, bundleOrPackageOf).values()].flatMap((some) => {
        const place = failures % some.length;
        const newest = some.length - 1;
        return place === newest
          ? some.slice(place)
          : [...some.slice(place, place + 1), ...some.slice(newest)];
      });

/** Whether the store refused one purchase, and may do so for good: it is up. */
const isRefused = (one: RefreshOutcome): boolean =>
  one.outcome === "unavailable" && one.isOfThisPurchase === true;

const textOf = ({ purchase, dueAt }: DueRefresh): string => `${dueAt} ${referenceText(purchase)}`;

/** Next time of a refresh that stored nothing; null: there is none. */
const nextOf = async (
  { table, now }: RefreshRun,
  due: DueRefresh,
  asked: RefreshOutcome,
  isPaused: boolean,
): Promise<Instant | null> => {
  const { outcome } = asked;
  if (outcome === "over") return null;
  const moment = now();
  const known = await table.findFacts(due.application, [], [due.purchase], moment);
  const stored = known.purchases.get(referenceText(due.purchase));
  const cannotBeAnswered = outcome === "unknown" || outcome === "unconfigured" || isRefused(asked);
  if (stored === undefined || (cannotBeAnswered && isLongOver(stored.purchase, moment))) return null;
  const next = nextRefresh(stored.purchase, moment)?.at ?? null;
  // A further time that a notification asked for is kept.
  const further = due.source.store === "android-store" ? (due.source.askAgainAt ?? 0) : 0;
  if (further > moment) return Math.min(next ?? Infinity, further);
  if (outcome !== "unavailable" || next === null || isLongOver(stored.purchase, moment)) return next;
  const hasJustEnded = stored.purchase.lines.some(
    ({ endsAt }) => endsAt !== null && endsAt <= moment && moment < endsAt + DAY,
  );
  // In a paused queue it has waited for an hour, and would be among those that are probed again.
  if (hasJustEnded && !isPaused) return Math.min(next, moment + UNANSWERED_STEP);
  return isRefused(asked) ? next : Math.min(next, moment + UNANSWERED_LATER_STEP);
};

/** Moves a refresh that stored nothing to its next time, or out of the queue. */
const moveOn = async (
  run: RefreshRun,
  due: DueRefresh,
  outcome: RefreshOutcome,
  isPaused: boolean,
): Promise<void> => {
  const next = await nextOf(run, due, outcome, isPaused).catch((error: unknown) => {
    run.onFailure(error);
    return run.now() + UNREADABLE_STEP;
  });
  await run.queue.move(due, next);
};

interface Progress {
  refreshed: number;
  failed: number;
  /** Bundles and packages that cannot be asked about in this run, by queue. */
  readonly hindrances: Map<string, Map<string, Hindrance>>;
  /** Queues that go on although one of their bundles or packages cannot be asked about. */
  readonly heldBack: Map<string, PausedQueue>;
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

/** Whether the store answered, even if only that it does not know the purchase. */
const isAnswer = ({ outcome }: RefreshOutcome): boolean =>
  outcome === "stored" || outcome === "over" || outcome === "unknown";

/** Why something cannot be asked about now, and the time that the store named; null: none. */
interface Hindrance {
  readonly because: PauseReason;
  readonly retryAt: Instant | null;
}

/**
 * Why there is no point in asking on after these outcomes; null: there is. One answer shows that the store is up, unless it
 * named a retry time.
 */
const hindranceIn = (outcomes: readonly RefreshOutcome[]): Hindrance | null => {
  const failures = outcomes.filter((one) => one.outcome === "unavailable");
  const named = failures.flatMap(({ retryAt }) => retryAt ?? []);
  if (named.length > 0) return { because: "unavailable", retryAt: Math.max(...named) };
  if (outcomes.some(isAnswer) || outcomes.some(isRefused)) return null;
  if (outcomes.some(({ outcome }) => outcome === "credential-rejected"))
    return { because: "credential-rejected", retryAt: null };
  return failures.length > 0 ? { because: "unavailable", retryAt: null } : null;
};

const UNANSWERED: RefreshOutcome = { outcome: "unavailable", retryAt: null };

/** Time until which the refreshes of a bundle or package are put off: the one that the store names, otherwise a step. */
const heldBackUntil = ({ because, retryAt }: Hindrance, moment: Instant): Instant =>
  retryAt === null
    ? moment + HELD_BACK_STEP[because]
    : afterFailure(HEALTHY, because, moment, retryAt).pausedUntil;

/** A refresh of a batch, and its outcome; null: it was not tried, because its bundle or package is held back. */
interface Tried {
  readonly due: DueRefresh;
  readonly outcome: RefreshOutcome | null;
}

/**
 * Reschedules what a batch has not stored. In a paused queue, unanswered ones stay at first. In one that goes on, those of a
 * bundle or package that is held back are asked about later.
 */
const settle = async (
  run: RefreshRun,
  batch: readonly Tried[],
  isPaused: boolean,
  heldBack: ReadonlyMap<string, Hindrance>,
): Promise<void> => {
  const moves = batch.map(async ({ due, outcome }) => {
    if (outcome?.outcome === "stored") return;
    const isUnanswered =
      outcome === null || outcome.outcome === "credential-rejected" || outcome.outcome === "unavailable";
    if (isUnanswered && isPaused && run.now() - due.dueAt < MOVES_ON_AFTER) return;
    const hindrance = heldBack.get(bundleOrPackageOf(due));
    if (isUnanswered && !isPaused && hindrance !== undefined) {
      await run.queue.move(due, heldBackUntil(hindrance, run.now()));
      return;
    }
    await moveOn(run, due, outcome ?? UNANSWERED, isPaused);
  });
  await Promise.all(moves.map((move) => move.catch(run.onFailure)));
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
  const triedBefore = new Set<string>();
  const queueText = `${reference.application} ${reference.environment}`;
  const heldBack = progress.hindrances.get(queueText) ?? new Map<string, Hindrance>();
  progress.hindrances.set(queueText, heldBack);
  const answeredNames = new Set<string>();
  const isLeft = (name: string): boolean => !heldBack.has(name);
  const areOthersDue = async (): Promise<boolean> =>
    (await queue.due(reference, now(), LOOKED_AHEAD)).some((one) => isLeft(bundleOrPackageOf(one)));
  const isLive = reference.environment === "production";
  const read = async (): Promise<readonly DueRefresh[]> =>
    queue.due(reference, now(), isLive ? REFRESHES_PER_SECOND : SANDBOX_REFRESHES_PER_SECOND);
  try {
    // Read under the lease: another worker may have refreshed them since.
    let due = await read();
    while (due.length > 0 && now() < turnEnds) {
      const began = now();
      // Where one is held back, the others are known to go on.
      const batch = batchOf(due, heldBack.size > 0 ? HEALTHY : health);
      const tried: readonly Tried[] = await Promise.all(
        batch.map(async (one) => ({
          due: one,
          outcome: heldBack.has(bundleOrPackageOf(one))
            ? null
            : await tryOne(run, application, one, triedBefore),
        })),
      );
      for (const one of batch) triedBefore.add(textOf(one));
      const outcomes = tried.flatMap(({ outcome }) => outcome ?? []);
      const answered = outcomes.filter(isAnswer).length;
      progress.refreshed += answered;
      progress.failed += batch.length - answered;
      for (const [name, some] of Map.groupBy(tried, ({ due: one }) => bundleOrPackageOf(one))) {
        const hindrance = hindranceIn(some.flatMap(({ outcome }) => outcome ?? []));
        if (hindrance !== null) heldBack.set(name, hindrance);
        if (some.some(({ outcome }) => outcome !== null && isAnswer(outcome))) answeredNames.add(name);
      }
      const hindrance = hindranceIn(outcomes);
      const pause =
        hindrance === null || [...answeredNames].some(isLeft) || (await areOthersDue()) ? null : hindrance;
      await settle(run, tried, pause !== null, heldBack);
      if (pause !== null) {
        health = afterFailure(health, pause.because, now(), pause.retryAt);
        return "left";
      }
      for (const { because } of heldBack.values())
        progress.heldBack.set(`${queueText} ${because}`, {
          application: reference.application,
          environment: reference.environment,
          because,
          failingSince: now(),
          until: now() + HELD_BACK_STEP[because],
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
  const progress: Progress = { refreshed: 0, failed: 0, hindrances: new Map(), heldBack: new Map() };
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
  const { refreshed, failed, heldBack } = progress;
  return {
    refreshed,
    failed,
    oldest: Math.max(0, ...left.map(({ age }) => age)),
    paused: [...left.flatMap(({ paused }) => paused ?? []), ...heldBack.values()],
  };
};
