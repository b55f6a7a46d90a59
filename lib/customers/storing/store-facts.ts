import type { Application } from "../../applications/application.ts";
import { chunks } from "../../chunks.ts";
import { ServiceError } from "../../contract/errors.ts";
import { isInactive } from "../../entitlements/entitlements.ts";
import { referenceText, type Purchase } from "../../entitlements/purchase.ts";
import { ungrantedProducts } from "../../entitlements/catalog.ts";
import type { CustomerId } from "../../identifiers.ts";
import { tryAgain } from "../../pause.ts";
import { buryRemains, CLAIMS_WITHOUT_IDENTITY, type FactStore, type Claim } from "./fact-store.ts";
import { customersOf, eachOnce, isBehindIdentity, isErased, type KnownFacts } from "./records.ts";
import {
  claimsLimit,
  type FactContext,
  type StateContext,
  divideFacts,
  namesNobody,
  statedPurchases,
  type VerifiedFacts,
} from "./verified-facts.ts";
import { keepRefusedFacts, storeForOwners, withoutErased } from "./keep-refused-facts.ts";
import {
  holdingsAfter,
  mergeOf,
  planCustomerChange,
  standingLink,
  type ToAcknowledge,
} from "./plan-customer-change.ts";
import { resolveCustomer, type Refused, ownersOf, personsIn } from "./resolve-customer.ts";

export interface ResolvedCustomer {
  readonly identifier: CustomerId;
  readonly holdings: readonly Purchase[];
  /** Customers of the request's other persons; unset: there are none. */
  readonly others?: readonly ResolvedCustomer[];
}

/**
 * A link can be refused, a fact cannot: facts of purchases that have an owner are stored either way. No customer: the
 * facts name none, or only an unknown one that the request may not create.
 */
export type StoringOutcome = (
  { readonly outcome: "stored"; readonly customer: ResolvedCustomer | null } | Refused
) & { readonly toAcknowledge: ToAcknowledge | null };

/**
 * With ten requests of one person always in flight, two of 18,000 needed more than 20. Pauses add up to 15 seconds at
 * most.
 */
const ATTEMPTS = 30;

/** Attempt from which a missing customer counts as erased: at first, its item may not be visible yet. */
const GONE_FROM_ATTEMPT = 4;

const NOBODY: StoringOutcome = { outcome: "stored", customer: null, toAcknowledge: null };

/** `nobody`: the facts name and create no customer. `conflict`: a transaction was seen in part. */
const readState = async (
  context: FactContext,
  attempt: number,
): Promise<StateContext | "nobody" | "conflict"> => {
  const { store, application, facts, claim } = context;
  const { identifier } = application;
  const moment = store.now();
  const known = await store.table.findFacts(identifier, facts.identities, statedPurchases(facts), moment);
  const named = customersOf(known);
  const createsNobody = facts.purchases.length === 0 && claim?.assertedBy !== "credential";
  if (named.size === 0 && createsNobody && !isErased(known)) return "nobody";
  const { living, gone } = await store.table.findCustomers(identifier, named);
  if ([...named].some((customer) => !living.has(customer))) {
    if (attempt >= GONE_FROM_ATTEMPT) await buryRemains(store, identifier, known, gone, moment);
    return "conflict";
  }
  if (isBehindIdentity(known, living)) return "conflict";
  return { ...context, moment, known, living, owners: eachOnce(living) };
};

/** A client may lift an erasure once a credential has linked the app transaction id that signs the purchases again. */
const isVouchedFor = ({ facts, known, owners }: StateContext): boolean =>
  !known.erasedIdentity &&
  known.identities[0] != null &&
  owners.length === 1 &&
  owners[0]?.link?.assertedBy === "credential" &&
  facts.purchases.every(
    ({ purchase, mentioned, identity }) =>
      identity !== null ||
      ![purchase, ...mentioned].some((one) => known.erasedPurchases.has(referenceText(one))),
  );

const statesErased = ({ facts, known }: StateContext): boolean =>
  known.erasedIdentity ||
  facts.purchases.some(({ purchase }) => known.erasedPurchases.has(referenceText(purchase)));

/** A purchase that is not paid yet moves no customer: it belongs to the account in which it was bought. */
const mayTransfer = ({ application, facts, known, owners, moment }: StateContext): boolean => {
  const { transfers, catalog } = application;
  if (transfers !== "when_inactive") return transfers === "always";
  const customerIdentifier = owners[0]?.identifier;
  if (customerIdentifier === undefined || facts.isPending === true) return false;
  const leaving = holdingsAfter(statedPurchases(facts), known, owners, catalog);
  return isInactive(
    moment,
    leaving.map((purchase) => ({ customerIdentifier, assertedBy: null, purchase })),
    application,
  );
};

/**
 * A client links only with a verified purchase, now or earlier, and, where no owner is linked, while there is room
 * for claims.
 */
const mayLink = async (
  { store, application, facts, owners }: StateContext,
  claim: Claim,
): Promise<boolean> => {
  const { environment, purchases } = facts;
  if (claim.assertedBy === "credential") return true;
  if (purchases.length === 0 && !owners.some(({ hasPurchased }) => hasPurchased)) return false;
  if (owners.some(({ link }) => link !== null)) return true;
  const claims = await store.table.countClaims(application.identifier, claim.account, environment);
  return claims < claimsLimit(store, facts);
};

/** `conflict`: a concurrent write came first. `round`: a step is done, and there is more to do. */
type Written = StoringOutcome | "conflict" | "round";

const refuse = async (
  state: StateContext,
  refusal: Refused,
  how: { readonly merges: boolean },
): Promise<Written> => {
  const kept = await keepRefusedFacts(state, how);
  return typeof kept === "string" ? kept : { ...refusal, ...kept };
};

