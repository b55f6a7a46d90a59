import type { Application, ApplicationDirectory } from "../applications/application.ts";
import type { Store } from "../contract/schemas.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";
import { ASKED_AFTER_END, isLongOver, lastHeard, nextAsk } from "../entitlements/next-ask.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import {
  afterFailure,
  HEALTHY,
  type Lease,
  type PauseReason,
  type QueueHealth,
} from "../freshness/queue-health.ts";
import { askedForAgain, type DueRefresh } from "../freshness/refresh.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { CustomerTable } from "./customer-table.ts";
import type { StoredPurchase } from "./records.ts";
import type { RefreshOutcome } from "./refresh-outcome.ts";
import type { QueueReference, RefreshQueue } from "./refresh-queue.ts";

export interface RefreshRun {
  readonly store: Store;
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  readonly queue: RefreshQueue;
  readonly table: Pick<CustomerTable, "findFacts">;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  /** Asks the store about a purchase, and stores its answer. Rejects if this service fails. */
  readonly ask: (application: Application, due: DueRefresh) => Promise<RefreshOutcome>;
  readonly newWorker: () => string;
  readonly now: () => Instant;
  /** Waits this many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Takes an unexpected failure of one refresh, or of one application's queue. */
  readonly onFailure: (error: unknown) => void;
}

/** Refreshes of one application per second: Google allows 50, and so does Apple for each of its endpoints. */
export const REFRESHES_PER_SECOND = 30;

/** Apple allows a tenth in its sandbox. Google counts test purchases with all others. */
export const SANDBOX_REFRESHES_PER_SECOND = 3;

/** Length of a worker's lease of a queue: longer than a turn and its last batch. A dead worker's lease expires. */
export const LEASE_MILLISECONDS = 60 * SECOND;

/** Time after which another application's queue has its turn. */
const TURN_MILLISECONDS = 10 * SECOND;

/** Delay of a refresh whose purchase cannot be read, so that it does not keep others out of their batches. */
const UNREADABLE_STEP = 60 * 60 * SECOND;

/**
 * Delay of an unanswered refresh while the store answers about others: at most the first while the renewal leeway may still
 * run, the second from a day after the purchase's end on.
 */
const UNANSWERED_STEP = 5 * MINUTE;
const UNANSWERED_LATER_STEP = HOUR;

/**
 * Longest time for which a refresh is put off while its bundle or package does not answer, so that each few minutes a run tells
 * how long it has been due.
 */
const PUT_OFF_AT_MOST = 4 * MINUTE;

/** Shortest time of a batch, however little of it is asked. */
const PUTTING_OFF_MILLISECONDS = SECOND / 4;

/**
 * Age from which a refresh is rescheduled even if its store stays unavailable, so that it does not hold up its queue.
 */
const MOVES_ON_AFTER = 60 * 60 * SECOND;

/** The bundle or package of a refresh, each of which has a credential of its own. */
export const bundleOrPackageOf = ({ source }: DueRefresh): string =>
  source.store === "ios-store" ? source.bundleIdentifier : source.packageName;

/** An application's bundles, or packages: each has a credential and a quota of its own. */
const namesIn = ({ iosStore, androidStore }: Application, store: Store): readonly string[] =>
  store === "ios-store"
    ? iosStore.map(({ bundleIdentifier }) => bundleIdentifier)
    : androidStore.map(({ packageName }) => packageName);

/**
 * Two refreshes that probe whether the store is back: one at a place that changes each time, and the newest. A few purchases
 * alone may cause the failures; they stay at the head of the queue, in front of purchases whose period has just ended.
 */
const probesAmong = (due: readonly DueRefresh[], place: number): readonly DueRefresh[] => {
  const newest = due.length - 1;
  const probed = place % due.length;
  return due.filter((_, index) => index === probed || index === newest);
};

/** Whether the store refused one purchase, and may do so for good: it is up. */
const isRefused = (one: RefreshOutcome): boolean =>
  one.outcome === "unavailable" && one.isOfThisPurchase === true;

/** Outcomes after which nothing that the store says is stored. */
const UNANSWERED: ReadonlySet<RefreshOutcome["outcome"]> = new Set([
  "credential-rejected",
  "unavailable",
  "unstored",
]);

/** Whether the store's answer about a purchase is not there, or the purchase was not asked about: null. */
const isUnanswered = (outcome: RefreshOutcome | null): boolean =>
  outcome === null || UNANSWERED.has(outcome.outcome);

/** Whether a period of the purchase ended within this time. */
const hasEndedWithin = (purchase: Purchase, milliseconds: number, moment: Instant): boolean =>
  purchase.lines.some(({ endsAt }) => endsAt !== null && endsAt <= moment && moment < endsAt + milliseconds);

