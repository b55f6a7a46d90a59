import { v7 as uuid } from "uuid";
import { isWebhook } from "../../lib/applications/application.ts";
import {
  deliverMessages,
  type DeliveryReport,
  type DeliveryRun,
} from "../../lib/delivery/deliver-messages.ts";
import { createSender, signedWebhook } from "../../lib/delivery/webhook.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createDeliveryQueue, createForwardQueue } from "../../lib/table/telling/delivery-queue.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../testing/support/table/table.ts";
import type { ToldWorld } from "../../testing/support/world.ts";

export const pause = () => Promise.resolve();

/** Delivers an application's messages to webhooks of this machine; a wait moves the clock. */
export const delivererOf =
  (table: TestTable, { world: { application } }: ToldWorld, until = Infinity) =>
  async (moment: Instant = NOW, changes: Partial<DeliveryRun> = {}): Promise<DeliveryReport> => {
    const clock = { now: moment };
    const now = () => clock.now;
    const send = createSender({ allowsDestination: () => true, now });
    return deliverMessages(
      {
        directory: { byIdentifier: () => Promise.resolve(application) },
        queue: createDeliveryQueue(table),
        applications: () => Promise.resolve([application.identifier]),
        send: (_, destination, message) =>
          send(
            isWebhook(destination) ? destination.url : "",
            signedWebhook(message, [Buffer.alloc(32)], now()),
          ),
        forwarding: {
          queue: createForwardQueue(table),
          send: () => Promise.reject(new Error("not asked for")),
        },
        newWorker: uuid,
        now,
        wait: async (milliseconds) => void (clock.now += milliseconds),
        onFailure: (error) => {
          throw error;
        },
        ...changes,
      },
      until,
    );
  };

const MINUTE = 60_000;
/** Minutes between the attempts at a message that nobody takes. */
export const RETRIES = [5 + 5 / 60, 30, 120, 300, 600, 840, 1200, 1440, 1440];

/** Delivers at each time that the waiting item names, and never a millisecond earlier: the minutes between. */
export const retriesOf = async (
  deliver: (moment: Instant) => Promise<unknown>,
  nextTryAt: () => Promise<unknown>,
  attempts: () => number,
): Promise<number[]> => {
  const pauses: number[] = [];
  let moment = NOW;
  while (pauses.length < RETRIES.length) {
    await deliver(moment);
    const until = Number(await nextTryAt());
    const before = attempts();
    await deliver(until - 1);
    expect(attempts()).toBe(before);
    pauses.push((until - moment) / MINUTE);
    moment = until;
  }
  return pauses;
};
