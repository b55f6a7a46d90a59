import { tellsChanges, type Application, type ApplicationDirectory } from "../applications/application.ts";
import { SECOND } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, ApplicationId } from "../identifiers.ts";
import { fromOthersEachMinute, inTurns } from "../queues/turns.ts";
import type { ChangeTable } from "./change-table.ts";
import type { Look } from "./look.ts";
import type { AccountLooks, TellingStep } from "./tell-accounts.ts";
import { tellTogether, type TogetherOutcome } from "./tell-together.ts";

export interface TellingRun extends TellingStep {
  /** Cached applications, to skip those that tell no changes. */
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  /**
   * An application as it is now, uncached: no later look would correct what an outdated catalog told, or deliver a
   * version to a destination that was missed.
   */
  readonly currentApplication: (identifier: ApplicationId) => Promise<Application | null>;
  readonly changes: ChangeTable;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  readonly newWorker: () => string;
  readonly pause: (attempt: number) => Promise<void>;
  /** Receives an unexpected failure in telling one application, or one of its accounts. */
  readonly onFailure: (error: unknown) => void;
}

/** Outcome of a run. */
export interface TellingReport {
  /** Versions told. */
  readonly told: number;
  /** Age of the oldest due look, in milliseconds; 0: none is due. */
  readonly oldest: number;
}

/** Applications processed at the same time. */
const APPLICATIONS_AT_ONCE = 5;

/** Length of a worker's lease of an application. A dead worker's lease expires. */
const LEASE_MILLISECONDS = 60 * SECOND;

/** Time after which another application has its turn. */
const TURN_MILLISECONDS = 20 * SECOND;

/** Looks read at once. */
const LOOKS_PER_READ = 300;

/** Accounts read at once; their telling takes several transactions. */
const ACCOUNTS_AT_ONCE = 30;

/** Looks of one account that one telling completes; they fit in a transaction. */
const LOOKS_PER_ACCOUNT = 40;

/** Consecutive attempts without progress before the rest is left to another invocation. */
const ATTEMPTS = 8;

const byAccount = (looks: readonly Look[]): readonly AccountLooks[] =>
  [...Map.groupBy(looks, ({ account }) => account)].map(([account, some]) => ({
    account,
    looks: some.slice(0, LOOKS_PER_ACCOUNT),
  }));

interface Progress {
  told: number;
  oldest: number;
}

/** Tells for one application for a turn, or until no look is due. */
const tellFor = async (
  run: TellingRun,
  identifier: ApplicationId,
  until: Instant,
  progress: Progress,
): Promise<"done" | "more"> => {
  const { changes, now, pause } = run;
  const [first] = await changes.due(identifier, now(), 1);
  if (first === undefined) return "done";
  const worker = run.newWorker();
  const take = async () => changes.take(identifier, { worker, until: now() + LEASE_MILLISECONDS }, now());
  let turn = await take();
  if (turn === null) {
    progress.oldest = Math.max(progress.oldest, now() - first.dueAt);
    return "done";
  }
  const turnEnds = Math.min(until, now() + TURN_MILLISECONDS);
  const failed = new Set<AccountId>();
  const busy = new Set<AccountId>();
  let looksPerRead = LOOKS_PER_READ;
  let isAnyLeft = true;
  try {
    for (let attempt = 1; attempt <= ATTEMPTS && now() < turnEnds && turn !== null && isAnyLeft;) {
      const looks = await changes.due(identifier, now(), looksPerRead);
      const open = looks.filter(({ account }) => !failed.has(account) && !busy.has(account));
      if (open.length > 0) {
        const application = await run.currentApplication(identifier);
        if (application === null || !tellsChanges(application)) return "done";
        const accounts = byAccount(open).slice(0, ACCOUNTS_AT_ONCE);
        const sequence: number = turn.sequence;
        const outcome: TogetherOutcome = await tellTogether(run, application, turn, take, accounts);
        for (const { account, error } of outcome.failed) {
          failed.add(account);
          run.onFailure(error);
        }
        for (const account of outcome.busy) busy.add(account);
        turn = outcome.turn;
        progress.told += (turn?.sequence ?? sequence) - sequence;
        if (outcome.busy.length + outcome.failed.length < accounts.length) attempt = 1;
      } else if (looks.length === looksPerRead) looksPerRead += LOOKS_PER_READ;
      else if (busy.size > 0) {
        busy.clear();
        await pause((attempt += 1));
      } else isAnyLeft = false;
    }
    const [left] = await changes.due(identifier, now(), 1);
    if (left !== undefined) progress.oldest = Math.max(progress.oldest, now() - left.dueAt);
    return isAnyLeft && turn !== null && now() < until ? "more" : "done";
  } finally {
    await changes.release(identifier, { worker });
  }
};

/**
 * Processes the due looks of all applications that tell changes, and tells the accounts that differ from what was last
 * told. One worker at a time tells for an application.
 *
 * @param until nothing starts from this moment on
 * @param only applications to tell for; unset: all
 */
export const tellChanges = async (
  run: TellingRun,
  until: Instant,
  only?: readonly ApplicationId[],
): Promise<TellingReport> => {
  const progress: Progress = { told: 0, oldest: 0 };
  const all = only ?? (await run.applications());
  const inOrder = fromOthersEachMinute(all, APPLICATIONS_AT_ONCE, run.now());
  await inTurns(new Map(inOrder.map((one) => [one, one])), APPLICATIONS_AT_ONCE, async (identifier) => {
    if (run.now() >= until) return "done";
    try {
      const application = await run.directory.byIdentifier(identifier);
      if (application === null || !tellsChanges(application)) return "done";
      return await tellFor(run, identifier, until, progress);
    } catch (error) {
      run.onFailure(error);
      return "done";
    }
  });
  return progress;
};
