import * as z from "zod";
import { HOUR } from "../../../lib/duration.ts";
import { isInstant, type Instant } from "../../../lib/entitlements/time.ts";
import { deliver } from "./deliver.ts";
import { createPushHistory, sentPush, type SentPush } from "./push-history.ts";

/**
 * Time from one try to the next. Only production is retried.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
 */
const RETRIES_AFTER = [1, 12, 24, 48, 72].map((hours) => hours * HOUR);

/** Milliseconds for which the store waits for an answer. */
const TIMEOUT = 10_000;

const instant = z.custom<Instant>(isInstant);
const unsentPush = z
  .object({ signedPayload: z.string(), environment: z.enum(["Production", "Sandbox"]), at: instant })
  .readonly();
const pendingPush = z
  .object({ signedPayload: z.string(), failures: z.int().min(1), dueAt: instant })
  .readonly();
/** A state that was saved before the store kept a history has none. */
export const savedPushes = z.object({
  enabled: z.boolean(),
  unsent: z.array(unsentPush).default([]),
  pending: z.array(pendingPush),
  history: z.array(sentPush).default([]),
});
export type SavedPushes = z.output<typeof savedPushes>;
type UnsentPush = z.output<typeof unsentPush>;
type PendingPush = z.output<typeof pendingPush>;

export const NO_PUSHES: SavedPushes = { enabled: true, unsent: [], pending: [], history: [] };

/** Sends notifications, and resends those that were not accepted. */
export interface Pushes {
  /** Queues a notification. While pushing is off or there is no address, it is dropped. */
  queue(push: UnsentPush): void;
  hasUnsent(): boolean;
  /** Sends the first of the queue; resolves when it is answered or has failed. */
  sendNext(): Promise<void>;
  /** When the next push is due; null: none is. */
  nextAt(): Instant | null;
  /** Makes the next retry, at its moment. */
  retryNext(): Promise<void>;
  /** Off: nothing is sent, now or later. */
  enable(enabled: boolean): void;
  /** Whether pushing is on and there is an address. */
  isOpen(): boolean;
  /** Notifications of the last 180 days. */
  history(): readonly SentPush[];
  restore(saved: SavedPushes): void;
  save(): SavedPushes;
}

/** @param urlOf where to send; null: nowhere, and nothing is kept for later */
export const createPushes = (urlOf: () => string | null, timeout = TIMEOUT): Pushes => {
  let enabled = true;
  let unsent: UnsentPush[] = [];
  let pending: PendingPush[] = [];
  let history = createPushHistory([]);
  let isSending = false;

  /** @param failures before this try */
  const send = async (
    signedPayload: string,
    failures: number,
    at: Instant,
    { isRetried }: { readonly isRetried: boolean },
  ): Promise<void> => {
    const url = urlOf();
    if (!enabled || url === null) return;
    // A push that is forgotten or switched off meanwhile is not kept.
    const queue = pending;
    const noted = history;
    isSending = true;
    const sendAttemptResult = await deliver(url, signedPayload, timeout);
    isSending = false;
    noted.note(signedPayload, { attemptDate: at, sendAttemptResult });
    if (sendAttemptResult === "SUCCESS") return;
    const delay = RETRIES_AFTER[failures];
    if (isRetried && delay !== undefined)
      queue.push({ signedPayload, failures: failures + 1, dueAt: at + delay });
  };

  const next = (): PendingPush | null =>
    pending.reduce<PendingPush | null>(
      (first, push) => (first === null || push.dueAt < first.dueAt ? push : first),
      null,
    );

  const isOpen = (): boolean => enabled && urlOf() !== null;

  return {
    queue: (push) => {
      if (isOpen()) unsent.push(push);
    },
    hasUnsent: () => unsent.length > 0,
    sendNext: async () => {
      const first = unsent.shift();
      if (first !== undefined)
        await send(first.signedPayload, 0, first.at, { isRetried: first.environment === "Production" });
    },
    // A running send continues with the queue; only the queue of a restored store waits for its moment.
    nextAt: () => (isSending ? undefined : unsent[0]?.at) ?? next()?.dueAt ?? null,
    retryNext: async () => {
      const due = next();
      if (due === null) return;
      pending.splice(pending.indexOf(due), 1);
      await send(due.signedPayload, due.failures, due.dueAt, { isRetried: true });
    },
    enable: (on) => {
      enabled = on;
      if (on) return;
      unsent = [];
      pending = [];
    },
    isOpen,
    history: () => history.list(),
    restore: (saved) => {
      enabled = saved.enabled;
      unsent = [...saved.unsent];
      pending = [...saved.pending];
      history = createPushHistory(saved.history);
    },
    save: () => ({ enabled, unsent, pending, history: history.list() }),
  };
};
