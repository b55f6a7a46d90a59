import type { Application } from "../applications/application.ts";
import { chunks } from "../chunks.ts";
import { ServiceError } from "../contract/errors.ts";
import { isInactive } from "../entitlements/inactivity.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import { ungrantedProducts } from "../entitlements/ungranted.ts";
import type { CustomerId } from "../identifiers.ts";
import { buryRemains } from "./bury-remains.ts";
import {
  customersOf,
  eachOnce,
  isBehindIdentity,
  isErased,
  type FoundCustomers,
  type KnownFacts,
} from "./customer-table.ts";
import { ATTEMPTS, claimsLimit, CLAIMS_WITHOUT_IDENTITY, type FactStore } from "./fact-store.ts";
import { keepRefusedFacts, withoutErased } from "./keep-refused-facts.ts";
import { mergeOf, standingLink } from "./merge.ts";
import { isLineageHalfSeen, namingFacts, storeForOwners } from "./other-renewals.ts";
import { holdingsAfter, inputOf, planCustomerChange, type ToAcknowledge } from "./plan-customer-change.ts";
import type { StoredCustomer } from "./records.ts";
import { ownersOf, personsIn } from "./persons.ts";
import { resolveCustomer, type Claim, type LinkRefusal } from "./resolve-customer.ts";
import { otherRenewals, statedPurchases, type VerifiedFacts } from "./verified-facts.ts";

/** The customer that the facts name, as stored. */
export interface ResolvedCustomer {
  readonly identifier: CustomerId;
  readonly holdings: readonly Purchase[];
  /** Customers of the request's other persons; unset: there are none. */
  readonly others?: readonly ResolvedCustomer[];
}

/** A link can be refused, a fact cannot: facts of purchases that have an owner are stored either way. */
export type StoringOutcome = (
  | {
      readonly outcome: "stored";
      /** Null: the facts name no customer, or only an unknown one that the request may not create. */
      readonly customer: ResolvedCustomer | null;
    }
  | { readonly outcome: "refused"; readonly code: LinkRefusal }
) & {
  /** The facts' purchase that is to be acknowledged now; null: none is. */
  readonly toAcknowledge: ToAcknowledge | null;
};

/**
 * First attempt at which a missing customer counts as erased. Before, it may be new: its identities can be visible before
 * its own item.
 */
const GONE_FROM_ATTEMPT = 4;

const NOBODY: StoringOutcome = { outcome: "stored", customer: null, toAcknowledge: null };

const isEmpty = ({ identities, purchases }: VerifiedFacts): boolean =>
  identities.length === 0 && purchases.length === 0;

/**
 * Whether a client may lift an erasure. Only the application's backend knows that an erased person has signed up again.
 * Once a credential has linked the app transaction id again, purchases signed with that id are the person's too.
 */