/** A refresh of a batch, and its outcome; null: it was not tried, because its bundle or package cannot be asked about. */
interface Tried {
  readonly due: DueRefresh;
  readonly outcome: RefreshOutcome | null;
  /**
   * Time at which the store was asked. A question of somebody's since then has no answer yet, so the refresh stays due, once in a turn.
   * Null: it has stayed in this turn already.
   */
  readonly askedAt: Instant | null;
}

const textOf = ({ purchase, dueAt }: DueRefresh): string => `${dueAt} ${referenceText(purchase)}`;

/** Next time of a refresh that stored nothing, by the purchase's facts and the outcome; null: there is none. */
const nextByFacts = (
  { purchase, askAgainAt }: StoredPurchase,
  asked: RefreshOutcome,
  { isPaused, moment }: { readonly isPaused: boolean; readonly moment: Instant },
): Instant | null => {
  const cannotBeAnswered =
    asked.outcome === "unknown" || asked.outcome === "unconfigured" || isRefused(asked);
  if (cannotBeAnswered && isLongOver(purchase, moment)) return null;
  const next = nextAsk(purchase, moment, true)?.at ?? null;
  // A further time that a notification asked for is kept.
  const further = askAgainAt.find((at) => at > moment);
  if (further !== undefined) return Math.min(next ?? Infinity, further);
  const isLast = next === null && moment >= lastHeard(purchase) + ASKED_AFTER_END;
  if (isLast || isLongOver(purchase, moment)) return next;
  const atMost = (step: number): Instant => Math.min(next ?? Infinity, moment + step);
  // In a paused queue it has waited for an hour, and would be among those that are probed again.
  const isClose = !isPaused && hasEndedWithin(purchase, isUnanswered(asked) ? DAY : HOUR, moment);
  if (isClose && asked.outcome !== "unconfigured") return atMost(UNANSWERED_STEP);
  return isUnanswered(asked) && !isRefused(asked) ? atMost(UNANSWERED_LATER_STEP) : next;
};

/** Next time of a refresh that stored nothing; null: none. `asked-again`: somebody has asked for it since the store was asked. */
const nextOf = async (
  { table, now }: RefreshRun,
  { due, askedAt }: Tried,
  asked: RefreshOutcome,
  isPaused: boolean,
): Promise<Instant | null | "asked-again"> => {
  if (asked.outcome === "over") return null;
  const moment = now();
  const known = await table.findFacts(due.application, [], [due.purchase], moment);
  const stored = known.purchases.get(referenceText(due.purchase));
  if (stored === undefined) return null;
  const { askedForAt } = stored;
  if (askedAt !== null && askedForAt !== null && askedForAt > askedAt) return "asked-again";
  const next = nextByFacts(stored, asked, { isPaused, moment });
  const again = askedForAt === null ? null : askedForAgain(askedForAt, moment);
  return again === null ? next : Math.min(next ?? Infinity, again);
};

/** Moves a refresh that stored nothing to its next time, or out of the queue. */
const moveOn = async (
  run: RefreshRun,
  tried: Tried,
  outcome: RefreshOutcome,
  isPaused: boolean,
): Promise<"settled" | "asked-again"> => {
  const to = await nextOf(run, tried, outcome, isPaused).catch((error: unknown) => {
    run.onFailure(error);
    return run.now() + UNREADABLE_STEP;
  });
  return to === "asked-again" ? to : run.queue.move(tried.due, to, tried.askedAt);
};

/** Counts of a run so far, and the bundles and packages that it put off. */
export interface RefreshProgress {
  refreshed: number;
  failed: number;
  /** Bundles and packages whose refreshes were put off, by queue and name. */
  readonly putOff: Map<string, PutOff>;
}

/** A bundle or package whose refreshes a run put off. */
export interface PutOff {
  readonly reference: QueueReference;
  readonly bundleOrPackage: string;
  readonly health: QueueHealth;
  /** Time since which its oldest refresh has been due. */
  readonly dueSince: Instant;
}

/** Tries one refresh. One already tried in this turn that is still due counts as failed, and so moves on. */
const tryOne = async (
  run: RefreshRun,
  application: Application,
  due: DueRefresh,
  tried: ReadonlySet<string>,
): Promise<RefreshOutcome> => {
  if (tried.has(textOf(due))) return { outcome: "failed" };
  try {
    return await run.ask(application, due);
  } catch (error) {
    run.onFailure(error);
    return { outcome: "unstored" };
  }
};

