import type { Application, ApplicationDirectory } from "../applications/application.ts";
import type { Destination } from "../applications/destination.ts";
import { SECOND } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { fromOthersEachMinute, inTurns } from "../queues/turns.ts";
import type { Delivery, DeliveryQueue, DestinationReference } from "./delivery-queue.ts";
import type { DestinationHealth } from "./destination-health.ts";
import { batchOf, sendBatch, type BatchRun, type DeliveryCounts } from "./send-batch.ts";

export interface DeliveryRun extends BatchRun {
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  readonly queue: DeliveryQueue;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  readonly newWorker: () => string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Waits a second in real time, while a slow destination holds the run up. Unset: the others are not looked at again. */
  readonly untilNextLook?: () => Promise<void>;
  /** Receives an unexpected failure of one destination, which is reported as failing. */
  readonly onFailure: (error: unknown) => void;
}

/** A destination that takes nothing. */
export interface FailingDestination extends DestinationReference {
  readonly because: string;
  readonly failingSince: Instant;
  readonly until: Instant;
}

/** Outcome of a run. */
export interface DeliveryReport {
  readonly delivered: number;
  readonly failed: number;
  /** Age of the oldest waiting message, in milliseconds; 0: none waits. */
  readonly oldest: number;
  readonly failing: readonly FailingDestination[];
}

/** Destinations processed at the same time. */
const DESTINATIONS_AT_ONCE = 100;

/** Length of a worker's lease of a destination: longer than a turn and its last batch. */
const LEASE_MILLISECONDS = 60 * SECOND;

/** Time after which another destination has its turn. */
const TURN_MILLISECONDS = 20 * SECOND;

/** Longest pause that an invocation waits out instead of leaving it to the next one. */
const SHORT_PAUSE_MILLISECONDS = 10 * SECOND;

const PER_PAGE = 100;

/** Enough that one of them is a delivery, if there is any: the destination's health is in the same partition. */
const FEW = 2;

interface Progress extends DeliveryCounts {
  oldest: number;
  readonly failing: FailingDestination[];
}

const isAnythingWaiting = async (
  { queue }: DeliveryRun,
  reference: DestinationReference,
): Promise<boolean> => {
  for await (const page of queue.waiting(reference, FEW)) if (page.length > 0) return true;
  return false;
};

/** Reason for a destination to which this service could not even try to deliver. */
const FAULT = "error";

/**
 * Reports a destination whose deliveries failed because of this service. Its health does not record that, so it counts
 * as failing as long as a message waits.
 */
const reportFault = async (
  { queue, now }: DeliveryRun,
  reference: DestinationReference,
  progress: Progress,
): Promise<void> => {
  for await (const page of queue.waiting(reference, PER_PAGE)) {
    if (page.length === 0) continue;
    const failingSince = Math.min(...page.map(({ since }) => since));
    progress.oldest = Math.max(progress.oldest, now() - failingSince);
    progress.failing.push({ ...reference, because: FAULT, failingSince, until: now() });
    return;
  }
};

