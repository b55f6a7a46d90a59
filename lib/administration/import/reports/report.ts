import type { Store } from "../../../contract/schemas.ts";
import type { AccountId } from "../../../identifiers.ts";
import { CAUSE_NAMES, type Cause } from "./causes.ts";
import type { Join, JoinedLineage } from "../join.ts";
import { createColumn, sha256 } from "../slots.ts";
import { givesAccess, type State } from "../asking/verdict.ts";

export interface Difference {
  readonly account: AccountId;
  readonly cause: Cause;
  readonly store: Store;
  readonly product: string | null;
  /** Key of the purchase in the table; null: it is not stored. */
  readonly purchase: string | null;
  /** Whether the other service gives access for it; null: the files do not say. */
  readonly claimed: boolean | null;
  readonly state: State;
  readonly file: number;
  readonly row: number;
}

/** Bits of an account, above those of its causes. */
const FIRST_BIT = CAUSE_NAMES.length;
const BITS = {
  named: 1 << FIRST_BIT,
  claimed: 2 << FIRST_BIT,
  /** This service will. */
  served: 4 << FIRST_BIT,
  /** It pays: its store says so, or nobody can ask and the other service says so. */
  pays: 8 << FIRST_BIT,
} as const;
const bitOf = (cause: Cause): number => 1 << CAUSE_NAMES.indexOf(cause);

const CAUSE_MASK = BITS.named - 1;
/** Causes that another run may resolve. */
const OPEN_MASK = bitOf("unanswered") | bitOf("unverified");

/** What differs of the accounts that the files name. */
export const createTally = ({ accounts: slots }: Pick<Join, "accounts">) => {
  const bits = createColumn(Uint32Array);
  const raise = (account: AccountId, mask: number): void => {
    const slot = slots.slotOf(sha256(account));
    bits.set(slot, bits.get(slot) | mask);
  };
  const isNamed = (slot: number): boolean => (bits.get(slot) & BITS.named) !== 0;
  return {
    name: (account: AccountId): void => raise(account, BITS.named),
    isNamed,
    /** Counts a purchase of an account. */
    count: (account: AccountId, joined: JoinedLineage, cause: Cause | null): void => {
      const { state, claimsAccess, isMapped } = joined;
      const isLinked = joined.linked === "linked" && cause !== "two-accounts";
      let mask = cause === null ? 0 : bitOf(cause);
      if (claimsAccess === true) mask |= BITS.claimed;
      if (givesAccess(state) && isMapped && isLinked) mask |= BITS.served;
      if (givesAccess(state) || (cause === "no-token" && claimsAccess === true)) mask |= BITS.pays;
      raise(account, mask);
    },
    summed: () => {
      /** An account with several causes is counted under each. */
      const byCause = Object.fromEntries(CAUSE_NAMES.map((cause) => [cause, 0])) as Record<Cause, number>;
      /** `unanswered`: a store has not answered yet about one of their purchases, or its answer does not verify. */
      const accounts = { all: 0, agree: 0, differ: 0, unanswered: 0 };
      /** Accounts, if the application asked this service alone from now on: that pay, that no longer do, and unknown ones. */
      const ifSwitched = { payersLose: 0, othersLose: 0, notKnown: 0 };
      for (let slot = 0; slot < slots.count; slot += 1) {
        if (!isNamed(slot)) continue;
        const own = bits.get(slot);
        const isUnanswered = (own & OPEN_MASK) !== 0;
        const differs = (own & CAUSE_MASK & ~OPEN_MASK) !== 0;
        accounts.all += 1;
        if (isUnanswered) accounts.unanswered += 1;
        if (differs) accounts.differ += 1;
        else if (!isUnanswered) accounts.agree += 1;
        for (const cause of CAUSE_NAMES) if ((own & bitOf(cause)) !== 0) byCause[cause] += 1;
        if ((own & BITS.served) !== 0) continue;
        if ((own & BITS.pays) !== 0) ifSwitched.payersLose += 1;
        else if ((own & BITS.claimed) !== 0) ifSwitched[isUnanswered ? "notKnown" : "othersLose"] += 1;
      }
      return { accounts: { ...accounts, byCause }, ifSwitched };
    },
  };
};
export type Tally = ReturnType<typeof createTally>;
