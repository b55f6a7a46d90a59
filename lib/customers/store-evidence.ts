import type { Application } from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import { entitlementsAt } from "../entitlements/entitlements.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { CustomerId } from "../identifiers.ts";
import { ABSORBED_PER_TRANSACTION, type CustomerChange } from "./customer-change.ts";
import {
  eachOnce,
  type CustomerTable,
  type FoundCustomers,
  type KnownFacts,
  type Unowned,
} from "./customer-table.ts";
import type { Link, StoredCustomer } from "./records.ts";
import type { ProvenPurchase } from "../entitlements/proven-purchase.ts";
import { buryRemains, type Bury } from "./bury-remains.ts";
import { statedPurchases, type Evidence } from "./evidence.ts";
import { holdingsWith, planChange, type Plan, type Planned } from "./plan.ts";
import { resolve, type Claim, type LinkRefusal } from "./rules.ts";

/** Dependencies of storing evidence. */
export interface EvidenceStore {
  readonly table: CustomerTable;
  readonly write: (change: CustomerChange) => Promise<"written" | "conflict">;
  readonly bury: Bury;
  readonly newCustomerIdentifier: () => CustomerId;
  /** Waits before an attempt, longer and more at random the later it is. */
  readonly pause: (attempt: number) => Promise<void>;
  readonly now: () => Instant;
  /** Customers that an account may have by clients' claims alone, of production, and of all other environments together. */
  readonly claimsPerAccount: number;
}

/** The customer that the evidence names, after it is stored. */
export interface ResolvedCustomer {
  readonly identifier: CustomerId;
  readonly holdings: readonly Purchase[];
  /** Since when the evidence's acknowledgement is due; null where none is. */
  readonly acknowledgementDueSince: Instant | null;
}

/** A link is refused, a fact never: what the store said of purchases that have an owner is stored either way. */
export type StoredEvidence =
  | {
      readonly outcome: "stored";
      /** Null: the evidence names nobody, or only names somebody unknown where nothing may be created. */
      readonly customer: ResolvedCustomer | null;
    }
  | {
      readonly outcome: "refused";
      readonly code: LinkRefusal;
      readonly acknowledgementDueSince: Instant | null;
    };

/** Optimistic-lock attempts before `TOO_MANY_REQUESTS`. */
const ATTEMPTS = 20;

/**
 * Attempt from which on a customer that is not there is one that is gone. Before, it may be a new one, whose identities
 * are seen already.
 */
const GONE_FROM_ATTEMPT = 4;

const NOBODY: StoredEvidence = { outcome: "stored", customer: null };

const isEmpty = ({ identities, purchases }: Evidence): boolean =>
  identities.length === 0 && purchases.length === 0;

const isErased = ({ erasedIdentity, erasedPurchases }: KnownFacts): boolean =>
  erasedIdentity || erasedPurchases.size > 0;

/**
 * A person who was erased and signs up again is known to the application's backend, and to nobody else. Once a credential
 * has linked the app transaction id again, what that very id's transactions bring is the person's too.
 */
const isVouchedFor = (
  { purchases }: Evidence,
  { erasedIdentity, erasedPurchases, identities: [named] }: KnownFacts,
  owners: readonly StoredCustomer[],
): boolean =>
  !erasedIdentity &&
  named != null &&
  owners.length === 1 &&
  owners[0]?.link?.assertedBy === "credential" &&
  purchases.every(
    ({ purchase, mentioned, identity }) =>
      identity !== null || ![purchase, ...mentioned].some((one) => erasedPurchases.has(referenceText(one))),
  );

/** A refused link lifts no erasure: what was erased stays so. */
const withoutErased = (evidence: Evidence, known: KnownFacts): Evidence => {
  const remains = (purchase: Purchase): boolean => !known.erasedPurchases.has(referenceText(purchase));
  return {
    ...evidence,
    identities: known.erasedIdentity ? [] : evidence.identities,
    purchases: evidence.purchases
      .filter(({ purchase }) => remains(purchase))
      .map((proven) => ({ ...proven, mentioned: proven.mentioned.filter(remains) })),
  };
};

