import type { ApplicationDirectory } from "../applications/application.ts";
import { findApplications } from "../applications/find-applications.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { onceLoaded } from "../once.ts";
import { takeTurns, type RunOfAll, type Turn } from "../queues/work-off-all.ts";
import { workOff } from "../queues/work-off.ts";
import type { DestinationReference } from "./delivery-queue.ts";
import type { Failing } from "./destination-health.ts";
import { createForwards, type FailingForward, type Forwarding } from "./forward-notifications.ts";
import { targetOf, type DeliveryCounts, type Sending, type Target } from "./destination-queue.ts";

export interface DeliveryRun extends Sending, RunOfAll {
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  /** Forwards notifications to other services. Unset: none are. */
  readonly forwarding?: Forwarding;
}

/** A destination that takes nothing. */
type FailingDestination = DestinationReference & Failing;

/** Outcome of a run. */
export interface DeliveryReport {
  readonly delivered: number;
  readonly failed: number;
  /** Age of the oldest waiting message, in milliseconds; 0: none waits. Forwarded notifications are left out. */
  readonly oldest: number;
  readonly failing: readonly (FailingDestination | FailingForward)[];
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
  const forwards = createForwards(run, counts, until);
  const turnsOf = async (identifiers: readonly ApplicationId[]): Promise<ReadonlyMap<string, Turn>> => {
    for (const application of await findApplications(run.directory, identifiers, run.onFailure)) {
      forwards.add(application);
      for (const destination of application.destinations) {
        const name = `${application.identifier} ${destination.name}`;
        if (!targets.has(name)) targets.set(name, targetOf(run, application, destination, counts));
      }
    }
    const turns = [...targets].map(
      ([name, { work }]) => [name, async () => workOff(work, run, until)] as const,
    );
    return new Map<string, Turn>([...turns, ...forwards.turns()]);
  };
  const first = await turnsOf(only ?? (await run.applications()));
  const others = onceLoaded(async () => turnsOf(await run.applications()));
  await takeTurns(first, run, { atOnce: DESTINATIONS_AT_ONCE, until, others });
  const { failing, ...report } = await reportOf(run, [...targets.values()], counts);
  return { ...report, failing: [...failing, ...(await forwards.failing())] };
};