/** Whether the store answered, even if only that it does not know the purchase. */
const isAnswer = ({ outcome }: RefreshOutcome): boolean =>
  outcome === "stored" || outcome === "over" || outcome === "unknown";

/** Why something cannot be asked about now, and the time that the store named; null: none. */
interface Hindrance {
  readonly because: PauseReason;
  readonly retryAt: Instant | null;
}

/**
 * Why there is no point in asking on after these outcomes; null: there is. One answer shows that the store is up, unless it
 * named a retry time.
 */
const hindranceIn = (outcomes: readonly RefreshOutcome[]): Hindrance | null => {
  const failures = outcomes.filter((one) => one.outcome === "unavailable");
  const named = failures.flatMap(({ retryAt }) => retryAt ?? []);
  if (named.length > 0) return { because: "unavailable", retryAt: Math.max(...named) };
  if (outcomes.some(isAnswer) || outcomes.some(isRefused)) return null;
  if (outcomes.some(({ outcome }) => outcome === "credential-rejected"))
    return { because: "credential-rejected", retryAt: null };
  return failures.length > 0 ? { because: "unavailable", retryAt: null } : null;
};

/** Time until which a refresh of a bundle or package that cannot be asked about now is put off. */
const putOffUntil = ({ because, pausedUntil }: QueueHealth, moment: Instant): Instant =>
  because === "credential-rejected" ? pausedUntil : Math.min(pausedUntil, moment + PUT_OFF_AT_MOST);

/**
 * Moves what a batch has not stored. Returns what stays due, because somebody has asked for it since the store was asked.
 *
 * @param failing health of the refresh's bundle or package, where the application has others; null: it is asked about
 * @param onWaiting takes what has to wait, and the time since which it has been due
 */
const settle = async (
  run: RefreshRun,
  batch: readonly Tried[],
  isPaused: boolean,
  failing: (due: DueRefresh) => QueueHealth | null,
  onWaiting: (due: DueRefresh, health: QueueHealth, dueSince: Instant) => void,
): Promise<readonly DueRefresh[]> => {
  const settleOne = async (tried: Tried): Promise<"settled" | "asked-again"> => {
    const { due, outcome, askedAt } = tried;
    if (outcome?.outcome === "stored") return "settled";
    // It stayed because somebody asked, and its bundle or package is paused. The next turn reads whether an operator ended the pause.
    if (outcome === null && askedAt === null) return "asked-again";
    const moment = run.now();
    const dueSince = due.dueSince ?? due.dueAt;
    const hasWaited = moment - dueSince >= MOVES_ON_AFTER;
    const health = failing(due);
    if (isUnanswered(outcome)) {
      // In a paused queue, unanswered ones stay at first.
      if (isPaused && !hasWaited) return "settled";
      if (health !== null) {
        onWaiting(due, health, dueSince);
        if (outcome === null || !hasWaited)
          return run.queue.putOff(due, putOffUntil(health, moment), askedAt);
      }
    }
    // Not asked, and its pause has ended meanwhile: the next batch has it.
    return outcome === null ? "settled" : moveOn(run, tried, outcome, isPaused || health !== null);
  };
  const settled = await Promise.all(
    batch.map((tried) =>
      settleOne(tried).catch((error: unknown) => {
        run.onFailure(error);
        return "settled" as const;
      }),
    ),
  );
  return batch.flatMap(({ due }, index) => (settled[index] === "asked-again" ? [due] : []));
};

/** Health after outcomes: the next failure of a row, healthy after an answer, otherwise as before. */
const healthAfter = (
  before: QueueHealth,
  outcomes: readonly RefreshOutcome[],
  moment: Instant,
): QueueHealth => {
  const hindrance = hindranceIn(outcomes);
  if (hindrance !== null) return afterFailure(before, hindrance.because, moment, hindrance.retryAt);
  return outcomes.some((one) => isAnswer(one) || isRefused(one)) ? HEALTHY : before;
};

/**
 * Processes one application's queue for a turn, or until it is empty or paused. A store that cannot be asked pauses the queue of
 * an application's only bundle or package. Of several, it puts off the refreshes of that one, which leave the queue to the others.
 *
 * @returns `more`: the queue needs another turn; `left`: refreshes are due, but have to wait
 */
