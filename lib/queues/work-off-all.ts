import { MINUTE } from "../duration.ts";
import type { ApplicationId } from "../identifiers.ts";
import { onceLoaded } from "../once.ts";
import { eachAlone, type Run, type Turn, type WorkedOff } from "./work-off.ts";

export interface RunOfAll extends Run {
  /** Waits a second in real time, while a slow queue holds the run up. Unset: the others are not looked at again. */
  readonly untilNextLook?: () => Promise<void>;
}

interface Together {
  readonly atOnce: number;
  /** No batch starts from this moment on. */
  readonly until: number;
  /** Queues that are looked at beside the first while some hold the run up. Unset: none. */
  readonly others?: () => Promise<ReadonlyMap<string, Turn>>;
}

/** Multiples of the golden ratio, less their whole numbers, spread evenly from 0 to 1, however many there are. */
const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

/**
 * The list from another place on in each period: whatever a run has no time for, the next ones begin with it.
 *
 * @param period in milliseconds, as the moment
 */
export const fromAnotherPlace = <T>(list: readonly T[], period: number, moment: number): readonly T[] => {
  const place = (Math.floor(moment / period) * GOLDEN_RATIO) % 1;
  const first = Math.floor(place * list.length);
  return [...list.slice(first), ...list.slice(0, first)];
};

const WAITING: WorkedOff = { state: "waiting", oldest: null };

/**
 * Gives queues their turns, several at once, until none has more. While slow ones hold the run up, the others are looked
 * at again, except those whose items have to wait. A failure of one queue concerns it alone.
 *
 * @returns how each queue was left
 */
export const workOffAll = async (
  first: ReadonlyMap<string, Turn>,
  run: RunOfAll,
  { atOnce, until, others }: Together,
): Promise<ReadonlyMap<string, WorkedOff>> => {
  const { now, untilNextLook, onFailure } = run;
  const known = new Map(first);
  const ready = new Set(fromAnotherPlace([...first.keys()], MINUTE, now()));
  const working = new Map<string, Promise<void>>();
  const left = new Map<string, WorkedOff>();

  const turnOf = async (turn: Turn): Promise<WorkedOff> => {
    if (now() >= until) return WAITING;
    return turn(until).catch((error: unknown) => {
      onFailure(error);
      return WAITING;
    });
  };
  const work = async (name: string, queue: Turn): Promise<void> => {
    const outcome = await turnOf(queue);
    left.set(name, outcome);
    working.delete(name);
    if (outcome.state === "more") ready.add(name);
  };
  const begin = (name: string): void => {
    ready.delete(name);
    const queue = known.get(name);
    if (queue !== undefined) working.set(name, work(name, queue));
  };
  const lookAgain = async (): Promise<void> => {
    const more = await others?.().catch(onFailure);
    for (const [name, queue] of more ?? []) known.set(name, queue);
    for (const name of known.keys())
      if (!working.has(name) && left.get(name)?.state !== "waiting") ready.add(name);
  };

  while (ready.size + working.size > 0) {
    for (const name of ready) if (working.size < atOnce) begin(name);
    const turn = Promise.race(working.values());
    if (untilNextLook === undefined || ready.size > 0) {
      await turn;
      continue;
    }
    const isHeldUp = await Promise.race([turn.then(() => false), untilNextLook().then(() => true)]);
    if (isHeldUp && now() < until) await lookAgain();
  }
  return left;
};

export interface RunOfApplications<Application extends object> extends RunOfAll {
  /** Applications, possibly cached. One that cannot be read is reported, and left out. */
  readonly directory: { byIdentifier(identifier: ApplicationId): Promise<Application | null> };
  readonly applications: () => Promise<readonly ApplicationId[]>;
}

/** @param only applications to begin with; the others have their turns while one of these holds the run up. Unset: all */
export const workOffApplications = async <Application extends object>(
  run: RunOfApplications<Application>,
  turnsOf: (application: Application) => Iterable<readonly [name: string, turn: Turn]>,
  { only, ...together }: Omit<Together, "others"> & { readonly only?: readonly ApplicationId[] | undefined },
): Promise<ReadonlyMap<string, WorkedOff>> => {
  const read = eachAlone((one: ApplicationId) => run.directory.byIdentifier(one), run.onFailure);
  const turnsOfAll = async (identifiers: readonly ApplicationId[]) =>
    new Map(
      (await read(identifiers)).flatMap((application) => (application ? [...turnsOf(application)] : [])),
    );
  const first = await turnsOfAll(only ?? (await run.applications()));
  const others = onceLoaded(async () => turnsOfAll(await run.applications()));
  return workOffAll(first, run, { ...together, ...(only !== undefined && { others }) });
};
