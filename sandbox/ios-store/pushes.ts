import * as z from "zod";
import { isInstant, type Instant } from "../../lib/entitlements/time.ts";

const HOUR = 3600 * 1000;

/**
 * Hours after the try before. Only production is tried again.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
 */
export const RETRIES_AFTER = [1, 12, 24, 48, 72].map((hours) => hours * HOUR);

/** Time for which the store waits for an answer. */
const TIMEOUT = 10_000;

const pendingPush = z
  .object({ signedPayload: z.string(), failures: z.int().min(1), dueAt: z.custom<Instant>(isInstant) })
  .readonly();
export const savedPushes = z.object({ enabled: z.boolean(), pending: z.array(pendingPush) });
export type SavedPushes = z.output<typeof savedPushes>;
type PendingPush = z.output<typeof pendingPush>;

/** Sends notifications, and again those that were not taken. */
export interface Pushes {
  /** Resolves when the push is answered or has failed. Nothing is sent while pushing is off or there is no address. */
  push(signedPayload: string, environment: "Production" | "Sandbox", at: Instant): Promise<void>;
  nextRetryAt(): Instant | null;
  /** Makes the next retry, at its moment. */
  retryNext(): Promise<void>;
  /** Off: nothing is sent, neither now nor later. */
  enable(enabled: boolean): void;
  restore(saved: SavedPushes): void;
  save(): SavedPushes;
}

/** Whether the service takes a notification: Apple counts 200 to 206 as success. */
const isTaken = async (url: string, signedPayload: string): Promise<boolean> => {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ signedPayload }),
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    await response.body?.cancel();
    return response.status >= 200 && response.status <= 206;
  } catch {
    // Any failure to deliver is one to the store.
    return false;
  }
};

/** @param urlOf where to send; null: nowhere, and nothing is kept for later */
export const createPushes = (urlOf: () => string | null): Pushes => {
  let enabled = true;
  let pending: PendingPush[] = [];

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
    if (await isTaken(url, signedPayload)) return;
    const delay = RETRIES_AFTER[failures];
    if (isRetried && delay !== undefined)
      queue.push({ signedPayload, failures: failures + 1, dueAt: at + delay });
  };

  const next = (): PendingPush | null =>
    pending.reduce<PendingPush | null>(
      (first, push) => (first === null || push.dueAt < first.dueAt ? push : first),
      null,
    );

  return {
    push: async (signedPayload, environment, at) => send(signedPayload, 0, at, environment === "Production"),
    nextRetryAt: () => next()?.dueAt ?? null,
    retryNext: async () => {
      const due = next();
      if (due === null) return;
      pending.splice(pending.indexOf(due), 1);
      await send(due.signedPayload, due.failures, due.dueAt, true);
    },
    enable: (on) => {
      enabled = on;
      if (!on) pending = [];
    },
    restore: (saved) => {
      enabled = saved.enabled;
      pending = [...saved.pending];
    },
    save: () => ({ enabled, pending }),
  };
};