export const workOff = async (
  run: RefreshRun,
  reference: QueueReference,
  until: Instant,
  progress: RefreshProgress,
): Promise<"empty" | "more" | "left"> => {
  const { queue, now, directory } = run;
  const [first] = await queue.due(reference, now(), 1);
  if (first === undefined) return "empty";
  const application = await directory.byIdentifier(reference.application);
  if (application === null) return "left";
  const worker = run.newWorker();
  const lease: Lease = { worker, until: now() + LEASE_MILLISECONDS };
  const taken = await queue.take(reference, lease, now());
  if (taken === null) return "left";

  const names = namesIn(application, reference.store);
  const isShared = names.length > 1;
  let health: QueueHealth = HEALTHY;
  const byName = new Map<string, QueueHealth>();
  if (!isShared) health = taken;
  else for (const name of names) byName.set(name, taken.byName.get(name) ?? HEALTHY);
  const healthOf = (name: string): QueueHealth => (isShared ? (byName.get(name) ?? HEALTHY) : health);
  const failing = (due: DueRefresh): QueueHealth | null => {
    const known = byName.get(bundleOrPackageOf(due)) ?? HEALTHY;
    return known.pausedUntil > now() ? known : null;
  };
  /** Forgets the pauses from before this turn that an operator has ended since. */
  const forgetEndedPauses = async (): Promise<void> => {
    const stored = await queue.healthOf(reference);
    for (const [name, known] of taken.byName)
      if (byName.get(name) === known && !stored.byName.has(name)) byName.set(name, HEALTHY);
  };
  const onWaiting = (due: DueRefresh, known: QueueHealth, dueSince: Instant): void => {
    const bundleOrPackage = bundleOrPackageOf(due);
    const text = `${reference.application} ${reference.environment} ${bundleOrPackage}`;
    const oldest = Math.min(dueSince, progress.putOff.get(text)?.dueSince ?? Infinity);
    progress.putOff.set(text, { reference, bundleOrPackage, health: known, dueSince: oldest });
  };

  const turnEnds = Math.min(until, now() + TURN_MILLISECONDS);
  const triedBefore = new Set<string>();
  const stayed = new Set<string>();
  const isLive = reference.environment === "production";
  const perSecond = isLive ? REFRESHES_PER_SECOND : SANDBOX_REFRESHES_PER_SECOND;
  const read = async (): Promise<readonly DueRefresh[]> => queue.due(reference, now(), perSecond);
  /** The refreshes to try in the next second: those that were read or, after a failure, two of each bundle or package. */
  const batchOf = (due: readonly DueRefresh[]): readonly DueRefresh[] =>
    [...Map.groupBy(due, bundleOrPackageOf)].flatMap(([name, some]) => {
      const { failures, pausedUntil } = healthOf(name);
      return failures > 0 && pausedUntil <= now() ? probesAmong(some, failures) : some;
    });
  try {
    // Read under the lease: another worker may have refreshed them since.
    let due = await read();
    while (due.length > 0 && now() < turnEnds) {
      const began = now();
      if (due.some((one) => failing(one) !== null)) await forgetEndedPauses();
      const tried: readonly Tried[] = await Promise.all(
        batchOf(due).map(async (one) => ({
          due: one,
          askedAt: stayed.has(textOf(one)) ? null : now(),
          outcome: failing(one) === null ? await tryOne(run, application, one, triedBefore) : null,
        })),
      );
      for (const { due: one, outcome } of tried) if (outcome !== null) triedBefore.add(textOf(one));
      const outcomes = tried.flatMap(({ outcome }) => outcome ?? []);
      const answered = outcomes.filter(isAnswer).length;
      progress.refreshed += answered;
      progress.failed += tried.length - answered;
      if (isShared)
        for (const [name, some] of Map.groupBy(tried, ({ due: one }) => bundleOrPackageOf(one)))
          byName.set(
            name,
            healthAfter(
              healthOf(name),
              some.flatMap(({ outcome }) => outcome ?? []),
              now(),
            ),
          );
      else health = healthAfter(health, outcomes, now());
      const isPaused = health.pausedUntil > now();
      for (const one of await settle(run, tried, isPaused, failing, onWaiting)) {
        stayed.add(textOf(one));
        triedBefore.delete(textOf(one));
      }
      if (isPaused) return "left";
      due = await read();
      if (due.length === 0) break;
      if (due.every((one) => stayed.has(textOf(one)) && failing(one) !== null)) return "left";
      // A store is asked a second's share in a second; putting off takes no share of it.
      const share = isShared ? outcomes.length / perSecond : 1;
      const atLeast = Math.max(PUTTING_OFF_MILLISECONDS, Math.ceil(share * SECOND));
      await run.wait(Math.max(0, began + atLeast - now()));
    }
    return due.length === 0 ? "empty" : "more";
  } finally {
    const failed = [...byName].filter(([, { failures }]) => failures > 0);
    await queue.release(reference, lease, { ...health, byName: new Map(failed) });
  }
};