/**
 * Stores facts that tombstones partly reserve, and whose erasure may not be lifted.
 *
 * @throws ServiceError `CUSTOMER_NOT_FOUND`
 */
const storeBesideErased = async (state: StateContext): Promise<Written> => {
  const { known, owners } = state;
  if (owners.length > 0 && !statesErased(state)) {
    // A living owner's facts are kept, where they only mention an erased purchase.
    const unreserved = { ...known, erasedPurchases: new Set<string>() };
    return decideAndWrite({ ...state, facts: withoutErased(state), known: unreserved });
  }
  // The request is refused, merges nobody and names nobody anew, but what the store said of others' purchases is kept.
  const kept = owners.length === 0 ? null : await keepRefusedFacts(state, { merges: false });
  if (typeof kept === "string") return kept;
  throw new ServiceError("CUSTOMER_NOT_FOUND");
};

/** Writes the facts of one person, for their owner: one transaction, or none if all is known. */
const writePerson = async (state: StateContext, liftsErasures: boolean): Promise<Written> => {
  const { store, facts, claim, owners, moment } = state;
  const resolved = resolveCustomer(owners, claim, moment, () => mayTransfer(state));
  if (resolved.outcome === "refused") return refuse(state, resolved, { merges: true });
  const links = claim === null || (await mayLink(state, claim));
  const link = links ? resolved.link : standingLink(owners, moment);
  const { isRound, ...merge } = mergeOf(state, { ...resolved, link });
  const identifier = merge.survivor?.identifier ?? store.newCustomerIdentifier();
  const { change, customer, toAcknowledge } = planCustomerChange(state, {
    ...merge,
    identifier,
    liftsErasures,
  });
  const claims = change && { ...change, claimsLimit: claimsLimit(store, facts) };
  if (claims !== null && (await store.write(claims)) === "conflict") return "conflict";
  return isRound ? "round" : { outcome: "stored", customer, toAcknowledge };
};

/** Persons without a claim whose facts are written at a time. */
const AT_ONCE = 10;

/** Only the first few claim the account, one after the other: more have no room without an app transaction id. */
const writePersons = async (
  persons: readonly VerifiedFacts[],
  state: StateContext,
  liftsErasures: boolean,
): Promise<Written> => {
  const { claim, owners, moment } = state;
  const all = resolveCustomer(owners, claim, moment);
  if (all.outcome === "refused") return refuse(state, all, { merges: false });
  const claimed = persons.slice(0, CLAIMS_WITHOUT_IDENTITY + 1).map((facts) => [{ facts, claim }]);
  const others = persons.slice(claimed.length).map((facts) => ({ facts, claim: null }));
  const customers: ResolvedCustomer[] = [];
  for (const some of [...claimed, ...chunks(others, AT_ONCE)]) {
    const outcomes = await Promise.all(
      some.map((own) =>
        writePerson(
          { ...state, ...own, owners: ownersOf(own.facts, state) },
          liftsErasures && own.facts.identities.length > 0,
        ),
      ),
    );
    for (const outcome of outcomes) {
      if (typeof outcome === "string" || outcome.outcome === "refused") return outcome;
      if (outcome.customer !== null) customers.push(outcome.customer);
    }
  }
  const [customer, ...rest] = customers;
  return { ...NOBODY, customer: customer === undefined ? null : { ...customer, others: rest } };
};

const decideAndWrite = async (state: StateContext): Promise<Written> => {
  const { facts, claim, known } = state;
  if (namesNobody(facts)) return (await storeForOwners(state)) === "conflict" ? "conflict" : NOBODY;
  const liftsErasures =
    claim?.isImported !== true && (claim?.assertedBy === "credential" || isVouchedFor(state));
  if (isErased(known) && !liftsErasures) return storeBesideErased(state);
  const persons = personsIn(facts, state);
  return persons[0] === facts
    ? writePerson(state, liftsErasures)
    : writePersons(persons, state, liftsErasures);
};

/** Looks up purchases that the facts mention and that are unknown, and stores them. True: something was stored. */
export type LearnOfMentioned = (known: KnownFacts) => Promise<boolean>;

const storeOwn = async (
  context: FactContext,
  learn: LearnOfMentioned | null,
): Promise<StoringOutcome | "conflict"> => {
  let learnOnce = learn;
  const written = await tryAgain<Written>(ATTEMPTS, context.store.pause, async (attempt) => {
    const state = await readState(context, attempt);
    if (typeof state === "string") return state === "nobody" ? NOBODY : state;
    const learns = learnOnce;
    learnOnce = null;
    return (await learns?.(state.known)) === true ? "round" : decideAndWrite(state);
  });
  return written === "round" ? storeOwn(context, null) : written;
};

/**
 * Resolves the owner of the facts and stores them: two reads, and one transaction or none if all is known. Under
 * contention it reads and decides again.
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
  const purchases = facts.purchases.map(({ purchase }) => purchase);
  const ungranted = ungrantedProducts(purchases, application.catalog);
  if (ungranted.length > 0) store.onUngranted?.(ungranted);
  const { own, others } = divideFacts(facts);
  const renewed = others && (await storeOwn({ store, application, facts: others, claim: null }, null));
  const stored = own && (await storeOwn({ store, application, facts: own, claim }, learn));
  if (renewed === "conflict" || stored === "conflict") throw new ServiceError("TOO_MANY_REQUESTS");
  return stored ?? NOBODY;
};

/** The outcome of storing facts, or another in place of the error for an erased customer's. */
export const orIfErased = <Outcome, Other>(
  storing: Promise<Outcome>,
  ifErased: () => Other | Promise<Other>,
): Promise<Outcome | Other> =>
  storing.catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === "CUSTOMER_NOT_FOUND") return ifErased();
    throw error;
  });
