import { HOUR, MINUTE, SECOND } from "../../../duration.ts";
import type { Instant } from "../../../entitlements/time.ts";

export interface Clock {
  readonly now: () => Instant;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** A store's answer, so far as the pace depends on it. */
export interface Paced {
  readonly outcome: string;
  readonly status?: number | null;
}

/**
 * The requests to one bundle or package in one environment: so many a second, and none while the store wants none. A store
 * that answers nobody is asked again for as long as it takes; a request that fails alone, while others succeed, is given up.
 */
export interface Gate {
  /** @param retryAt time that a failed answer names; null: none */
  ask<Answer extends Paced>(
    send: () => Promise<Answer>,
    retryAt: (answer: Answer) => Instant | null,
  ): Promise<Answer | "stopped">;
  /** Whether the store has refused the credential. */
  readonly isStopped: boolean;
  /** Until when the store is left alone; null: it is not. */
  readonly pausedUntil: Instant | null;
}

/** Failures of a request between which others succeed. */
const MOST_TRIES = 3;
/** Longest that a request waits for a store that answers nobody. */
const PATIENCE = 2 * HOUR;
/** Pauses after failures in a row, where the store names no time. */
const PAUSES = [SECOND, 5 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE];
/** Status of an answer that arrived, and cannot be read. */
const READ = 200;

export const createGate = ({ now, wait }: Clock, perSecond: number): Gate => {
  const step = SECOND / perSecond;
  let nextAt = 0;
  let pausedUntil = 0;
  let failures = 0;
  let successes = 0;
  let isStopped = false;

  const turn = async (): Promise<void> => {
    for (;;) {
      const at = Math.max(now(), nextAt, pausedUntil);
      nextAt = at + step;
      const left = at - now();
      if (left > 0) await wait(Math.ceil(left));
      // Those that a pause has kept waiting go one after the other again.
      if (isStopped || pausedUntil <= now()) return;
    }
  };
  /** Requests that fail together count once. */
  const failed = (named: Instant | null): void => {
    if (named !== null) pausedUntil = Math.max(pausedUntil, named);
    if (now() < pausedUntil) return;
    pausedUntil = now() + (PAUSES[Math.min(failures, PAUSES.length - 1)] ?? 0);
    failures += 1;
  };

  return {
    ask: async (send, retryAt) => {
      let [tries, firstFailedAt, seen] = [0, Infinity, successes];
      for (;;) {
        await turn();
        if (isStopped) return "stopped";
        const answer = await send();
        if (answer.outcome === "credential-rejected") isStopped = true;
        if (answer.outcome !== "unavailable") {
          successes += 1;
          failures = 0;
          return answer;
        }
        if (answer.status === READ) return answer;
        failed(retryAt(answer));
        firstFailedAt = Math.min(firstFailedAt, now());
        if (successes > seen) tries += 1;
        seen = successes;
        if (tries >= MOST_TRIES || now() - firstFailedAt >= PATIENCE) return answer;
      }
    },
    get isStopped() {
      return isStopped;
    },
    get pausedUntil() {
      return pausedUntil > now() ? pausedUntil : null;
    },
  };
};

export const createGates = (clock: Clock, perSecond: (name: string) => number) => {
  const gates = new Map<string, Gate>();
  return {
    of: (name: string): Gate => {
      const gate = gates.get(name) ?? createGate(clock, perSecond(name));
      gates.set(name, gate);
      return gate;
    },
    all: (): ReadonlyMap<string, Gate> => gates,
  };
};
export type Gates = ReturnType<typeof createGates>;
