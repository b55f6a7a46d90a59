import type { TransferPolicy } from "../../../../lib/applications/application.ts";
import type { CustomerEntitlement, Environment } from "../../../../lib/contract/schemas.ts";
import type { Catalog } from "../../../../lib/entitlements/catalog.ts";
import { entitlementsAt, isInactive } from "../../../../lib/entitlements/entitlements.ts";
import type { Holding, Terms } from "../../../../lib/entitlements/timeline.ts";
import { grantingLines, referenceText, type Purchase } from "../../../../lib/entitlements/purchase.ts";
import { customerId } from "../../../../lib/identifiers.ts";
import { toReading, joinedFacts } from "../as-verified.ts";
import {
  keptForOwners,
  namesIn,
  withRenewals,
  type Known,
  type Person,
  appTransactionsOf,
  byPerson,
  namesOf,
  namesOfRequest,
  olderTokens,
  purchaseName,
  tokenName,
} from "./names.ts";
import {
  selectingNothing,
  type AndroidSubscriptionFact,
  type ModelClaim,
  type ModelRequest,
} from "../stated-facts.ts";

/**
 * The expected outcomes and answers: a plain list of all facts, and of the people whom they name. For each answer all
 * facts are joined at once, and the service's core reads them. So storing them in parts, in any order, by any owner and in
 * holdings must lose nothing. Identity, merging, linking and refusals are stated here once more.
 */

export type ModelOutcome =
  | { readonly outcome: "nobody" }
  | {
      readonly outcome: "stored";
      readonly customer: number;
      /** Customers of the request's other persons; unset: there are none. */
      readonly others?: readonly number[];
    }
  | { readonly outcome: "refused"; readonly code: "CUSTOMER_ALREADY_LINKED" | "IDENTITY_CONFLICT" };

/** The application's policy and the service's bounds. */
export interface ModelTerms {
  readonly transfers: TransferPolicy;
  /** Most customers of an account by clients' claims: in production, and in all other environments together. */
  readonly claims: number;
  /** Renewal leeway in milliseconds. */
  readonly leeway: number;
}

export interface ReferenceModel {
  /** Applies the request and returns the expected outcome. */
  submit(request: ModelRequest, moment: number): ModelOutcome;
  /** An operator's unlinking; false when the customer has no link. */
  unlink(customer: number): boolean;
  /** Entitlements of a customer. Each names its customer by number. */
  entitlementsOf(customer: number, moment: number): readonly CustomerEntitlement[];
  /** The customers linked to an account, by number, and their entitlements. */
  account(
    account: string,
    moment: number,
  ): { readonly customers: number[]; readonly entitlements: readonly CustomerEntitlement[] };
  customers(): readonly number[];
  /** Whether a stored fact about this token selects a product; one about a subscription selects all. */
  isSelected(token: string): boolean;
}

interface Rules extends ModelTerms {
  readonly catalog: Catalog;
}

interface Answered {
  readonly known: Known;
  readonly outcome: ModelOutcome;
}

const byName = (names: ReadonlySet<string>) => (purchase: Purchase) => names.has(referenceText(purchase));

const heldBy = (
  { number, names, link }: Pick<Person, "number" | "names" | "link">,
  purchases: readonly Purchase[],
): readonly Holding[] =>
  purchases.filter(byName(names)).map((purchase) => ({
    customerIdentifier: customerId(String(number)),
    assertedBy: link?.by ?? null,
    purchase,
  }));

const termsOf = ({ catalog, leeway }: Rules): Terms => ({ catalog, renewalLeeway: leeway });

/** Google's answer about the older token that a fact names, where nothing is known of it: one step, and nothing waits. */
const untold = (known: Known, { facts, answers }: ModelRequest): readonly AndroidSubscriptionFact[] => {
  const named = namesIn(known);
  const [fact] = facts;
  if (fact?.store !== "android-store") return [];
  const token = olderTokens(fact).find((older) => !named.has(tokenName(fact.environment, older)));
  return answers.filter((answer) => answer.token === token).slice(0, 1);
};

