import type { ApplicationDirectory } from "../applications/application.ts";
import { findApplications } from "../applications/find-applications.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { onceLoaded } from "../once.ts";
import { workOffAll, type RunOfAll } from "../queues/work-off-all.ts";
import type { Turn } from "../queues/work-off.ts";
import { destinationTarget, type Sending } from "./destination-target.ts";
import { forwardTargets, type Forwarding } from "./forward-notifications.ts";
import type { DeliveryCounts, FailingEnd, Target } from "./target.ts";

export interface DeliveryRun extends Sending, RunOfAll {
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  /** Forwards notifications to other services. Unset: none are. */
  readonly forwarding?: Forwarding;
}

/** Outcome of a run. */
export interface DeliveryReport extends Readonly<DeliveryCounts> {
  /** Age of the oldest waiting message, in milliseconds; 0: none waits. Forwarded notifications are left out. */
  readonly oldest: number;
  readonly failing: readonly FailingEnd[];
}

/** Destinations processed at the same time. */
const DESTINATIONS_AT_ONCE = 100;

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
  const { directory, forwarding, now, onFailure } = run;
  const counts: DeliveryCounts = { delivered: 0, failed: 0 };
  const targets = new Map<string, Target>();
  const turnsOf = async (identifiers: readonly ApplicationId[]): Promise<ReadonlyMap<string, Turn>> => {
    for (const application of await findApplications(directory, identifiers, onFailure))
      for (const target of [
        ...application.destinations.map((one) => destinationTarget(run, application, one, counts)),
        ...(forwarding === undefined ? [] : forwardTargets(forwarding, run, application, counts)),
      ])
        if (!targets.has(target.name)) targets.set(target.name, target);
    return new Map([...targets].map(([name, { turn }]) => [name, turn]));
  };
  const first = await turnsOf(only ?? (await run.applications()));
  const others = onceLoaded(async () => turnsOf(await run.applications()));
  await workOffAll(first, run, { atOnce: DESTINATIONS_AT_ONCE, until, others });

  const failing: FailingEnd[] = [];
  let oldest = now();
  for (const { report } of targets.values()) {
    const reported = await report();
    oldest = Math.min(oldest, reported.oldest ?? oldest);
    if (reported.failing !== null) failing.push(reported.failing);
  }
  return { ...counts, oldest: now() - oldest, failing };
};
