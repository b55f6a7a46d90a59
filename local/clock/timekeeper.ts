import { Mutex } from "async-mutex";
import * as z from "zod";
import { DAY, HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import { isoTime, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { type TimedStore } from "../../sandbox/clock.ts";
import { period, time } from "../../sandbox/fields.ts";
import { found, refusal, serveRoutes, withBody, type Answer, type Mount } from "../../sandbox/routes.ts";
import { functionIdIn, type Assembly } from "../lambda/assembly.ts";
import type { InvocationResult } from "../lambda/functions.ts";
import type { MovedClock } from "./moved-clock.ts";

const rule = z.object({
  ScheduleExpression: z.string(),
  State: z.literal("ENABLED"),
  Targets: z.array(z.object({ Arn: z.string() })),
});

/** Logical ids of the functions that the template's schedules invoke. */
export const scheduledFunctionsOf = (assembly: Assembly): string[] =>
  [...assembly.resourcesOf("AWS::Events::Rule", rule).values()].flatMap(({ Targets }) =>
    Targets.map(({ Arn }) => functionIdIn(Arn)),
  );

export type Schedules = ReturnType<typeof createSchedules>;

/**
 * Scheduled functions. Two runs of one schedule never overlap; a failure is logged when it begins, not at each run.
 *
 * @param invoke invokes a function without logging its failure
 */
export const createSchedules = (
  functionIds: readonly string[],
  invoke: (functionId: string) => Promise<InvocationResult>,
  log: (line: string) => void,
) => {
  let stopped = false;
  const running = new Map<string, Promise<void>>();
  const failures = new Map<string, string | null>();

  const run = async (id: string): Promise<void> => {
    const failure = await invoke(id).then(
      (result) => (result.status === "failed" ? `${result.errorType}: ${result.errorMessage}` : null),
      String,
    );
    if (!stopped && failure !== null && failure !== failures.get(id))
      log(`${id}, on its schedule: ${failure}`);
    failures.set(id, failure);
    running.delete(id);
  };
  const start = async (id: string): Promise<void> => {
    if (!running.has(id)) running.set(id, run(id));
    await running.get(id);
  };

  return {
    start: (): void => {
      if (!stopped) for (const id of functionIds) void start(id);
    },
    /** Runs every schedule once, after any run in progress. */
    runAll: async (): Promise<void> => {
      const runAgain = async (id: string): Promise<void> => {
        await running.get(id);
        await start(id);
      };
      if (!stopped) await Promise.all(functionIds.map(runAgain));
    },
    idle: async (): Promise<void> => {
      await Promise.all(running.values());
    },
    /** No run starts or is logged from now on. */
    stop: (): void => {
      stopped = true;
    },
  };
};

export class ImpossibleMove extends Error {}

const TICK_MILLISECONDS = 1000;

/** Delays after a store's last event at which the service tries again, so the schedules run. */
const AFTER_EVENT = [10 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR];

/** Furthest ahead of real time, so that the sandbox's certificates are valid and a move ends. */
const FURTHEST_YEARS = 10;

/** Stops of a move, after which there is one a day. */
const MOST_STOPS = 10_000;

const requirePossible = (now: Instant, target: Instant): void => {
  if (target < now)
    throw new ImpossibleMove(
      `The clock moves only forwards, and it is at ${isoTime(now)}; to go back, reset it.`,
    );
  if (target > Date.now() + FURTHEST_YEARS * 365 * DAY)
    throw new ImpossibleMove(`The clock moves at most ${FURTHEST_YEARS} years ahead of real time.`);
};

/** Drives the stores and the schedules, by the second and through every move of the clock. */
export const createTimekeeper = (options: {
  readonly clock: MovedClock;
  readonly stores: Readonly<Record<string, TimedStore>>;
  readonly schedules: Schedules;
  /** Called after the clock was moved or an event has happened. */
  readonly onChange: () => void;
  readonly log: (line: string) => void;
}) => {
  const { clock, stores, schedules, onChange, log } = options;
  const turns = new Mutex();
  const stopping = new AbortController();
  let lastEvent = Number.NEGATIVE_INFINITY;
  let moves = 0;
  let timer: NodeJS.Timeout | undefined;

  const asMove = async (work: () => Promise<void>): Promise<void> => {
    moves += 1;
    await turns.runExclusive(work).finally(() => (moves -= 1));
  };

  const events = (): Instant[] => Object.values(stores).flatMap((store) => store.nextEventAt() ?? []);

  /** Resolves with whether an event was due. */
  const runStores = async (moment: Instant): Promise<boolean> => {
    const isDue = events().some((event) => event <= moment);
    // A store that fails holds up no other.
    await Promise.all(
      Object.entries(stores).map(async ([name, store]) =>
        store.runUntil(moment).catch((error: unknown) => log(`${name}: ${String(error)}`)),
      ),
    );
    if (isDue) lastEvent = moment;
    return isDue;
  };

  const tick = async (): Promise<void> => {
    if (moves > 0) return;
    schedules.start();
    if (turns.isLocked()) return;
    if (await turns.runExclusive(async () => runStores(clock.now()))) onChange();
  };

  const visit = async (moment: Instant): Promise<void> => {
    clock.moveTo(moment);
    await runStores(moment);
    await schedules.runAll();
    if (!stopping.signal.aborted) onChange();
  };

  const nextStop = (moment: Instant, target: Instant, stops: number): Instant => {
    const day = Math.min(moment + DAY, target);
    if (stops > MOST_STOPS) return day;
    const due = [...events(), ...AFTER_EVENT.map((after) => lastEvent + after)];
    return Math.min(day, ...due.filter((event) => event > moment));
  };

  const travel = async (targetFrom: (now: Instant) => Instant): Promise<void> => {
    let moment = clock.now();
    const target = targetFrom(moment);
    requirePossible(moment, target);
    await visit(moment);
    for (let stops = 1; moment < target && !stopping.signal.aborted; stops += 1) {
      if (stops === MOST_STOPS)
        log(`The clock has stopped ${MOST_STOPS} times on its way; from here on it stops once a day.`);
      moment = nextStop(moment, target, stops);
      await visit(moment);
    }
  };

  return {
    /** Runs stores and schedules every second. */
    start: (): void => {
      timer = setInterval(() => void tick(), TICK_MILLISECONDS);
    },
    /**
     * Moves the clock, stopping at everything that falls due on the way: each event of a store, the schedules' times
     * after it, and each day. Moves run one after the other.
     *
     * @param targetFrom the target, from the moment at which the move begins
     * @throws ImpossibleMove before anything has moved
     */
    move: async (targetFrom: (now: Instant) => Instant): Promise<void> =>
      asMove(async () => travel(targetFrom)),
    /** Runs the work between moves, while no schedule runs, and forgets the last event. */
    reset: async (work: () => Promise<void>): Promise<void> =>
      asMove(async () => {
        await schedules.idle();
        await work();
        lastEvent = Number.NEGATIVE_INFINITY;
      }),
    /** Ends a move at its next stop. */
    stop: (): void => {
      stopping.abort();
      clearInterval(timer);
      schedules.stop();
    },
  };
};

export const CLOCK_PATH = "/sandbox/clock";

export const moveRequest = z
  .strictObject({ advance: period.optional(), at: time.optional(), reset: z.literal(true).optional() })
  .refine((moves) => Object.keys(moves).length === 1, {
    message: 'exactly one is expected of "advance", "at" and "reset"',
  });

/**
 * The clock of the local run: `GET` reads it, `POST` moves it with `{"advance": "P1M"}`, `{"at": "<ISO time>"}` or
 * `{"reset": true}`. Both answer `{ "now": "<ISO time>" }`, a move once it is complete.
 */
export const createClockEndpoint = ({
  clock,
  timekeeper,
  reset,
  log,
}: {
  readonly clock: MovedClock;
  readonly timekeeper: Pick<ReturnType<typeof createTimekeeper>, "move" | "reset">;
  /** Takes the whole service back to real time and to its first state. */
  readonly reset: () => Promise<void>;
  readonly log: (line: string) => void;
}): Mount => {
  const read = (): Answer => found({ now: isoTime(clock.now()) });
  const move = async ({ advance, at }: z.output<typeof moveRequest>): Promise<void> => {
    if (advance !== undefined) return timekeeper.move((now) => plusPeriod(now, advance));
    if (at !== undefined) return timekeeper.move(() => at);
    return timekeeper.reset(reset);
  };
  return serveRoutes("", {
    [`GET ${CLOCK_PATH}`]: read,
    [`POST ${CLOCK_PATH}`]: withBody(moveRequest, async (wanted) => {
      try {
        await move(wanted);
        return read();
      } catch (error) {
        if (error instanceof ImpossibleMove) return refusal(400, error.message);
        log(String(error));
        return refusal(500, "The clock could not be moved; the service's output says why.");
      }
    }),
  });
};