const undivided = (_: unknown, request: ModelRequest): readonly ModelRequest[] => [request];

/** Whether a client's link gives way to a credential's claim. */
const givesWay = (link: ModelClaim, claim: ModelClaim | null): boolean =>
  link.by === "client" && claim?.by === "credential" && claim.account !== link.account;

/** Whether the policy lets a credential move these people, with the request's facts. A pending payment moves nobody. */
const mayMove = (
  known: Known,
  request: ModelRequest,
  owners: readonly Person[],
  rules: Rules,
  moment: number,
): boolean => {
  if (request.claim?.by !== "credential" || rules.transfers === "refuse") return false;
  if (rules.transfers === "always") return true;
  if (request.facts.some((fact) => fact.store === "android-store" && toReading(fact).isPending)) return false;
  const names = new Set([...namesIn({ people: owners }), ...request.facts.flatMap(namesOf)]);
  const purchases = joinedFacts(
    [...known.facts, ...request.facts],
    [...known.renewals, ...request.renewals],
  ).filter((purchase) => grantingLines(purchase).length > 0);
  return isInactive(moment, heldBy({ number: 0, names, link: null }, purchases), termsOf(rules));
};

const isProduction = (environment: Environment): boolean => environment === "production";

/** Claims that leave room for one without an app transaction id. */
const CLAIMS_WITHOUT_IDENTITY = 3;

/** Whether a claim makes a link. A client's needs a purchase, and room in the account. */
const makesLink = (known: Known, request: ModelRequest, owners: readonly Person[], rules: Rules): boolean => {
  const { claim, environment, facts } = request;
  if (claim?.by !== "client") return true;
  const owned = namesIn({ people: owners });
  const hasBought = facts.length > 0 || known.facts.some((fact) => owned.has(purchaseName(fact)));
  const claimed = known.people.filter(
    (person) =>
      person.link?.account === claim.account &&
      person.link.by === "client" &&
      isProduction(person.environment) === isProduction(environment),
  );
  const isNamed = appTransactionsOf(request).length > 0;
  const room = isNamed ? rules.claims : Math.min(rules.claims, CLAIMS_WITHOUT_IDENTITY);
  return hasBought && claimed.length < room;
};

const linkOf = (
  account: string | undefined,
  claim: ModelClaim | null,
  agreeing: readonly ModelClaim[],
): ModelClaim | null => {
  const linkedTo = account ?? claim?.account;
  if (linkedTo === undefined) return null;
  const isByCredential = [...agreeing, claim].some((one) => one?.by === "credential");
  return { account: linkedTo, by: isByCredential ? "credential" : "client" };
};

/** The person that the owners become: a linked one stays, then one whose link gives way, then the oldest. */
const survivorOf = (owners: readonly Person[], claim: ModelClaim | null): Person | undefined => {
  const rank = ({ link }: Person): number => (link === null ? 2 : givesWay(link, claim) ? 1 : 0);
  return owners.toSorted((a, b) => rank(a) - rank(b) || a.bornAt - b.bornAt || a.number - b.number)[0];
};

