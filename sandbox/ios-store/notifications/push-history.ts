import * as z from "zod";
import { DAY } from "../../../lib/duration.ts";
import { isInstant, type Instant } from "../../../lib/entitlements/time.ts";
import { SEND_ATTEMPT_RESULTS } from "./deliver.ts";

/** Time for which the store remembers its notifications. */
export const RETENTION = 180 * DAY;

/** Notifications kept; beyond, the oldest are forgotten. One is up to 15 KB in the saved state. */
const LARGEST_HISTORY = 500;

const sendAttempt = z
  .object({
    attemptDate: z.custom<Instant>(isInstant),
    sendAttemptResult: z.enum(SEND_ATTEMPT_RESULTS),
  })
  .readonly();
export type SendAttempt = z.output<typeof sendAttempt>;

/** A notification with all tries to send it, in Apple's own names. */
export const sentPush = z
  .object({ signedPayload: z.string(), sendAttempts: z.array(sendAttempt).min(1).readonly() })
  .readonly();
export type SentPush = z.output<typeof sentPush>;

/** Time of the first try. */
export const sentAt = ({ sendAttempts }: SentPush): Instant => sendAttempts[0]?.attemptDate ?? 0;

export const isTaken = ({ sendAttempts }: SentPush): boolean =>
  sendAttempts.at(-1)?.sendAttemptResult === "SUCCESS";

/** Notifications that were sent or failed, in the order of their first tries. */
export interface PushHistory {
  note(signedPayload: string, attempt: SendAttempt): void;
  list(): SentPush[];
}

export const createPushHistory = (saved: readonly SentPush[]): PushHistory => {
  const pushes = new Map(saved.map((push) => [push.signedPayload, push]));
  return {
    note: (signedPayload, attempt) => {
      const before = pushes.get(signedPayload)?.sendAttempts ?? [];
      pushes.set(signedPayload, { signedPayload, sendAttempts: [...before, attempt] });
      for (const [key, push] of pushes) {
        if (pushes.size <= LARGEST_HISTORY && sentAt(push) > attempt.attemptDate - RETENTION) break;
        pushes.delete(key);
      }
    },
    list: () => [...pushes.values()],
  };
};
