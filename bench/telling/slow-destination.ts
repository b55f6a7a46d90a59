import { setTimeout as sleep } from "node:timers/promises";
import type { DeliveryRun } from "../../lib/delivery/deliver-messages.ts";
import { failedBecause } from "../../lib/delivery/message.ts";
import { SECOND } from "../../lib/duration.ts";
import { quantile } from "../measure.ts";
import { ANSWER_MILLISECONDS, createToldSubscribers, type ToldSubscribers } from "./told-subscribers.ts";

const SLOW_MILLISECONDS = 15 * SECOND;
const BETWEEN_MESSAGES = 300;
const QUICK = 4;

const accountOf = (data: unknown): string =>
  typeof data === "object" && data !== null && "applicationAccountIdentifier" in data
    ? String(data.applicationAccountIdentifier)
    : "";

/** Calls follow one another, as those of a shard of the table's stream do, while there is something to deliver. */
const createDeliverer = (told: ToldSubscribers, send: DeliveryRun["send"]) => {
  let isWanted = false;
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    while (isWanted) {
      isWanted = false;
      await told.deliver(Infinity, send);
    }
    running = null;
  };
  return {
    call: (): void => {
      isWanted = true;
      running ??= run();
    },
    settled: async (): Promise<void> => {
      await running;
    },
  };
};

/**
 * Milliseconds from a change to its message at destinations that answer, beside one that takes {@link SLOW_MILLISECONDS}
 * for each try, and fails.
 */
export const measureBesideSlow = async (
  slowIs: "of the same application" | "of another application",
  messages: number,
) => {
  const isShared = slowIs === "of the same application";
  const quick = await createToldSubscribers(isShared ? QUICK + 1 : QUICK, false);
  const slow = isShared ? quick : await createToldSubscribers(1, false, quick.world);
  const changedAt = new Map<string, number>();
  const delays: number[] = [];
  const send: DeliveryRun["send"] = async (application, { name }, sent) => {
    if (application === slow.application && name === "backend-0") {
      await sleep(SLOW_MILLISECONDS);
      return sent.map(() => failedBecause("timeout"));
    }
    await sleep(ANSWER_MILLISECONDS);
    for (const { data } of sent) {
      const since = changedAt.get(accountOf(data));
      if (since !== undefined) delays.push(performance.now() - since);
    }
    return sent.map(() => ({ outcome: "delivered" }));
  };
  const deliverer = createDeliverer(quick, send);
  try {
    if (!isShared) await slow.link();
    for (let message = 0; message < messages; message += 1) {
      const { account } = await quick.link();
      changedAt.set(account, performance.now());
      await quick.tell();
      deliverer.call();
      await sleep(BETWEEN_MESSAGES);
    }
    await deliverer.settled();
    return { slowIs, messages: delays.length, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) };
  } finally {
    await quick.remove();
  }
};
