import type { Environment } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import type { PauseReason, QueueHealth } from "../freshness/queue-health.ts";
import { REFRESHED_ENVIRONMENTS } from "../freshness/refresh.ts";
import type { ApplicationId } from "../identifiers.ts";
import { inTurns } from "../in-turns.ts";
import type { QueueReference } from "./refresh-queue.ts";
import { bundleOrPackageOf, workOff, type RefreshProgress, type RefreshRun } from "./refresh-queue-turn.ts";

/** A queue that is paused, or a bundle or package of it whose refreshes are put off. */
export interface PausedQueue {
  readonly application: ApplicationId;
  readonly environment: Environment;
  /** Null: the whole queue. */
  readonly bundleOrPackage: string | null;
  readonly because: PauseReason;
  /** First failure in a row. */
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

const QUEUES_AT_ONCE = 10;

/** A queue whose due refreshes wait: the age of the oldest one on which a payer may wait, and its pause. */
interface Waiting {
  readonly age: number;
  readonly paused: PausedQueue | null;
}

type Pause = Omit<PausedQueue, "application" | "environment">;

/** The pause that a health gives; null: none. */
const pauseOf = (
  { because, failingSince, pausedUntil: until }: QueueHealth,
  bundleOrPackage: string | null,
  since: Instant,
): Pause | null =>
  because === null ? null : { bundleOrPackage, because, failingSince: failingSince ?? since, until };

const waitingOf = (
  { application, environment }: QueueReference,
  moment: Instant,
  dueSince: Instant,
  pause: Pause | null,
): Waiting => ({
  age: pause?.because === "credential-rejected" || environment !== "production" ? 0 : moment - dueSince,
  paused: pause === null ? null : { application, environment, ...pause },
});

/** Age of a queue's oldest due refresh, and the pause that it waits for; null: nothing is due. */
const leftIn = async ({ queue, now }: RefreshRun, reference: QueueReference): Promise<Waiting | null> => {
  const moment = now();
  const [oldest] = await queue.due(reference, moment, 1);
  if (oldest === undefined) return null;
  const { byName, ...whole } = await queue.healthOf(reference);
  const name = bundleOrPackageOf(oldest);
  const own = byName.get(name);
  const pause = own === undefined ? pauseOf(whole, null, moment) : pauseOf(own, name, moment);
  return waitingOf(reference, moment, oldest.dueSince ?? oldest.dueAt, pause);
};

/**
 * Processes the due refreshes of all applications: several queues in parallel, each oldest first and at most
 * `REFRESHES_PER_SECOND`. A failing store or a rejected credential concerns only that application's
 * queue.
 *
 * @param until no batch starts from this moment on
 */
export const refreshDuePurchases = async (run: RefreshRun, until: Instant): Promise<RefreshReport> => {
  const progress: RefreshProgress = { refreshed: 0, failed: 0, putOff: new Map() };
  const applications = await run.applications();
  const queues = REFRESHED_ENVIRONMENTS.flatMap((environment) =>
    applications.map((application): QueueReference => ({ application, store: run.store, environment })),
  );
  const left: (Waiting | null)[] = [];
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
  const { refreshed, failed } = progress;
  const putOff = [...progress.putOff.values()].map(({ reference, bundleOrPackage, health, dueSince }) =>
    waitingOf(reference, run.now(), dueSince, pauseOf(health, bundleOrPackage, dueSince)),
  );
  const waiting = [...left.flatMap((one) => one ?? []), ...putOff];
  return {
    refreshed,
    failed,
    oldest: Math.max(0, ...waiting.map(({ age }) => age)),
    paused: waiting.flatMap(({ paused }) => paused ?? []),
  };
};
