import type { Destination } from "../applications/destination.ts";
import type { Instant } from "../entitlements/time.ts";
import { HEALTHY } from "../queues/health.ts";
import type { ApplicationId } from "../identifiers.ts";
import { ACCOUNT_CHANGED, CHANGES_KEPT_MILLISECONDS } from "./change.ts";
import type { AccountDelivery, Delivery, DeliveryQueue, DestinationReference } from "./delivery-queue.ts";
import { afterRefusal, nextTry, suspended, type DestinationHealth } from "./destination-health.ts";
import type { Message } from "./message.ts";
import type { SendOutcome } from "./send-outcome.ts";

export interface BatchRun {
  readonly queue: Pick<DeliveryQueue, "changesAt" | "remove" | "retry">;
  /** Makes one attempt for each message, in the order of the messages. Rejects if this service fails. */
  readonly send: (
    application: ApplicationId,
    destination: Destination,
    messages: readonly Message[],
  ) => Promise<readonly SendOutcome[]>;
  readonly now: () => Instant;
}

/** Attempts of a run, counted as they end. */
export interface DeliveryCounts {
  delivered: number;
  failed: number;
}

/** Messages sent to one destination at the same time. */
export const MESSAGES_AT_ONCE = 20;

/** The next messages: several or, after a failure, a single one as a probe, each time a different one. */
export const batchOf = (due: readonly Delivery[], { failures }: DestinationHealth): readonly Delivery[] => {
  if (failures === 0) return due.slice(0, MESSAGES_AT_ONCE);
  const place = failures % due.length;
  return due.slice(place, place + 1);
};

/** The identifier is the same for every destination and attempt. */
const messageOf = (
  application: ApplicationId,
  { place: { sequence } }: AccountDelivery,
  toldAt: Instant,
  data: unknown,
): Message => ({
  identifier: `msg_${application}_${sequence}`,
  type: ACCOUNT_CHANGED,
  timestamp: toldAt,
  data,
});

/** A delivery and its message; null: nothing is left to deliver. */
interface Sending {
  readonly delivery: Delivery;
  readonly message: Message | null;
}

const sendingsOf = async (
  { queue, now }: BatchRun,
  application: ApplicationId,
  deliveries: readonly Delivery[],
): Promise<readonly Sending[]> => {
  const ofAccounts = deliveries.filter((one) => one.kind === "account");
  const changes = await queue.changesAt(
    application,
    ofAccounts.map(({ place }) => place),
  );
  const found = new Map(ofAccounts.map((one, index) => [one as Delivery, changes[index] ?? null]));
  return deliveries.map((delivery): Sending => {
    if (delivery.kind === "request")
      return { delivery, message: delivery.until > now() ? delivery.message : null };
    const change = found.get(delivery) ?? null;
    const isKept = change?.data != null && change.toldAt + CHANGES_KEPT_MILLISECONDS > now();
    return {
      delivery,
      message: isKept ? messageOf(application, delivery, change.toldAt, change.data) : null,
    };
  });
};

/**
 * Sends a batch and stores the outcome of each message.
 *
 * @returns the destination's health after it
 */
export const sendBatch = async (
  run: BatchRun,
  reference: DestinationReference,
  destination: Destination,
  health: DestinationHealth,
  batch: readonly Delivery[],
  counts: DeliveryCounts,
): Promise<DestinationHealth> => {
  const { queue, now } = run;
  const sendings = await sendingsOf(run, reference.application, batch);
  const nothing = sendings.filter(({ message }) => message === null);
  await Promise.all(nothing.map(({ delivery }) => queue.remove(reference, delivery)));
  const sent = sendings.flatMap(({ delivery, message }) => (message === null ? [] : [{ delivery, message }]));
  if (sent.length === 0) return health;

  const outcomes = await run.send(
    reference.application,
    destination,
    sent.map(({ message }) => message),
  );
  const after = now();
  await Promise.all(
    sent.map(async ({ delivery }, index) => {
      const outcome = outcomes[index];
      if (outcome?.outcome === "delivered") {
        counts.delivered += 1;
        await queue.remove(reference, delivery);
      } else {
        counts.failed += 1;
        const tries = delivery.tries + 1;
        const retryAt = outcome?.outcome === "failed" ? outcome.retryAt : null;
        await queue.retry(reference, delivery, tries, nextTry(tries, after, retryAt));
      }
    }),
  );
  if (outcomes.some(({ outcome }) => outcome === "gone")) return suspended(health, after);
  if (outcomes.some(({ outcome }) => outcome === "delivered")) return HEALTHY;
  const failures = outcomes.filter((one) => one.outcome === "failed");
  const [first] = failures;
  if (first === undefined) return health;
  const asked = failures.flatMap(({ retryAt }) => retryAt ?? []);
  const because = first.status === null ? first.because : `${first.because} ${first.status}`;
  return afterRefusal(health, because, after, asked.length === 0 ? null : Math.max(...asked));
};
