import { Mutex } from "async-mutex";
import type { Instant } from "../lib/entitlements/time.ts";

/** A sandbox store, as the clock drives it. */
export interface TimedStore {
  /** Moment of its next event: a renewal, the end of a grace period, a push to be sent again; null: none is due. */
  nextEventAt(): Instant | null;
  /** Runs every event due by the moment, in order; resolves when its notifications were answered or have failed. */
  runUntil(moment: Instant): Promise<void>;
  /** Forgets everything it sold. */
  reset(): void;
  /** Everything it sold, as JSON text for the data folder. */
  save(): string;
}

export const earliest = (...moments: readonly (Instant | null)[]): Instant | null => {
  const first = Math.min(...moments.map((moment) => moment ?? Infinity));
  return first === Infinity ? null : first;
};

interface DueEvent {
  readonly key: string;
  readonly at: Instant;
}

/** The next event of each of many keys. Finding the first takes a look at all of them, once after each event. */
export const createDue = () => {
  const events = new Map<string, Instant | null>();
  /** Undefined: to be found. */
  let known: DueEvent | null | undefined = null;

  const find = (): DueEvent | null => {
    let first: DueEvent | null = null;
    for (const [key, at] of events) if (at !== null && (first === null || at < first.at)) first = { key, at };
    return first;
  };

  return {
    /** @param at null: the key has no event */
    set: (key: string, at: Instant | null): void => {
      events.set(key, at);
      if (known?.key === key || (at !== null && at <= (known?.at ?? Infinity))) known = undefined;
    },
    delete: (key: string): void => {
      events.delete(key);
      if (known?.key === key) known = undefined;
    },
    /** The earliest event; of several, that of the key which was set first. */
    first: (): DueEvent | null => (known = known === undefined ? find() : known),
    clear: (): void => {
      events.clear();
      known = null;
    },
  };
};

/** Events of a store as time passes: those of its shop, and pushes that are sent again. */
interface Parts {
  readonly shop: {
    nextEvent(): DueEvent | null;
    /** Runs the next event, at its moment, and publishes its notifications. */
    passNextEvent(): void;
  };
  readonly pushes: {
    nextAt(): Instant | null;
    sendDue(moment: Instant): void;
    sent(): Promise<void>;
  };
}

export type Timeline = ReturnType<typeof createTimeline>;

/** A store's time: events happen in order, in one run after the other. */
export const createTimeline = ({ shop, pushes }: Parts, now: () => Instant) => {
  const turns = new Mutex();
  const nextEventAt = (): Instant | null => earliest(shop.nextEvent()?.at ?? null, pushes.nextAt());
  const pass = async (moment: Instant): Promise<void> => {
    await pushes.sent();
    for (let next = nextEventAt(); next !== null && next <= moment; next = nextEventAt()) {
      if (shop.nextEvent()?.at === next) shop.passNextEvent();
      else pushes.sendDue(next);
      await pushes.sent();
    }
  };
  return {
    nextEventAt,
    runUntil: async (moment: Instant): Promise<void> => turns.runExclusive(async () => pass(moment)),
    /** Acts once everything due has happened; answers once what the act makes due has happened and was pushed. */
    inTurn: async <Answer>(act: (at: Instant) => () => Answer): Promise<Answer> =>
      turns.runExclusive(async () => {
        await pass(now());
        const at = now();
        const answer = act(at);
        await pass(at);
        return answer();
      }),
  };
};
