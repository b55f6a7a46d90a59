import * as z from "zod";
import { DAY, HOUR } from "../../../lib/duration.ts";
import { isInstant, type Instant } from "../../../lib/entitlements/time.ts";

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
/** A notification that waits for its next try, or for its first. */
const pendingPush = z
  .object({
    signedPayload: z.string(),
    environment: z.enum(["Production", "Sandbox"]),
    failures: z.int().min(0),
    dueAt: instant,
  })
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
  pending: z.array(pendingPush),
  history: z.array(sentPush).default([]),
});
type SavedPushes = z.output<typeof savedPushes>;
type PendingPush = z.output<typeof pendingPush>;
export type SentPush = z.output<typeof sentPush>;

export const NO_PUSHES: SavedPushes = { enabled: true, pending: [], history: [] };

export const sentAt = ({ sendAttempts }: SentPush): Instant => sendAttempts[0]?.attemptDate ?? 0;

export const isTaken = ({ sendAttempts }: SentPush): boolean =>
  sendAttempts.at(-1)?.sendAttemptResult === "SUCCESS";

/**
 * Sends a notification once. Apple counts 200 to 206 as success.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/sendattemptresult
 */
const deliver = async (url: string, signedPayload: string): Promise<string> => {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ signedPayload }),
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    await response.body?.cancel();
    return response.status >= 200 && response.status <= 206 ? "SUCCESS" : "UNSUCCESSFUL_HTTP_RESPONSE_CODE";
  } catch {
    return "NO_RESPONSE";
  }
};

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
export const createPushes = (urlOf: () => string | null) => {
  let enabled = true;
  let pending: PendingPush[] = [];
  let history = historyOf([]);
  let isSending = false;

  const next = (): PendingPush | undefined => pending.toSorted((one, other) => one.dueAt - other.dueAt)[0];

  return {
    /** Queues a notification for its first try. While pushing is off or there is no address, it is dropped. */
    queue: (push: Omit<PendingPush, "failures">): void => {
      if (enabled && urlOf() !== null) pending.push({ ...push, failures: 0 });
    },
    /** When the next try is due; null: none is. First tries follow one that is being sent, without a moment of their own. */
    nextAt: (): Instant | null => {
      const due = isSending ? pending.filter(({ failures }) => failures > 0) : pending;
      return due.length === 0 ? null : Math.min(...due.map(({ dueAt }) => dueAt));
    },
    /** Makes the next try, at its moment; resolves when it is answered or has failed. */
    sendNext: async (): Promise<void> => {
      const push = next();
      if (push === undefined) return;
      pending.splice(pending.indexOf(push), 1);
      const url = urlOf();
      if (url === null) return;
      // A push that is forgotten or switched off meanwhile is not kept.
      const queue = pending;
      const noted = history;
      const { signedPayload, environment, failures, dueAt } = push;
      isSending = true;
      const sendAttemptResult = await deliver(url, signedPayload);
      isSending = false;
      note(noted, signedPayload, { attemptDate: dueAt, sendAttemptResult });
      const delay = RETRIES_AFTER[failures];
      if (sendAttemptResult !== "SUCCESS" && environment === "Production" && delay !== undefined)
        queue.push({ ...push, failures: failures + 1, dueAt: dueAt + delay });
    },
    /** Off: nothing is sent, now or later. */
    enable: (on: boolean): void => {
      enabled = on;
      if (!on) pending = [];
    },
    /** Notifications of the last 180 days. */
    history: (): readonly SentPush[] => [...history.values()],
    restore: (saved: SavedPushes): void => {
      enabled = saved.enabled;
      pending = [...saved.pending];
      history = historyOf(saved.history);
    },
    save: (): SavedPushes => ({ enabled, pending, history: [...history.values()] }),
  };
};
