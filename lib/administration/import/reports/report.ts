import type { AccountId } from "../../../identifiers.ts";
import { sha256, type Claim, type PlacedClaim } from "../claim.ts";
import { personOf, type Lineage } from "../join.ts";
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

/** @param isNamed whether the files name an account, by its SHA-256 */
export const echoOf = (
  { account }: Pick<Claim, "account">,
  { echo }: Pick<Lineage, "echo">,
  isNamed: (account: string) => boolean,
): Echo => {
  if (echo === null || account === null) return "none";
  // A token of Apple's is a UUID, which it writes in lower case.
  if ([account, account.toLowerCase()].some((name) => sha256(name) === echo)) return "confirms";
  return isNamed(echo) ? "contradicts" : "nobody";
};

const causeOfLink = (claim: Claim, lineage: Lineage, decided: AccountId | null): Cause | null => {
  const { isDisputed, linked } = personOf(lineage);
  const { stored, state } = lineage;
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
  lineage: Lineage,
  echo: Echo,
  decided: AccountId | null,
): Cause | null => {
  const { state, isMapped, claimsAccess } = lineage;
  const ofLink = causeOfLink(claim, lineage, decided);
  if (ofLink !== null || state === "excluded") return ofLink;
  const isLost = state === "dropped" || state === "unknown";
  // What has ended for the other service too is no difference.
  if (isLost) return claimsAccess === false ? null : (BY_STATE[state] ?? null);
  if (!isMapped && state !== "pending") return "product-not-mapped";
  if (echo === "contradicts") return "swapped-account";
  return claimsAccess === null || claimsAccess === givesAccess(state) ? null : (BY_STATE[state] ?? null);
};

/** A purchase in which the account of a claim differs. */
export interface Difference extends PlacedClaim {
  readonly cause: Cause;
  readonly lineage: Lineage;
}

interface Counted {
  readonly causes: Set<Cause>;
  /** The other service gives it access. */
  isClaimed: boolean;
  /** This service will. */
  isServed: boolean;
  /** It pays: its store says so, or nobody can ask and the other service says so. */
  pays: boolean;
}

/** Causes that another run may resolve. */
const OPEN: ReadonlySet<Cause> = new Set(["unanswered", "unverified"]);

export const createTally = () => {
  /** By SHA-256 of the account. */
  const named = new Map<string, Counted>();
  const counted = (account: AccountId): Counted => {
    const id = sha256(account);
    const one = named.get(id) ?? { causes: new Set(), isClaimed: false, isServed: false, pays: false };
    named.set(id, one);
    return one;
  };
  return {
    name: (account: AccountId): void => void counted(account),
    isNamed: (account: string): boolean => named.has(account),
    count: (account: AccountId, lineage: Lineage, cause: Cause | null): void => {
      const { state, claimsAccess, isMapped } = lineage;
      const isLinked = personOf(lineage).linked === "linked" && cause !== "two-accounts";
      const one = counted(account);
      if (cause !== null) one.causes.add(cause);
      one.isClaimed ||= claimsAccess === true;
      one.isServed ||= givesAccess(state) && isMapped && isLinked;
      one.pays ||= givesAccess(state) || (cause === "no-token" && claimsAccess === true);
    },
    summed: () => {
      /** An account with several causes is counted under each. */
      const byCause = Object.fromEntries(CAUSE_NAMES.map((cause) => [cause, 0])) as Record<Cause, number>;
      /** `unanswered`: a store has not answered yet about one of their purchases, or its answer does not verify. */
      const accounts = { all: named.size, agree: 0, differ: 0, unanswered: 0 };
      /** Accounts, if the application asked this service alone from now on: that pay, that no longer do, and unknown ones. */
      const ifSwitched = { payersLose: 0, othersLose: 0, notKnown: 0 };
      for (const { causes, isClaimed, isServed, pays } of named.values()) {
        const isUnanswered = [...causes].some((cause) => OPEN.has(cause));
        const differs = [...causes].some((cause) => !OPEN.has(cause));
        if (isUnanswered) accounts.unanswered += 1;
        if (differs) accounts.differ += 1;
        else if (!isUnanswered) accounts.agree += 1;
        for (const cause of causes) byCause[cause] += 1;
        if (isServed) continue;
        if (pays) ifSwitched.payersLose += 1;
        else if (isClaimed) ifSwitched[isUnanswered ? "notKnown" : "othersLose"] += 1;
      }
      return { accounts: { ...accounts, byCause }, ifSwitched };
    },
  };
};
export type Tally = ReturnType<typeof createTally>;
