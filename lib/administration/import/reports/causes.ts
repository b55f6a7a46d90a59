import type { AccountId } from "../../../identifiers.ts";
import type { Claim } from "../claim.ts";
import type { JoinedLineage } from "../join.ts";
import { sha256, type Slots } from "../slots.ts";
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
