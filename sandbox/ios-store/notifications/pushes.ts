import * as z from "zod";
import { DAY, HOUR } from "../../../lib/duration.ts";
import { isInstant, type Instant } from "../../../lib/entitlements/time.ts";
import { deliver } from "./deliver.ts";

/**
 * Time from one try to the next. Only production is retried.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
 */
const RETRIES_AFTER = [1, 12, 24, 48, 72].map((hours) => hours * HOUR);

/** Milliseconds for which the store waits for an answer. */
const TIMEOUT = 10_000;

/** Time for which the store remembers its notifications. */
export const RETENTION = 180 * DAY;

/** Notifications kept; beyond, the oldest are forgotten. One is up to 15 KB in the saved state. */
const LARGEST_HISTORY = 500;

const instant = z.custom<Instant>(isInstant);
const unsentPush = z
  .object({ signedPayload: z.string(), environment: z.enum(["Production", "Sandbox"]), at: instant })
  .readonly();
const pendingPush = z
  .object({ signedPayload: z.string(), failures: z.int().min(1), dueAt: instant })
  .readonly();
/** A notification with all tries to send it, in Apple's own names. */
const sentPush = z
  .object({
    signedPayload: z.string(),
    sendAttempts: z
      .array(z.object({ attemptDate: instant, sendAttemptResult: z.string() }))
      .min(1)
      .readonly(),
  })
  .readonly();
/** A state that was saved before the store kept a history has none. */
export const savedPushes = z.object({
  enabled: z.boolean(),
  unsent: z.array(unsentPush).default([]),
  pending: z.array(pendingPush),
  history: z.array(sentPush).default([]),
});
type SavedPushes = z.output<typeof savedPushes>;
type UnsentPush = z.output<typeof unsentPush>;
type PendingPush = z.output<typeof pendingPush>;
export type SentPush = z.output<typeof sentPush>;

export const NO_PUSHES: SavedPushes = { enabled: true, unsent: [], pending: [], history: [] };

/** Time of the first try. */
export const sentAt = ({ sendAttempts }: SentPush): Instant => sendAttempts[0]?.attemptDate ?? 0;

export const isTaken = ({ sendAttempts }: SentPush): boolean =>
  sendAttempts.at(-1)?.sendAttemptResult === "SUCCESS";

/** Notifications that were sent or failed, by their payloads, in the order of their first tries. */
type History = Map<string, SentPush>;

const historyOf = (pushes: readonly SentPush[]): History =>
  new Map(pushes.map((push) => [push.signedPayload, push]));

const note = (history: History, signedPayload: string, attempt: SentPush["sendAttempts"][number]): void => {
  const before = history.get(signedPayload)?.sendAttempts ?? [];
  history.set(signedPayload, { signedPayload, sendAttempts: [...before, attempt] });
  for (const [key, push] of history) {
    if (history.size <= LARGEST_HISTORY && sentAt(push) > attempt.attemptDate - RETENTION) break;
    history.delete(key);
  }
};

export type Pushes = ReturnType<typeof createPushes>;

/**
 * Sends notifications, and resends those that were not accepted.
 *
 * @param urlOf where to send; null: nowhere, and nothing is kept for later
 */
export const createPushes = (urlOf: () => string | null, timeout = TIMEOUT) => {
  let enabled = true;
  let unsent: UnsentPush[] = [];
  let pending: PendingPush[] = [];
  let history = historyOf([]);
  let isSending = false;

  /** @param failures before this try */
  const send = async (
    signedPayload: string,
    failures: number,
    at: Instant,
    isRetried: boolean,
  ): Promise<void> => {
    const url = urlOf();
    if (!enabled || url === null) return;
    // A push that is forgotten or switched off meanwhile is not kept.
    const queue = pending;
    const noted = history;
    isSending = true;
    const sendAttemptResult = await deliver(url, signedPayload, timeout);
    isSending = false;
    note(noted, signedPayload, { attemptDate: at, sendAttemptResult });
    if (sendAttemptResult === "SUCCESS") return;
    const delay = RETRIES_AFTER[failures];
    if (isRetried && delay !== undefined)
      queue.push({ signedPayload, failures: failures + 1, dueAt: at + delay });
  };

  const next = (): PendingPush | undefined => pending.toSorted((one, other) => one.dueAt - other.dueAt)[0];

  return {
    /** Queues a notification. While pushing is off or there is no address, it is dropped. */
    queue: (push: UnsentPush): void => {
      if (enabled && urlOf() !== null) unsent.push(push);
    },
    hasUnsent: (): boolean => unsent.length > 0,
    /** Sends the first of the queue; resolves when it is answered or has failed. */
    sendNext: async (): Promise<void> => {
      const first = unsent.shift();
      if (first !== undefined)
        await send(first.signedPayload, 0, first.at, first.environment === "Production");
    },
    /**
     * When the next push is due; null: none is. A running send continues with the queue; only the queue of a restored
     * store waits for its moment.
     */
    nextAt: (): Instant | null => (isSending ? undefined : unsent[0]?.at) ?? next()?.dueAt ?? null,
    /** Makes the next retry, at its moment. */
    retryNext: async (): Promise<void> => {
      const due = next();
      if (due === undefined) return;
      pending.splice(pending.indexOf(due), 1);
      await send(due.signedPayload, due.failures, due.dueAt, true);
    },
    /** Off: nothing is sent, now or later. */
    enable: (on: boolean): void => {
      enabled = on;
      if (on) return;
      unsent = [];
      pending = [];
    },
    /** Notifications of the last 180 days. */
    history: (): readonly SentPush[] => [...history.values()],
    restore: (saved: SavedPushes): void => {
      enabled = saved.enabled;
      unsent = [...saved.unsent];
      pending = [...saved.pending];
      history = historyOf(saved.history);
    },
    save: (): SavedPushes => ({ enabled, unsent, pending, history: [...history.values()] }),
  };
};
