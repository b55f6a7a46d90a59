import type { Store } from "../../../contract/schemas.ts";
import type { AccountId } from "../../../identifiers.ts";
import type { Claim } from "../claim.ts";
import type { Join, JoinedLineage } from "../join.ts";
import { createColumn, sha256, type Slots } from "../slots.ts";
import { givesAccess, type State } from "../asking/verdict.ts";

/** Why an account differs, in the order in which causes are looked for: a purchase has one. */
export const CAUSES = {
  "two-accounts": "the files give one person's purchases to several accounts; linked to neither",
  "linked-elsewhere": "another account of this service has it; it is not moved",
  erased: "it was erased here; the erasure is not lifted",
  "no-token": "the files name nothing that a store could be asked about",
  dropped: "Google has dropped it, or knows no such token or order",
  unknown: "the App Store knows no such transaction of these bundles",
  unconfigured: "the manifest has no such bundle or package, or no key of Apple for it",
  unverified: "the App Store's answer does not verify, or is of another app",
  unanswered: "its store has not answered yet; run again",
  "product-not-mapped": "the manifest does not map its product",
  "swapped-account": "its store echoes another account of the files; linked as the files say",
  refunded: "its store has refunded it",
  "grace-or-retry": "its store retries a failed payment",
  paused: "it is paused",
  pending: "it is not paid yet",
  ended: "it has ended",
  renewed: "it was renewed since the export",
} as const;
export type Cause = keyof typeof CAUSES;

export const CAUSE_NAMES = Object.keys(CAUSES) as Cause[];

const BY_STATE: Readonly<Partial<Record<State, Cause>>> = {
  refunded: "refunded",
  grace: "grace-or-retry",
  retry: "grace-or-retry",
  paused: "paused",
  pending: "pending",
  ended: "ended",
  active: "renewed",
  dropped: "dropped",
  unknown: "unknown",
};

/** Whether the store's echo confirms a link. `nobody`: it names no account of the files. */
export type Echo = "confirms" | "contradicts" | "nobody" | "none";

/**
 * @param accounts accounts that the files or the stores name
 * @param isNamed whether the files name an account, by its slot
 */
export const echoOf = (
  { account }: Pick<Claim, "account">,
  { echo }: Pick<JoinedLineage, "echo">,
  accounts: Slots,
  isNamed: (slot: number) => boolean,
): Echo => {
  if (echo < 0 || account === null) return "none";
  // A token of Apple's is a UUID, which it writes in lower case.
  if ([account, account.toLowerCase()].some((name) => accounts.find(sha256(name)) === echo)) return "confirms";
  return isNamed(echo) ? "contradicts" : "nobody";
};

const causeOfLink = (claim: Claim, joined: JoinedLineage, decided: AccountId | null): Cause | null => {
  const { isDisputed, linked, stored, state } = joined;
  if (decided === null ? isDisputed : decided !== claim.account) return "two-accounts";
  if (linked === "elsewhere" || stored === "conflict") return "linked-elsewhere";
  if (linked === "erased" || stored === "erased") return "erased";
  if (claim.name === null) return "no-token";
  if (state === "unconfigured" || state === "unverified") return state;
  return state === "unasked" ? "unanswered" : null;
};

/** Why an account differs in a purchase; null: it agrees. */
export const causeOf = (
  claim: Claim,
  joined: JoinedLineage,
  echo: Echo,
  decided: AccountId | null,
): Cause | null => {
  const ofLink = causeOfLink(claim, joined, decided);
  if (ofLink !== null || joined.state === "excluded") return ofLink;
  const { state, isMapped, claimsAccess } = joined;
  const isLost = state === "dropped" || state === "unknown";
  // What has ended for the other service too is no difference.
  if (isLost) return claimsAccess === false ? null : (BY_STATE[state] ?? null);
  if (!isMapped && state !== "pending") return "product-not-mapped";
  if (echo === "contradicts") return "swapped-account";
  return claimsAccess === null || claimsAccess === givesAccess(state) ? null : (BY_STATE[state] ?? null);
};

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

/** Counts the differences of the accounts that the files name. */
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