const findFacts = ({ table }: EvidenceStore, application: Application, evidence: Evidence, moment: Instant) =>
  table.findFacts(application.identifier, evidence.identities, statedPurchases(evidence), moment);

const unownedOf = (evidence: Evidence, known: KnownFacts): Unowned => ({
  identities: evidence.identities.filter((_, index) => known.identities[index] === null),
  purchases: statedPurchases(evidence).filter((purchase) => !known.purchases.has(referenceText(purchase))),
});

/** Whether the application lets a credential move these customers, with all that is known of them now. */
const mayTransfer = (
  { transfers, catalog }: Application,
  evidence: Evidence,
  known: KnownFacts,
  owners: readonly StoredCustomer[],
  moment: Instant,
): boolean => {
  if (transfers !== "when_inactive") return transfers === "always";
  const customerIdentifier = owners[0]?.identifier;
  if (customerIdentifier === undefined) return false;
  const holdings = holdingsWith(statedPurchases(evidence), known, owners, catalog);
  return !entitlementsAt(
    moment,
    holdings.map((purchase) => ({ customerIdentifier, assertedBy: null, purchase })),
    catalog,
  ).some(({ active }) => active);
};

/**
 * A client's claim makes a link only with a verified purchase, in the request or before it, and only while the account
 * has room for claims; to be refused it needs neither.
 */
const mayLink = async (
  { table, claimsPerAccount }: EvidenceStore,
  application: Application,
  claim: Claim,
  owners: readonly StoredCustomer[],
  { environment, purchases }: Evidence,
): Promise<boolean> => {
  if (claim.assertedBy === "credential") return true;
  if (purchases.length === 0 && !owners.some(({ hasPurchased }) => hasPurchased)) return false;
  if (owners.some(({ link }) => link !== null)) return true;
  return (await table.countClaims(application.identifier, claim.account, environment)) < claimsPerAccount;
};

/** The link that customers have together, whatever a request says. */
const standingLink = (owners: readonly StoredCustomer[], moment: Instant): Link | null => {
  const standing = resolve(owners, null, moment);
  return standing.outcome === "resolved" ? standing.link : null;
};

/**
 * Groups the purchases of contradicting evidence by owner. A purchase that nobody has goes to the owner of the purchase
 * that it replaced, through any number of replacements, or else to the owner of its app transaction id; without either it
 * is left out.
 */
const factsByOwner = (
  evidence: Evidence,
  known: KnownFacts,
  living: FoundCustomers["living"],
): ReadonlyMap<StoredCustomer, Purchase[]> => {
  const owners = new Map<string, StoredCustomer>();
  for (const [reference, { customer }] of known.purchases) {
    const owner = living.get(customer);
    if (owner !== undefined) owners.set(reference, owner);
  }
  const ownerOf = (purchase: Purchase): StoredCustomer | undefined => owners.get(referenceText(purchase));
  const [named] = known.identities;
  const ownerOfIdentity = named == null ? undefined : living.get(named.customer);

  const assign = (find: (proven: ProvenPurchase) => StoredCustomer | undefined): void => {
    for (let isMore = true; isMore;) {
      const found = evidence.purchases.flatMap((proven) => {
        const owner = ownerOf(proven.purchase) === undefined ? find(proven) : undefined;
        return owner === undefined ? [] : [{ purchase: proven.purchase, owner }];
      });
      for (const { purchase, owner } of found) owners.set(referenceText(purchase), owner);
      isMore = found.length > 0;
    }
  };
  const predecessorsOwner = ({ mentioned }: ProvenPurchase): StoredCustomer | undefined =>
    mentioned.map(ownerOf).find((owner) => owner !== undefined);
  assign(predecessorsOwner);
  assign((proven) => predecessorsOwner(proven) ?? (proven.identity === null ? undefined : ownerOfIdentity));

  const byOwner = new Map<StoredCustomer, Purchase[]>();
  const give = (owner: StoredCustomer | undefined, purchase: Purchase): void => {
    if (owner !== undefined) byOwner.set(owner, [...(byOwner.get(owner) ?? []), purchase]);
  };
  for (const { purchase, mentioned } of evidence.purchases) {
    const owner = ownerOf(purchase);
    give(owner, purchase);
    for (const other of mentioned) give(ownerOf(other) ?? owner, other);
  }
  return byOwner;
};

