import type { ApplicationDirectory } from "../applications/application.ts";
import { findApplications } from "../applications/find-applications.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { onceLoaded } from "../once-loaded.ts";
import { workOffAll, type RunOfAll } from "../queues/work-off-all.ts";
import type { DestinationReference } from "./delivery-queue.ts";
import { targetOf, type DeliveryCounts, type Sending, type Target } from "./destination-queue.ts";

export interface DeliveryRun extends Sending, RunOfAll {
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
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

/** Counts of a run, the oldest waiting message, and the destinations that take nothing. */
const reportOf = async (
  { queue, now }: DeliveryRun,
  targets: readonly Target[],
  { delivered, failed }: DeliveryCounts,
): Promise<DeliveryReport> => {
  const failing: FailingDestination[] = [];
  let oldest = now();
  for (const { reference, oldest: oldestOf } of targets) {
    const waitsSince = oldestOf();
    if (waitsSince === null) continue;
    const { failingSince, because, pausedUntil } = await queue.healthOf(reference);
    oldest = Math.min(oldest, waitsSince, failingSince ?? waitsSince);
    if (failingSince !== null)
      failing.push({ ...reference, because: because ?? "", failingSince, until: pausedUntil });
  }
  return { delivered, failed, oldest: now() - oldest, failing };
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
  const counts: DeliveryCounts = { delivered: 0, failed: 0 };
  const targets = new Map<string, Target>();
  const worksOf = async (identifiers: readonly ApplicationId[]) => {
    for (const application of await findApplications(run.directory, identifiers, run.onFailure))
      for (const destination of application.destinations) {
        const name = `${application.identifier} ${destination.name}`;
        if (!targets.has(name)) targets.set(name, targetOf(run, application, destination, counts));
      }
    return new Map([...targets].map(([name, { work }]) => [name, work]));
  };
  const first = await worksOf(only ?? (await run.applications()));
  const others = onceLoaded(async () => worksOf(await run.applications()));
  await workOffAll(first, run, { atOnce: DESTINATIONS_AT_ONCE, until, others });
  return reportOf(run, [...targets.values()], counts);
};