const submit = (
  before: Known,
  request: ModelRequest,
  moment: number,
  rules: Rules,
  parts = byPerson,
): Answered => {
  const { claim, environment } = request;
  const alone = { renewals: [], answers: [], claim: null };
  const learned = untold(before, request).reduce(
    (known, fact) => submit(known, { ...request, ...alone, facts: [fact] }, moment, rules).known,
    before,
  );
  const known = withRenewals(learned, request.renewals);
  const names = namesOfRequest(request);
  const owners = known.people.filter((person) => names.some((name) => person.names.has(name)));
  const createsNobody = request.facts.length === 0 && claim?.by !== "credential";
  if (names.length === 0 || (owners.length === 0 && createsNobody))
    return { known, outcome: { outcome: "nobody" } };

  const firm = owners.flatMap(({ link }) => (link === null || givesWay(link, claim) ? [] : [link]));
  const [account, ...others] = new Set(firm.map((link) => link.account));
  const unclaimed = { ...request, facts: selectingNothing(request.facts), claim: null };
  const persons = parts(known, request);
  if (others.length > 0)
    return {
      known: keptForOwners(known, unclaimed),
      outcome: { outcome: "refused", code: "IDENTITY_CONFLICT" },
    };
  const isElsewhere = account !== undefined && claim !== null && claim.account !== account;
  if (isElsewhere && !mayMove(known, request, owners, rules, moment))
    return {
      known:
        persons.length > 1
          ? keptForOwners(known, unclaimed)
          : submit(known, unclaimed, moment, rules, undivided).known,
      outcome: { outcome: "refused", code: "CUSTOMER_ALREADY_LINKED" },
    };
  if (persons.length > 1) return submitEach(known, persons, moment, rules);

  const survivor = survivorOf(owners, claim);
  const made = makesLink(known, request, owners, rules) ? claim : null;
  const person: Person = {
    number: survivor?.number ?? known.made + 1,
    environment,
    bornAt: survivor?.bornAt ?? moment,
    link: isElsewhere ? linkOf(undefined, claim, []) : linkOf(account, made, firm),
    names: new Set([...namesIn({ people: owners }), ...names]),
  };
  const stored = {
    ...known,
    facts: [...known.facts, ...request.facts],
    people: [...known.people.filter((other) => !owners.includes(other)), person],
    made: Math.max(known.made, person.number),
  };
  return {
    known: withRenewals(stored, request.renewals),
    outcome: { outcome: "stored", customer: person.number },
  };
};

/** The first person who is named is the answer's. */
const submitEach = (
  known: Known,
  requests: readonly ModelRequest[],
  moment: number,
  rules: Rules,
): Answered => {
  let after = known;
  const customers = requests.flatMap((request, index) => {
    const claim = index <= CLAIMS_WITHOUT_IDENTITY ? request.claim : null;
    const answered = submit(after, { ...request, claim }, moment, rules, undivided);
    after = answered.known;
    return answered.outcome.outcome === "stored" ? [answered.outcome.customer] : [];
  });
  const [customer, ...others] = customers;
  return {
    known: after,
    outcome: customer === undefined ? { outcome: "nobody" } : { outcome: "stored", customer, others },
  };
};

const NOTHING: Known = { facts: [], renewals: [], people: [], made: 0 };

export const createReferenceModel = (
  catalog: Catalog,
  terms: ModelTerms = { transfers: "refuse", claims: 20, leeway: 0 },
): ReferenceModel => {
  const rules = { ...terms, catalog };
  let known = NOTHING;
  let purchases: readonly Purchase[] | null = null;
  const entitlementsOf = (people: readonly Person[], moment: number): readonly CustomerEntitlement[] => {
    const all = (purchases ??= joinedFacts(known.facts, known.renewals));
    return entitlementsAt(
      moment,
      people.flatMap((person) => heldBy(person, all)),
      termsOf(rules),
    );
  };
  return {
    submit: (request, moment) => {
      const answered = submit(known, request, moment, rules);
      [known, purchases] = [answered.known, null];
      return answered.outcome;
    },
    unlink: (customer) => {
      const isLinked = known.people.some(({ number, link }) => number === customer && link !== null);
      const people = known.people.map((one) => (one.number === customer ? { ...one, link: null } : one));
      known = { ...known, people };
      return isLinked;
    },
    entitlementsOf: (customer, moment) =>
      entitlementsOf(
        known.people.filter(({ number }) => number === customer),
        moment,
      ),
    account: (account, moment) => {
      const linked = known.people.filter(({ link }) => link?.account === account);
      return { customers: linked.map(({ number }) => number), entitlements: entitlementsOf(linked, moment) };
    },
    customers: () => known.people.map(({ number }) => number),
    isSelected: (token) =>
      known.facts.some(
        (fact) =>
          fact.store === "android-store" &&
          fact.token === token &&
          (fact.kind === "subscription" || fact.asked === null || fact.asked.length > 0),
      ),
  };
};
