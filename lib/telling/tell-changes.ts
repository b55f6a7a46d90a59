import { tellsChanges, type Application, type ApplicationDirectory } from "../applications/application.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { inTurns } from "../in-turns.ts";
import type { ChangeTable, TellingTurn } from "./change-table.ts";
import type { Look } from "./look.ts";
import { tellAccounts, type AccountLooks, type TellingStep } from "./tell-accounts.ts";

export interface TellingRun extends TellingStep {
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  readonly changes: ChangeTable;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  readonly newWorker: () => string;
  readonly pause: (attempt: number) => Promise<void>;
  /** Takes an unexpected failure of one application's telling. */
  readonly onFailure: (error: unknown) => void;
}

/** Outcome of a run. */
export interface TellingReport {
  /** Versions told. */
  readonly told: number;
  /** Age of the oldest look that is still due, in milliseconds; 0: none is. */
  readonly oldest: number;
}

const SECOND = 1000;

/** Applications that are told for at the same time. */
const APPLICATIONS_AT_ONCE = 5;

/** Time for which a worker tells for an application. One that dies gives way after it. */
const LEASE_MILLISECONDS = 60 * SECOND;

/** Time after which another application has its turn. */
const TURN_MILLISECONDS = 20 * SECOND;

/** Looks read at once. */
const LOOKS_PER_READ = 300;

/** Accounts read at once; their telling takes several transactions. */
const ACCOUNTS_AT_ONCE = 30;

/** Looks of one account that a telling answers; a transaction has room for them. */
const LOOKS_PER_ACCOUNT = 40;

/** Attempts in a row that bring nothing, before another invocation goes on. */
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
  application: Application,
  until: Instant,
  progress: Progress,
): Promise<"done" | "more"> => {
  const { changes, now, pause } = run;
  const { identifier } = application;
  const [first] = await changes.due(identifier, now(), 1);
  if (first === undefined) return "done";
  const worker = run.newWorker();
  let turn: TellingTurn | null = await changes.take(identifier, worker, now() + LEASE_MILLISECONDS, now());
  if (turn === null) {
    progress.oldest = Math.max(progress.oldest, now() - first.dueAt);
    return "done";
  }
  const turnEnds = Math.min(until, now() + TURN_MILLISECONDS);
  try {
    for (let attempt = 1; attempt <= ATTEMPTS && now() < turnEnds;) {
      const looks = await changes.due(identifier, now(), LOOKS_PER_READ);
      if (looks.length === 0) return "done";
      const outcome = await tellAccounts(run, application, turn, byAccount(looks).slice(0, ACCOUNTS_AT_ONCE));
      progress.told += outcome.turn.sequence - turn.sequence;
      turn = outcome.turn;
      if (outcome.outcome === "told") attempt = 1;
      else await pause((attempt += 1));
    }
    const [left] = await changes.due(identifier, now(), 1);
    if (left !== undefined) progress.oldest = Math.max(progress.oldest, now() - left.dueAt);
    return left === undefined || now() >= until ? "done" : "more";
  } finally {
    await changes.release(identifier, worker);
  }
};

/**
 * Looks at the accounts that may have changed, of all applications that are told of changes, and tells those that differ
 * from what was last told. One worker at a time tells for an application.
 *
 * @param until nothing starts from this moment on
 * @param only the applications that are told for; unset: all
 */
export const tellChanges = async (
  run: TellingRun,
  until: Instant,
  only?: readonly ApplicationId[],
): Promise<TellingReport> => {
  const progress: Progress = { told: 0, oldest: 0 };
  await inTurns(only ?? (await run.applications()), APPLICATIONS_AT_ONCE, async (identifier) => {
    if (run.now() >= until) return "done";
    try {
      const application = await run.directory.byIdentifier(identifier);
      if (application === null || !tellsChanges(application)) return "done";
      return await tellFor(run, application, until, progress);
    } catch (error) {
      run.onFailure(error);
      return "done";
    }
  });
  return progress;
};