/** Delivers to one destination for a turn, until nothing is due, or until it refuses. */
const deliverTo = async (
  run: DeliveryRun,
  { identifier }: Application,
  destination: Destination,
  until: Instant,
  progress: Progress,
): Promise<"done" | "more"> => {
  const { queue, now } = run;
  const reference = { application: identifier, destination: destination.name };
  const report = (health: DestinationHealth, oldest: Instant | null): void => {
    if (oldest !== null) progress.oldest = Math.max(progress.oldest, now() - oldest);
    if (health.failingSince !== null)
      progress.failing.push({
        ...reference,
        because: health.because ?? "",
        failingSince: health.failingSince,
        until: health.pausedUntil,
      });
  };
  if (!(await isAnythingWaiting(run, reference))) return "done";
  const lease = { worker: run.newWorker(), until: now() + LEASE_MILLISECONDS };
  let health = await queue.take(reference, lease, now());
  if (health === null) {
    const paused = await queue.healthOf(reference);
    report(paused, paused.failingSince);
    return "done";
  }
  const turnEnds = Math.min(until, now() + TURN_MILLISECONDS);
  let oldest: Instant | null = null;
  let isLeft = false;
  let isBack = false;
  try {
    for await (const page of queue.waiting(reference, PER_PAGE)) {
      let left = page;
      const due = (): readonly Delivery[] => left.filter(({ nextTryAt }) => isBack || nextTryAt <= now());
      while (due().length > 0 && now() < turnEnds && health.pausedUntil <= now()) {
        const batch = batchOf(due(), health);
        const after: DestinationHealth = await sendBatch(
          run,
          reference,
          destination,
          health,
          batch,
          progress,
        );
        // It is back: messages due later are sent now, too.
        isBack ||= health.failures > 0 && after.failures === 0;
        health = after;
        left = left.filter((one) => !batch.includes(one));
      }
      for (const { since } of left) oldest = Math.min(oldest ?? since, since);
      isLeft = due().length > 0;
      if (isLeft) break;
    }
  } finally {
    await queue.release(reference, lease, health);
  }
  const pause = Math.max(0, health.pausedUntil - now());
  const waits = isLeft || health.failures > 0;
  if (waits && pause > 0 && pause <= SHORT_PAUSE_MILLISECONDS && now() + pause < until) {
    await run.wait(pause);
    return "more";
  }
  if (isLeft && pause === 0 && now() < until) return "more";
  report(health, oldest ?? health.failingSince);
  return "done";
};

interface Target {
  readonly name: string;
  readonly application: Application;
  readonly destination: Destination;
}

/** The destinations of applications, by name. */
const targetsOf = async (
  { directory, onFailure }: DeliveryRun,
  identifiers: readonly ApplicationId[],
): Promise<readonly Target[]> => {
  const found = await Promise.all(
    identifiers.map((identifier) =>
      directory.byIdentifier(identifier).catch((error: unknown) => {
        onFailure(error);
        return null;
      }),
    ),
  );
  return found.flatMap((application) =>
    (application?.destinations ?? []).flatMap((destination) =>
      application === null
        ? []
        : [{ name: `${application.identifier} ${destination.name}`, application, destination }],
    ),
  );
};

/**
 * Delivers the waiting messages of all applications, all destinations at once. While a slow one holds the run up, the
 * others get what is new.
 *
 * @param until nothing starts from this moment on
 * @param only applications to deliver for; unset: all
 */
export const deliverMessages = async (
  run: DeliveryRun,
  until: Instant,
  only?: readonly ApplicationId[],
): Promise<DeliveryReport> => {
  const progress: Progress = { delivered: 0, failed: 0, oldest: 0, failing: [] };
  const targets = await targetsOf(run, only ?? (await run.applications()));
  const failing = new Set<string>();
  const deliver = async ({ name, application, destination }: Target): Promise<"done" | "more"> => {
    if (run.now() >= until || failing.has(name)) return "done";
    const before = progress.failing.length;
    try {
      return await deliverTo(run, application, destination, until, progress);
    } catch (error) {
      run.onFailure(error);
      const reference = { application: application.identifier, destination: destination.name };
      await reportFault(run, reference, progress).catch(run.onFailure);
      return "done";
    } finally {
      // It is reported, and not looked at again.
      if (progress.failing.length > before) failing.add(name);
    }
  };
  const byName = (some: readonly Target[]) => new Map(some.map((target) => [target.name, target]));
  const { untilNextLook } = run;
  const again = async () => byName(run.now() >= until ? [] : await targetsOf(run, await run.applications()));
  const inOrder = fromOthersEachMinute(targets, DESTINATIONS_AT_ONCE, run.now());
  await inTurns(byName(inOrder), DESTINATIONS_AT_ONCE, deliver, untilNextLook && { untilNextLook, again });
  return progress;
};
