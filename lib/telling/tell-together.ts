import type { Application } from "../applications/application.ts";
import type { AccountId } from "../identifiers.ts";
import type { TellingTurn } from "./change-table.ts";
import { tellAccounts, type AccountLooks, type TellingStep } from "./tell-accounts.ts";

/** An account whose telling failed, and the error. */
export interface FailedTelling {
  readonly account: AccountId;
  readonly error: unknown;
}

export interface TogetherOutcome {
  /** Null: another worker has it. */
  readonly turn: TellingTurn | null;
  /** Accounts that are being written: try again. */
  readonly busy: readonly AccountId[];
  readonly failed: readonly FailedTelling[];
}

/**
 * Tells accounts together. If that fails, or some are being written, halves the list, down to single accounts, so that
 * none holds up another.
 *
 * @param retake takes the turn again, after an attempt whose progress is unknown. Rejects if the table does
 */
export const tellTogether = async (
  step: TellingStep,
  application: Application,
  turn: TellingTurn,
  retake: () => Promise<TellingTurn | null>,
  accounts: readonly AccountLooks[],
): Promise<TogetherOutcome> => {
  const [first] = accounts;
  if (first === undefined) return { turn, busy: [], failed: [] };
  let failure: FailedTelling | null = null;
  try {
    const { outcome, turn: after } = await tellAccounts(step, application, turn, accounts);
    if (outcome === "told") return { turn: after, busy: [], failed: [] };
  } catch (error) {
    failure = { account: first.account, error };
  }
  const again = await retake();
  if (accounts.length === 1)
    return failure === null
      ? { turn: again, busy: [first.account], failed: [] }
      : { turn: again, busy: [], failed: [failure] };
  if (again === null) return { turn: null, busy: [], failed: [] };
  const middle = Math.ceil(accounts.length / 2);
  const before = await tellTogether(step, application, again, retake, accounts.slice(0, middle));
  if (before.turn === null) return before;
  const after = await tellTogether(step, application, before.turn, retake, accounts.slice(middle));
  return {
    turn: after.turn,
    busy: [...before.busy, ...after.busy],
    failed: [...before.failed, ...after.failed],
  };
};
