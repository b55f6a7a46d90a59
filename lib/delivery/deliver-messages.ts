import type { Application } from "../applications/application.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { workOffApplications, type RunOfApplications } from "../queues/work-off-all.ts";
import { destinationTarget, type Sending } from "./destination-target.ts";
import { forwardTargets, type Forwarding } from "./forward-notifications.ts";
import type { DeliveryCounts, FailingEnd, Target } from "./target.ts";

export interface DeliveryRun extends Sending, RunOfApplications<Application> {
  /** Forwards notifications to other services. Unset: none are. */
  readonly forwarding?: Forwarding;
}

export interface DeliveryReport extends Readonly<DeliveryCounts> {
  /** Age of the oldest waiting message, in milliseconds; 0: none waits. Forwarded notifications are left out. */
  readonly oldest: number;
  readonly failing: readonly FailingEnd[];
}

const DESTINATIONS_AT_ONCE = 100;

/**
 * Delivers the waiting messages of all applications, all destinations at once.
 *
 * @param until nothing starts from this moment on
 * @param only applications to begin with; unset: all
 */
export const deliverMessages = async (
  run: DeliveryRun,
  until: Instant,
  only?: readonly ApplicationId[],
): Promise<DeliveryReport> => {
  const { forwarding, now } = run;
  const counts: DeliveryCounts = { delivered: 0, failed: 0 };
  const targets = new Map<string, Target>();
  const turnsOf = (application: Application) => {
    const all = [
      ...application.destinations.map((one) => destinationTarget(run, application, one, counts)),
      ...(forwarding === undefined ? [] : forwardTargets(forwarding, run, application, counts)),
    ];
    const added = all.filter(({ name }) => !targets.has(name));
    for (const target of added) targets.set(target.name, target);
    return added.map(({ name, turn }) => [name, turn] as const);
  };
  await workOffApplications(run, turnsOf, { atOnce: DESTINATIONS_AT_ONCE, until, only });

  const failing: FailingEnd[] = [];
  let oldest = now();
  for (const { report } of targets.values()) {
    const reported = await report();
    oldest = Math.min(oldest, reported.oldest ?? oldest);
    if (reported.failing !== null) failing.push(reported.failing);
  }
  return { ...counts, oldest: now() - oldest, failing };
};
