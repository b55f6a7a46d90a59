import type { Store } from "../../../contract/schemas.ts";
import type { AccountId } from "../../../identifiers.ts";
import { CAUSE_NAMES, type Cause } from "./causes.ts";
import type { JoinedLineage } from "../join.ts";
import { createColumn, createSlots, digestOf, type Digest } from "../slots.ts";
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
  claimed: 1 << FIRST_BIT,
  /** This service will. */
  served: 2 << FIRST_BIT,
  /** It pays: its store says so, or nobody can ask and the other service says so. */
  pays: 4 << FIRST_BIT,
} as const;
const bitOf = (cause: Cause): number => 1 << CAUSE_NAMES.indexOf(cause);

/** Accounts and what differs of each, in about 20 bytes an account. */
export const createTally = () => {
  const slots = createSlots();
  const bits = createColumn(Uint32Array);
  const raise = (slot: number, mask: number): void => bits.set(slot, bits.get(slot) | mask);
  return {
    name: (account: AccountId): void => void slots.slotOf(digestOf(account)),
    isAccount: (digest: Digest): boolean => slots.find(digest) >= 0,
    /** Counts a purchase of an account. */
    count: (account: AccountId, joined: JoinedLineage, cause: Cause | null): void => {
      const slot = slots.slotOf(digestOf(account));
      const { state, claimsAccess, isMapped } = joined;
      if (cause !== null) raise(slot, bitOf(cause));
      if (claimsAccess === true) raise(slot, BITS.claimed);
      const isLinked = joined.linked === "linked" && cause !== "two-accounts";
      if (givesAccess(state) && isMapped && isLinked) raise(slot, BITS.served);
      if (givesAccess(state) || (cause === "no-token" && claimsAccess === true)) raise(slot, BITS.pays);
    },
    accounts: function* (): Generator<number> {
      for (let slot = 0; slot < slots.count; slot += 1) yield bits.get(slot);
    },
  };
};
export type Tally = ReturnType<typeof createTally>;

const CAUSE_MASK = (1 << FIRST_BIT) - 1;
/** Causes that another run may resolve. */
const OPEN_MASK = bitOf("unanswered") | bitOf("unverified");

export const summed = (tally: Tally) => {
  /** An account with several causes is counted under each. */
  const byCause = Object.fromEntries(CAUSE_NAMES.map((cause) => [cause, 0])) as Record<Cause, number>;
  /** `unanswered`: a store has not answered yet about one of their purchases, or its answer does not verify. */
  const accounts = { all: 0, agree: 0, differ: 0, unanswered: 0 };
  /** Accounts, if the application asked this service alone from now on: that pay, that no longer do, and unknown ones. */
  const ifSwitched = { payersLose: 0, othersLose: 0, notKnown: 0 };
  for (const bits of tally.accounts()) {
    accounts.all += 1;
    const isUnanswered = (bits & OPEN_MASK) !== 0;
    const differs = (bits & CAUSE_MASK & ~OPEN_MASK) !== 0;
    if (isUnanswered) accounts.unanswered += 1;
    if (differs) accounts.differ += 1;
    else if (!isUnanswered) accounts.agree += 1;
    for (const cause of CAUSE_NAMES) if ((bits & bitOf(cause)) !== 0) byCause[cause] += 1;
    if ((bits & BITS.served) !== 0) continue;
    if ((bits & BITS.pays) !== 0) ifSwitched.payersLose += 1;
    else if ((bits & BITS.claimed) !== 0) ifSwitched[isUnanswered ? "notKnown" : "othersLose"] += 1;
  }
  return { accounts: { ...accounts, byCause }, ifSwitched };
};