const namedBy = (known: KnownFacts): ReadonlySet<CustomerId> =>
  new Set([
    ...known.identities.flatMap((identity) => identity?.customer ?? []),
    ...[...known.purchases.values()].map(({ customer }) => customer),
  ]);

const planOf = (
  { claimsPerAccount }: EvidenceStore,
  application: Application,
  evidence: Evidence,
  known: KnownFacts,
  moment: Instant,
): Pick<
  Planned,
  | "application"
  | "catalog"
  | "environment"
  | "known"
  | "acknowledgementDue"
  | "claimsPerAccount"
  | "liftsErasures"
  | "moment"
> => ({
  application: application.identifier,
  catalog: application.catalog,
  environment: evidence.environment,
  known,
  acknowledgementDue: evidence.acknowledgementDue,
  claimsPerAccount,
  liftsErasures: false,
  moment,
});

type Merge = Pick<Planned, "survivor" | "absorbed" | "link">;

/**
 * Very many customers of one person are merged in rounds, and nothing else until they are one. Where the new link would set
 * those who are left at odds with the survivor, a round keeps the link that its own have: the last one makes the new one.
 */
const mergeOf = (
  evidence: Evidence,
  claim: Claim | null,
  { survivor, absorbed, link }: Merge,
  moment: Instant,
) => {
  if (survivor === null || absorbed.length <= ABSORBED_PER_TRANSACTION)
    return {
      identities: evidence.identities,
      purchases: statedPurchases(evidence),
      acknowledgementDue: evidence.acknowledgementDue,
      survivor,
      absorbed,
      link,
      isRound: false,
    };
  const some = absorbed.slice(0, ABSORBED_PER_TRANSACTION);
  const others = absorbed.slice(ABSORBED_PER_TRANSACTION);
  const splits = resolve([{ ...survivor, link }, ...others], claim, moment).outcome === "refused";
  return {
    identities: [],
    purchases: [],
    acknowledgementDue: null,
    survivor,
    absorbed: some,
    link: splits ? standingLink([survivor, ...some], moment) : link,
    isRound: true,
  };
};

const isDue = ({ acknowledgementDue }: Evidence, known: KnownFacts): boolean =>
  acknowledgementDue !== null &&
  known.purchases.get(referenceText(acknowledgementDue.purchase))?.acknowledgementDueSince != null;

/** Plans for a refused link: those of the same request without an account, or else each owner's own facts. */
const plansWithoutClaim = (
  store: EvidenceStore,
  application: Application,
  evidence: Evidence,
  known: KnownFacts,
  living: FoundCustomers["living"],
  moment: Instant,
): { readonly plans: readonly Plan[]; readonly isRound: boolean } => {
  const common = planOf(store, application, evidence, known, moment);
  const unclaimed = resolve(eachOnce(living), null, moment);
  if (unclaimed.outcome === "resolved" && unclaimed.survivor !== null) {
    const { isRound, ...merge } = mergeOf(evidence, null, unclaimed, moment);
    const plan = planChange({ ...common, ...merge, identifier: unclaimed.survivor.identifier });
    return { plans: [plan], isRound };
  }
  const plans = [...factsByOwner(evidence, known, living)].map(([owner, purchases]) =>
    planChange({
      ...common,
      identities: [],
      purchases,
      survivor: owner,
      absorbed: [],
      link: owner.link,
      identifier: owner.identifier,
      // Google is told that a purchase has arrived once it is somebody's.
      acknowledgementDue: owner.link === null && !isDue(evidence, known) ? null : evidence.acknowledgementDue,
    }),
  );
  return { plans, isRound: false };
};

/**
 * Stores what a refused request brings. `conflict`: somebody was faster; `round`: there is more to merge. The refusal itself
 * is to be decided anew then.
 */
