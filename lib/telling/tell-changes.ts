import { tellsChanges, type Application } from "../applications/application.ts";
import { MINUTE } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, ApplicationId } from "../identifiers.ts";
import { HEALTHY, type Lease } from "../queues/health.ts";
import { workOffApplications, type RunOfApplications } from "../queues/work-off-all.ts";
import { turnOf, type Outcome, type Work } from "../queues/work-off.ts";
import type { ChangeTable, TellingTurn } from "./change.ts";
import { tellAccounts, type AccountLooks, type TellingStep } from "./tell-accounts.ts";

export interface TellingRun extends TellingStep, RunOfApplications<Application> {
  /** As it is now, uncached: no later look would correct what an outdated catalog told, or a missed destination. */
  readonly currentApplication: (identifier: ApplicationId) => Promise<Application | null>;
}

export interface TellingReport {
  /** Versions told. */
  readonly told: number;
  /** Age of the oldest due look, in milliseconds; 0: none is due. */
  readonly oldest: number;
}

const APPLICATIONS_AT_ONCE = 5;

/** Accounts read at once; their telling takes several transactions. */
const ACCOUNTS_AT_ONCE = 30;

/** Looks of one account that one telling completes; they fit in a transaction. */
const LOOKS_PER_ACCOUNT = 40;

/** Most accounts have one or two. */
const LOOKS_READ_PER_ACCOUNT = 10;

type TellingOutcome = Outcome<"no-turn">;
const TOLD: TellingOutcome = { item: "done", end: null };
const BUSY: TellingOutcome = { item: "busy", end: null };
const FAILED: TellingOutcome = { item: "failed", end: null };
/** Another worker has the turn, or the application no longer tells: nothing more is tried in this run. */
const NO_TURN: TellingOutcome = {
  item: "failed",
  end: { because: "no-turn", retryAt: null, isForAll: true },
};

const dueAccounts = async (
  changes: Pick<ChangeTable, "due">,
  application: ApplicationId,
  moment: Instant,
  limit: number,
): Promise<readonly AccountLooks[]> => {
  for (let size = limit * LOOKS_READ_PER_ACCOUNT; ; size *= 2) {
    const looks = await changes.due(application, moment, size);
    const byAccount = [...Map.groupBy(looks, ({ account }) => account)];
    if (byAccount.length >= limit || looks.length < size)
      return byAccount
        .slice(0, limit)
        .map(([account, some]) => ({ account, looks: some.slice(0, LOOKS_PER_ACCOUNT) }));
  }
};

/** Tells for one application while it has the turn. */
const createTeller = (run: TellingRun, identifier: ApplicationId, onTold: (versions: number) => void) => {
  let lease: Lease | null = null;
  let turn: TellingTurn | null = null;
  const take = async (): Promise<TellingTurn | null> =>
    lease && run.changes.take(identifier, lease, run.now());
  const goOn = (after: TellingTurn | null): void => {
    if (turn !== null && after !== null) onTold(after.sequence - turn.sequence);
    turn = after;
  };

  /** Tells accounts together. If that fails, or some are being written, halves them, so that none holds up another. */
  const tell = async (
    application: Application,
    accounts: readonly AccountLooks[],
  ): Promise<readonly TellingOutcome[]> => {
    if (turn === null) return accounts.map(() => NO_TURN);
    let outcome = BUSY;
    try {
      const told = await tellAccounts(run, application, turn, accounts);
      goOn(told.turn);
      if (told.outcome === "told") return accounts.map(() => TOLD);
    } catch (error) {
      outcome = FAILED;
      if (accounts.length === 1) run.onFailure(error);
    }
    // How much was told is unknown.
    goOn(await take());
    if (accounts.length === 1) return [outcome];
    const middle = Math.ceil(accounts.length / 2);
    const before = await tell(application, accounts.slice(0, middle));
    return [...before, ...(await tell(application, accounts.slice(middle)))];
  };
  return {
    tell,
    take: async (taken: Lease): Promise<boolean> => {
      lease = taken;
      turn = await take();
      return turn !== null;
    },
  };
};

/** An application's accounts with due looks are a queue, whose lease holds the place in its sequence. */
const tellingWork = (
  run: TellingRun,
  identifier: ApplicationId,
  onTold: (versions: number) => void,
): Work<AccountLooks, "no-turn"> => {
  const { changes, now } = run;
  const teller = createTeller(run, identifier, onTold);
  return {
    queue: {
      due: async (moment, limit) => dueAccounts(changes, identifier, moment, limit),
      take: async (lease) => ((await teller.take(lease)) ? HEALTHY : null),
      release: async (lease) => changes.release(identifier, lease),
    },
    keyOf: ({ account }): AccountId => account,
    dueAtOf: ({ looks }) => looks[0]?.dueAt ?? now(),
    atOnce: ACCOUNTS_AT_ONCE,
    pace: 0,
    act: async (accounts) => {
      const application = await run.currentApplication(identifier);
      return application !== null && tellsChanges(application)
        ? teller.tell(application, accounts)
        : accounts.map(() => NO_TURN);
    },
    postpone: async () => undefined,
    staysFor: 0,
    pausesOf: () => [MINUTE],
  };
};

/**
 * Tells the accounts that differ from what was last told. One worker at a time tells for an application.
 *
 * @param until nothing starts from this moment on
 * @param only applications to begin with; unset: all
 */
export const tellChanges = async (
  run: TellingRun,
  until: Instant,
  only?: readonly ApplicationId[],
): Promise<TellingReport> => {
  let told = 0;
  const left = await workOffApplications(
    run,
    (application) => {
      if (!tellsChanges(application)) return [];
      const work = tellingWork(run, application.identifier, (versions) => (told += versions));
      return [[application.identifier, turnOf(work, run)]];
    },
    { atOnce: APPLICATIONS_AT_ONCE, until, only },
  );
  const ages = [...left.values()].flatMap(({ oldest }) => (oldest === null ? [] : run.now() - oldest));
  return { told, oldest: Math.max(0, ...ages) };
};
