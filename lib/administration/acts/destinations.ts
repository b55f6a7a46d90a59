import type { Application, WebhookDestination } from "../../applications/application.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { Audited } from "./audit.ts";
import type { ApplicationId } from "../../identifiers.ts";
import type { DeliveryQueue, DestinationReference } from "../../delivery/delivery-queue.ts";
import { secretOf, secretText } from "../../delivery/webhook-secret.ts";
import { AT_ONCE, sideBySide } from "../side-by-side.ts";

const PER_PAGE = 1000;

/** `since`: time of the oldest message; null: nothing waits. */
const waitingFor = async (queue: Pick<DeliveryQueue, "waiting">, reference: DestinationReference) => {
  let [accounts, requests] = [0, 0];
  let since: Instant | null = null;
  for await (const page of queue.waiting(reference, PER_PAGE))
    for (const delivery of page) {
      if (delivery.kind === "account") accounts += 1;
      else requests += 1;
      since = Math.min(since ?? delivery.since, delivery.since);
    }
  return { accounts, requests, since };
};

/** State of an application's destinations. Reads all their waiting messages. */
export const reportDestinations = async (
  queue: Pick<DeliveryQueue, "waiting" | "healthOf">,
  { identifier, destinations }: Application,
) =>
  Promise.all(
    destinations.map(async (destination) => {
      const reference = { application: identifier, destination: destination.name };
      const [health, waiting] = await Promise.all([queue.healthOf(reference), waitingFor(queue, reference)]);
      return { destination, health, waiting };
    }),
  );

export type DestinationReport = Awaited<ReturnType<typeof reportDestinations>>[number];

export interface DestinationTable {
  /** `conflict`: the destination has changed since it was read. */
  setSecretEpochs(
    application: ApplicationId,
    before: WebhookDestination,
    secretEpochs: readonly Instant[],
    audit?: Audited,
  ): Promise<"written" | "conflict">;
  /** Deletes a removed destination's waiting messages and its health. May be repeated after an interruption. */
  drop(destination: DestinationReference, progress: (dropped: number) => void): Promise<number>;
}

/**
 * Rotates a webhook's secret. The previous one also signs for a day; older ones do not. The new one is derived before
 * anything is written: none takes effect without being shown. Null: the destination has changed since it was read.
 */
export const rotateSecret = async (
  secrets: Pick<DestinationTable, "setSecretEpochs">,
  master: Uint8Array,
  application: ApplicationId,
  before: WebhookDestination,
  moment: Instant,
  audit?: Audited,
) => {
  const [newest] = before.secretEpochs;
  // Epochs only increase, even if the clock goes back: each names its own secret.
  const epoch = newest === undefined ? moment : Math.max(moment, newest + 1);
  const secretEpochs = newest === undefined ? [epoch] : [epoch, newest];
  const destination = { ...before, secretEpochs };
  const secret = secretText(secretOf(master, application, destination, epoch));
  const written = await secrets.setSecretEpochs(application, before, secretEpochs, audit);
  return written === "conflict" ? null : { secret, destination };
};

/** Ends a destination's pause or suspension, and makes its waiting messages due at once. */
export const resume = async (
  queue: Pick<DeliveryQueue, "waiting" | "retry" | "resume">,
  reference: DestinationReference,
  moment: Instant,
  progress: (hastened: number) => void,
): Promise<number> => {
  let hastened = 0;
  for await (const page of queue.waiting(reference, PER_PAGE)) {
    const later = page.filter(({ nextTryAt }) => nextTryAt > moment);
    await sideBySide(later, AT_ONCE, (delivery) => queue.retry(reference, delivery, delivery.tries, 0));
    hastened += later.length;
    if (later.length > 0) progress(hastened);
  }
  // Last, so that the deliverer then finds them due.
  await queue.resume(reference);
  return hastened;
};