const keepFacts = async (
  store: EvidenceStore,
  application: Application,
  evidence: Evidence,
  known: KnownFacts,
  living: FoundCustomers["living"],
  moment: Instant,
): Promise<{ readonly acknowledgementDueSince: Instant | null } | "conflict" | "round"> => {
  const { plans, isRound } = plansWithoutClaim(
    store,
    application,
    withoutErased(evidence, known),
    known,
    living,
    moment,
  );
  // Of a transaction in its middle some items are seen as after it and others as before: that refuses nobody. A write for
  // a single owner has conditions that say so; otherwise the table is asked.
  const owners = eachOnce(living);
  const isProvenByWrite = owners.length === 1 && plans.length === 1 && plans[0]?.change !== null;
  if (!isProvenByWrite) {
    const unowned = unownedOf(evidence, known);
    if (!(await store.table.areUnchanged(application.identifier, owners, unowned))) return "conflict";
  }
  for (const { change } of plans)
    if (change !== null && (await store.write(change)) === "conflict") return "conflict";
  if (isRound) return "round";
  const dueSince = plans.map((plan) => plan.acknowledgementDueSince).find((since) => since !== null);
  return { acknowledgementDueSince: dueSince ?? null };
};

/**
 * Resolves whose evidence it is, and stores it: two reads, and one transaction, or none where all is known. Under
 * contention it reads again and decides anew, so that every answer is true of the state it was written to.
 *
 * @throws ServiceError `CUSTOMER_NOT_FOUND`, or `TOO_MANY_REQUESTS` where others were faster every time
 */
export const storeEvidence = async (
  store: EvidenceStore,
  application: Application,
  evidence: Evidence,
  claim: Claim | null,
): Promise<StoredEvidence> => {
  if (isEmpty(evidence)) return NOBODY;
  const { table, write, bury, newCustomerIdentifier, pause, now } = store;
  const byCredential = claim?.assertedBy === "credential";

  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await pause(attempt);
    const moment = now();
    const known = await findFacts(store, application, evidence, moment);
    const named = namedBy(known);
    const createsNobody = evidence.purchases.length === 0 && !byCredential;
    if (named.size === 0 && createsNobody && !isErased(known)) return NOBODY;
    const { living, gone } = await table.findCustomers(application.identifier, named);
    if (living.size < named.size) {
      if (attempt >= GONE_FROM_ATTEMPT) await buryRemains(bury, application.identifier, known, gone, moment);
      continue;
    }
    const owners = eachOnce(living);
    const lifts = byCredential || isVouchedFor(evidence, known, owners);
    if (isErased(known) && !lifts) throw new ServiceError("CUSTOMER_NOT_FOUND");

    const resolution = resolve(owners, claim, moment, () =>
      mayTransfer(application, evidence, known, owners, moment),
    );
    if (resolution.outcome === "refused") {
      const kept = await keepFacts(store, application, evidence, known, living, moment);
      if (kept === "round") attempt = 0;
      if (kept === "round" || kept === "conflict") continue;
      return { outcome: "refused", code: resolution.code, ...kept };
    }
    const { survivor, absorbed } = resolution;
    const links = claim === null || (await mayLink(store, application, claim, owners, evidence));
    const link = links ? resolution.link : standingLink(owners, moment);

    const { isRound, ...merge } = mergeOf(evidence, claim, { survivor, absorbed, link }, moment);
    const plan = planChange({
      ...planOf(store, application, evidence, known, moment),
      ...merge,
      liftsErasures: lifts,
      identifier: survivor?.identifier ?? newCustomerIdentifier(),
    });
    const stored: StoredEvidence = {
      outcome: "stored",
      customer: { ...plan.customer, acknowledgementDueSince: plan.acknowledgementDueSince },
    };
    if (plan.change === null) return stored;
    const outcome = await write(plan.change);
    if (outcome === "written" && !isRound) return stored;
    if (outcome === "written") attempt = 0;
  }
  throw new ServiceError("TOO_MANY_REQUESTS");
};