const isVouchedFor = (
  { purchases }: VerifiedFacts,
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

const findFacts = (
  { table }: FactStore,
  application: Application,
  facts: VerifiedFacts,
  others: readonly Purchase[],
  moment: Instant,
) =>
  table.findFacts(application.identifier, facts.identities, [...statedPurchases(facts), ...others], moment);

/**
 * Whether the application lets a credential move these customers, given the request's facts too. A request whose
 * purchase is not paid yet moves none: it belongs to the account in which it was bought.
 */
const mayTransfer = (
  application: Application,
  facts: VerifiedFacts,
  known: KnownFacts,
  owners: readonly StoredCustomer[],
  moment: Instant,
): boolean => {
  const { transfers, catalog } = application;
  if (transfers !== "when_inactive") return transfers === "always";
  const customerIdentifier = owners[0]?.identifier;
  if (customerIdentifier === undefined || facts.isPending === true) return false;
  const leaving = holdingsAfter(statedPurchases(facts), known, owners, catalog).map((purchase) => ({
    customerIdentifier,
    assertedBy: null,
    purchase,
  }));
  return isInactive(moment, leaving, application);
};

/**
 * A client's claim makes a link only with a verified purchase, in the request or earlier, and, if no owner is linked yet,
 * only while the account has room for claims. Refusals are decided before.
 */
const mayLink = async (
  store: FactStore,
  application: Application,
  claim: Claim,
  owners: readonly StoredCustomer[],
  facts: VerifiedFacts,
): Promise<boolean> => {
  const { environment, purchases } = facts;
  if (claim.assertedBy === "credential") return true;
  if (purchases.length === 0 && !owners.some(({ hasPurchased }) => hasPurchased)) return false;
  if (owners.some(({ link }) => link !== null)) return true;
  const claims = await store.table.countClaims(application.identifier, claim.account, environment);
  return claims < claimsLimit(store, facts);
};

/** Stored state that the facts concern. */
interface StateRead {
  readonly moment: Instant;
  /** Stored facts that name customers. */
  readonly known: KnownFacts;
  /** Customers that the facts name, by identifier. */
  readonly living: FoundCustomers["living"];
}

/**
 * Reads the state of the facts, and stores renewal infos of lineages that they do not prove. `nobody`: they name no
 * customer and create none. `again`: the reads saw part of a transaction, or a concurrent write came first. `written`: the
 * owners have changed.
 */
const readState = async (
  store: FactStore,
  application: Application,
  facts: VerifiedFacts,
  byCredential: boolean,
  attempt: number,
): Promise<StateRead | "nobody" | "again" | "written"> => {
  const { table, bury } = store;
  const moment = store.now();
  const others = otherRenewals(facts);
  const found = await findFacts(store, application, facts, others, moment);
  const known = namingFacts(found, others);
  const named = customersOf(known);
  const createsNobody = facts.purchases.length === 0 && !byCredential;
  const namesNobody = isEmpty(facts) || (named.size === 0 && createsNobody && !isErased(known));
  if (namesNobody && found.purchases.size === 0) return "nobody";

  const everybody = customersOf(found);
  const { living, gone } = await table.findCustomers(application.identifier, everybody);
  const missing = [...everybody].filter((customer) => !living.has(customer));
  const isUnsure = attempt < GONE_FROM_ATTEMPT || missing.length > gone.size;
  if (missing.some((customer) => named.has(customer) || isUnsure)) {
    if (attempt >= GONE_FROM_ATTEMPT) await buryRemains(bury, application.identifier, known, gone, moment);
    return "again";
  }
  if (isBehindIdentity(known, living) || isLineageHalfSeen(others, found, living)) return "again";

  const renewed = await storeForOwners(
    store,
    application,
    { ...facts, renewals: others },
    found,
    living,
    moment,
  );
  if (renewed !== "unchanged") return renewed === "written" ? renewed : "again";
  if (!namesNobody)
    return { moment, known, living: new Map([...living].filter(([customer]) => named.has(customer))) };
  const unowned = { identities: facts.identities, purchases: [] };
  return (await table.areUnchanged(application.identifier, [], unowned)) ? "nobody" : "again";
};

/** Whether the facts are of an erased identity or purchase, and do not just mention one. */
const statesErased = (
  { purchases }: VerifiedFacts,
  { erasedIdentity, erasedPurchases }: KnownFacts,
): boolean =>
  erasedIdentity || purchases.some(({ purchase }) => erasedPurchases.has(referenceText(purchase)));

/** `again`: a concurrent write came first. `round`: a step was written, and there is more to merge. */
type Written = StoringOutcome | "again" | "round";

/**
 * Stores facts of which a tombstone reserves some, and whose erasure the request may not lift.
 *
 * @throws ServiceError `CUSTOMER_NOT_FOUND`
 */
const storeBesideErased = async (
  store: FactStore,
  application: Application,
  facts: VerifiedFacts,
  claim: Claim | null,
  { moment, known, living }: StateRead,
): Promise<Written> => {
  if (living.size > 0 && !statesErased(facts, known)) {
    // A living owner's facts are kept, where they only mention an erased purchase.
    const unreserved = { ...known, erasedPurchases: new Set<string>() };
    const read = { moment, known: unreserved, living };
    return decideAndWrite(store, application, withoutErased(facts, known), claim, read);
  }
  if (living.size > 0) {
    // The request is refused, merges nobody and names nobody anew, but what the store said of others' purchases is kept.
    const kept = await keepRefusedFacts(store, application, facts, known, living, moment, false);
    if (kept === "conflict") return "again";
    if (kept === "round") return kept;
  }
  throw new ServiceError("CUSTOMER_NOT_FOUND");
};

/** Writes the facts of one person: one transaction, or none if all is known. */
const writePerson = async (
  store: FactStore,
  application: Application,
  facts: VerifiedFacts,
  known: KnownFacts,
  change: ReturnType<typeof mergeOf> & { readonly liftsErasures: boolean; readonly moment: Instant },
): Promise<Written> => {
  const { isRound, moment, ...merge } = change;
  const plan = planCustomerChange({
    ...inputOf(application, facts, known, moment),
    ...merge,
    identifier: merge.survivor?.identifier ?? store.newCustomerIdentifier(),
  });
  const { customer, toAcknowledge } = plan;
  const stored = { outcome: "stored", customer, toAcknowledge } as const;
  if (plan.change === null) return stored;
  const written = await store.write({ ...plan.change, claimsLimit: claimsLimit(store, facts) });
  if (written === "conflict") return "again";
  return isRound ? "round" : stored;
};

/**
 * Resolves the owner of the facts and writes them.
 *
 * @throws ServiceError `CUSTOMER_NOT_FOUND`
 */
const decideAndWrite = async (
  store: FactStore,
  application: Application,
  facts: VerifiedFacts,
  claim: Claim | null,
  state: StateRead,
): Promise<Written> => {
  const { moment, known, living } = state;
  const owners = eachOnce(living);
  const liftsErasures =
    claim?.isImported !== true && (claim?.assertedBy === "credential" || isVouchedFor(facts, known, owners));
  if (isErased(known) && !liftsErasures) return storeBesideErased(store, application, facts, claim, state);

  const persons = personsIn(facts, state);
  const isOne = persons[0] === facts;
  const resolution = resolveCustomer(owners, claim, moment, () =>
    mayTransfer(application, facts, known, owners, moment),
  );
  if (resolution.outcome === "refused") {
    const kept = await keepRefusedFacts(store, application, facts, known, living, moment, isOne);
    if (kept === "conflict") return "again";
    return kept === "round" ? kept : { outcome: "refused", code: resolution.code, ...kept };
  }
  if (!isOne) return storePersons(store, application, persons, claim, state);
  const links = claim === null || (await mayLink(store, application, claim, owners, facts));
  const link = links ? resolution.link : standingLink(owners, moment);
  const merge = mergeOf(facts, claim, { ...resolution, link }, moment);
  return writePerson(store, application, facts, known, { ...merge, liftsErasures, moment });
};

/** Persons without a claim whose facts are written at a time. */
const AT_ONCE = 10;

/**
 * Stores the facts of each person. The links of their owners agree. The account is claimed for the first few alone, one
 * after the other: there is room for no more without an app transaction id, and each claim costs a read.
 */
const storePersons = async (
  store: FactStore,
  application: Application,
  persons: readonly VerifiedFacts[],
  claim: Claim | null,
  state: StateRead,
): Promise<Written> => {
  const claimed = persons.slice(0, CLAIMS_WITHOUT_IDENTITY + 1).map((person) => [{ person, claim }]);
  const others = persons.slice(claimed.length).map((person) => ({ person, claim: null }));
  const customers: ResolvedCustomer[] = [];
  for (const some of [...claimed, ...chunks(others, AT_ONCE)]) {
    const outcomes = await Promise.all(
      some.map(({ person, claim: own }) => {
        const read = { moment: state.moment, ...ownersOf(person, state) };
        return decideAndWrite(store, application, person, own, read);
      }),
    );
    for (const outcome of outcomes) {
      if (typeof outcome === "string" || outcome.outcome === "refused") return outcome;
      if (outcome.customer !== null) customers.push(outcome.customer);
    }
  }
  const [customer, ...rest] = customers;
  return { ...NOBODY, customer: customer === undefined ? null : { ...customer, others: rest } };
};

/** Looks up purchases that the facts mention and that are unknown, and stores them. True: something was stored. */
export type LearnOfMentioned = (known: KnownFacts) => Promise<boolean>;

/**
 * Resolves the owner of the facts and stores them: two reads, and one transaction or none if all is known. Under
 * contention it reads and decides again, so that each answer is true of the state it was written to.
 *
 * @param learn called once, before the purchases are written; null: nothing is looked up
 * @throws ServiceError `CUSTOMER_NOT_FOUND`; `TOO_MANY_REQUESTS` if every attempt conflicts; what `learn` throws
 */
export const storeFacts = async (
  store: FactStore,
  application: Application,
  facts: VerifiedFacts,
  claim: Claim | null,
  learn: LearnOfMentioned | null = null,
): Promise<StoringOutcome> => {
  if (isEmpty(facts) && otherRenewals(facts).length === 0) return NOBODY;
  const ungranted = ungrantedProducts(
    facts.purchases.map(({ purchase }) => purchase),
    application.catalog,
  );
  if (ungranted.length > 0) store.onUngranted?.(ungranted);
  const byCredential = claim?.assertedBy === "credential";
  let learns = learn;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await store.pause(attempt);
    let state = await readState(store, application, facts, byCredential, attempt);
    if (typeof state !== "string" && learns !== null) {
      const hasLearned = await learns(state.known);
      learns = null;
      if (hasLearned) state = await readState(store, application, facts, byCredential, attempt);
    }
    if (state === "nobody") return NOBODY;
    const outcome =
      typeof state === "string" ? state : await decideAndWrite(store, application, facts, claim, state);
    if (typeof outcome !== "string") return outcome;
    // Progress is not a failed attempt.
    if (outcome !== "again") attempt = 0;
  }
  throw new ServiceError("TOO_MANY_REQUESTS");
};
