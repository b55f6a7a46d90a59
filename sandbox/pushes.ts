import * as z from "zod";
import type { Instant } from "../lib/entitlements/time.ts";
import { earliest } from "./clock.ts";
import { instant } from "./fields.ts";

/** A push that waits for its first try, or for the next. */
export const waitingPush = z.object({ failures: z.int().min(0), dueAt: instant });
type WaitingPush = Readonly<z.output<typeof waitingPush>>;

interface Sender<Push> {
  /** Where to; null: nowhere, and nothing is kept for later. */
  readonly url: () => string | null;
  readonly request: (push: Push) => Promise<Pick<RequestInit, "headers" | "body">>;
  readonly isTaken: (status: number) => boolean;
  /** Milliseconds until the next try of a push that was not taken; null: it is given up. */
  readonly retryAfter: (push: Push) => number | null;
  /** Called after each try, with the status of its answer; null: there was none in time. */
  readonly note?: (push: Push, status: number | null) => void;
}

/** Milliseconds until a push counts as failed. */
const TIMEOUT = 10_000;

/** Resolves with the answer's status; null: there was none in time. */
const post = async (url: string, sent: RequestInit): Promise<number | null> => {
  try {
    const signal = AbortSignal.timeout(TIMEOUT);
    const response = await fetch(url, { ...sent, method: "POST", redirect: "manual", signal });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return null;
  }
};

/** Sends a store's notifications in order, each once the one before is answered or has failed, and resends them. */
export const createPushQueue = <Push extends WaitingPush>({
  url,
  request,
  isTaken,
  retryAfter,
  note = () => undefined,
}: Sender<Push>) => {
  const waiting = new Set<Push>();
  /** First tries, which are sent at once and so are no events to come. */
  const sentAtOnce = new WeakSet<Push>();
  let enabled = true;
  /** Ends with the last push in flight. */
  let last: Promise<void> = Promise.resolve();

  const send = async (push: Push): Promise<void> => {
    const address = url();
    const status = address === null ? null : await post(address, await request(push));
    // A push that was forgotten meanwhile is neither noted nor sent again.
    if (!waiting.delete(push) || address === null) return;
    note(push, status);
    const delay = status !== null && isTaken(status) ? null : retryAfter(push);
    if (delay !== null) waiting.add({ ...push, failures: push.failures + 1, dueAt: push.dueAt + delay });
  };

  const sendAll = async (moment: Instant): Promise<void> => {
    for (const push of [...waiting].filter(({ dueAt }) => dueAt <= moment))
      if (waiting.has(push)) await send(push);
  };
  const sendDue = (moment: Instant): void => {
    last = last.then(async () => sendAll(moment));
  };

  return {
    /** Publishes notifications. While pushing is off or there is no address, they are dropped. */
    publish: (...pushes: readonly Push[]): void => {
      if (!enabled || url() === null) return;
      for (const push of pushes) {
        sentAtOnce.add(push);
        waiting.add(push);
      }
      sendDue(Math.max(...pushes.map(({ dueAt }) => dueAt)));
    },
    /** Sends the pushes that are due by the moment. */
    sendDue,
    /** Resolves when every push in flight was answered or has failed. */
    sent: async (): Promise<void> => last,
    /** When a push is sent again; null: none is. */
    nextAt: (): Instant | null =>
      earliest(...[...waiting].filter((push) => !sentAtOnce.has(push)).map(({ dueAt }) => dueAt)),
    /** Off: nothing is sent, now or later. */
    enable: (on: boolean): void => {
      enabled = on;
      if (!on) waiting.clear();
    },
    isEnabled: (): boolean => enabled,
    waiting: (): Push[] => [...waiting],
    /** Replaces the waiting pushes. */
    restore: (pushes: readonly Push[]): void => {
      waiting.clear();
      for (const push of pushes) waiting.add(push);
    },
  };
};
