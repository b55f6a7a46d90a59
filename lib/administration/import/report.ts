import type { Application } from "../../applications/application.ts";
import { STORES, type Store } from "../../contract/schemas.ts";
import type { CustomerTable } from "../../customers/storing/fact-store.ts";
import { accountHoldings } from "../../customers/storing/records.ts";
import type { Catalog, ProductReference } from "../../entitlements/catalog.ts";
import { entitlementsAt } from "../../entitlements/entitlements.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId } from "../../identifiers.ts";
import { AT_ONCE, sideBySide } from "../side-by-side.ts";
import { ORDERS_AT_ONCE } from "./asking.ts";
import {
  claimsAccessAt,
  claimsOf,
  readRows,
  sha256,
  type Claim,
  type ImportSource,
  type PlacedClaim,
} from "./claim.ts";
import {
  givesAccess,
  isNewest,
  lineageText,
  noteClaim,
  personOf,
  type Join,
  type Lineage,
  type State,
} from "./join.ts";

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

const causeOfLink = (claim: Claim, lineage: Lineage): Cause | null => {
  const { isDisputed, decided, linked } = personOf(lineage);
  const { stored, state } = lineage;
  if (decided === null ? isDisputed : decided !== claim.account) return "two-accounts";
  if (linked === "elsewhere" || stored === "conflict") return "linked-elsewhere";
  if (linked === "erased" || stored === "erased") return "erased";
  if (claim.name === null) return "no-token";
  if (state === "unconfigured" || state === "unverified") return state;
  return state === "unasked" ? "unanswered" : null;
};

/** Why an account differs in a purchase; null: it agrees. */
export const causeOf = (claim: Claim, lineage: Lineage, echo: Echo): Cause | null => {
  const { state, isMapped, claimsAccess } = lineage;
  const ofLink = causeOfLink(claim, lineage);
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
        else if (isUnanswered) ifSwitched.notKnown += 1;
        else if (isClaimed) ifSwitched.othersLose += 1;
      }
      return { accounts: { ...accounts, byCause }, ifSwitched };
    },
  };
};
export type Tally = ReturnType<typeof createTally>;

interface AccessDifference {
  readonly account: AccountId;
  /** Whether the other service gives access; this one does the opposite. */
  readonly claimed: boolean;
  /** Best status of the account's entitlements here; null: it has none. */
  readonly status: string | null;
}

/** Access of each account by the export: true if any of its purchases gives access. */
const readAccess = async (
  source: ImportSource,
  moment: Instant,
): Promise<ReadonlyMap<AccountId, boolean>> => {
  const join: Join = new Map();
  for await (const { claim } of claimsOf(source)) noteClaim(join, claim);
  const access = new Map<AccountId, boolean>();
  for await (const { claim } of claimsOf(source)) {
    const given = claimsAccessAt(claim, moment);
    if (claim.account === null || given === null || !isNewest(join, claim)) continue;
    access.set(claim.account, given || access.get(claim.account) === true);
  }
  return access;
};

/** Compares a newer export with what this service answers now. Asks no store: one read for each account. */
export const compareExport = async (
  source: ImportSource,
  table: Pick<CustomerTable, "findAccount">,
  application: Application,
  moment: Instant,
  onDifference: (difference: AccessDifference) => void,
) => {
  // Access at the other service alone, and here alone.
  const counts = { accounts: 0, agree: 0, onlyThere: 0, onlyHere: 0 };
  await sideBySide(await readAccess(source, moment), AT_ONCE, async ([account, claimed]) => {
    const holdings = accountHoldings(await table.findAccount(application.identifier, account));
    const entitlements = entitlementsAt(moment, holdings, application);
    const best = entitlements.find(({ active }) => active) ?? entitlements[0];
    counts.accounts += 1;
    if ((best?.active ?? false) === claimed) counts.agree += 1;
    else {
      counts[claimed ? "onlyThere" : "onlyHere"] += 1;
      onDifference({ account, claimed, status: best?.status ?? null });
    }
  });
  return counts;
};
export type Comparison = Awaited<ReturnType<typeof compareExport>>;

/** Get App Transaction Info, a page of the history, and the statuses. */
const APP_STORE_REQUESTS = 3;
/** Products that are counted by name; more are no catalog's. */
const MOST_PRODUCTS = 1000;

const productText = ({ productIdentifier, basePlanIdentifier }: ProductReference): string =>
  basePlanIdentifier == null ? productIdentifier : `${productIdentifier}:${basePlanIdentifier}`;

/** Reads the files and counts. Memory grows with the distinct accounts and purchases alone. */
export const checkImport = async (source: ImportSource, catalog: Catalog | null, rate: number) => {
  const accounts = new Set<AccountId>();
  const lineages = new Set<string>();
  const unmapped = new Map<string, number>();
  const asked: Record<Store, number> = { "ios-store": 0, "android-store": 0 };
  const claims = { anonymous: 0, sandbox: 0, unaskable: 0, ordersOnly: 0 };
  let all = 0;
  const countProduct = ({ store, product }: Claim): void => {
    if (catalog === null || product === null || catalog.productOf(store, product) !== undefined) return;
    const name = `${store} ${productText(product)}`;
    if (unmapped.has(name) || unmapped.size < MOST_PRODUCTS)
      unmapped.set(name, (unmapped.get(name) ?? 0) + 1);
  };
  const { rows, problems } = await readRows(source, (claim) => {
    const { account, store, environment, name } = claim;
    all += 1;
    if (account === null) claims.anonymous += 1;
    else accounts.add(account);
    if (environment === "sandbox") claims.sandbox += 1;
    countProduct(claim);
    const lineage = lineageText(claim);
    if (name === null) claims.unaskable += 1;
    else if (!lineages.has(lineage)) {
      lineages.add(lineage);
      asked[store] += 1;
      if (name.kind === "order") claims.ordersOnly += 1;
    }
  });
  const requests = {
    "ios-store": asked["ios-store"] * APP_STORE_REQUESTS,
    "android-store": asked["android-store"] + Math.ceil(claims.ordersOnly / ORDERS_AT_ONCE),
  };
  return {
    rows,
    accounts: accounts.size,
    purchases: lineages.size,
    ...claims,
    claims: all,
    /** Claims by product; null: no catalog is given. */
    unmapped: catalog === null ? null : unmapped,
    problems,
    requests,
    /** At the rate of a run. */
    minutes: Math.ceil(Math.max(...STORES.map((store) => requests[store])) / rate / 60),
  };
};

export type ImportCheck = Awaited<ReturnType<typeof checkImport>>;
