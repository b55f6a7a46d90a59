import type { ErrorCode } from "../../contract/errors.ts";
import { referenceText, type ProvenPurchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import type { Claim } from "./fact-store.ts";
import type { Link, StoredCustomer } from "./records.ts";
import type { StateContext, VerifiedFacts } from "./verified-facts.ts";

interface Resolved {
  readonly outcome: "resolved";
  /** Null: no customer owns these identities yet. */
  readonly survivor: StoredCustomer | null;
  /** The same person's other customers; they become aliases of the survivor. */
  readonly absorbed: readonly StoredCustomer[];
  readonly link: Link | null;
}

export interface Refused {
  readonly outcome: "refused";
  readonly code: Extract<ErrorCode, "CUSTOMER_ALREADY_LINKED" | "IDENTITY_CONFLICT">;
}

/** Only a client's link to another account yields, and only to a credential. */
export const yields = (link: Link, claim: Claim | null): boolean =>
  claim?.assertedBy === "credential" &&
  claim.isImported !== true &&
  link.assertedBy === "client" &&
  link.account !== claim.account;

/**
 * Decides which customer a request is about, and its account. A customer of another account is refused, unless its link
 * yields or a credential may move it. Customers whose links agree merge: linked survives unlinked, then older younger.
 *
 * @param owners the distinct customers that own the request's identities
 * @param mayTransfer whether a credential may move these customers from the account they all have
 */
export const resolveCustomer = (
  owners: readonly StoredCustomer[],
  claim: Claim | null,
  moment: Instant,
  mayTransfer: () => boolean = () => false,
): Resolved | Refused => {
  const firm = owners.flatMap(({ link }) => (link !== null && !yields(link, claim) ? [link] : []));
  const [account, ...others] = new Set(firm.map((link) => link.account));
  if (others.length > 0) return { outcome: "refused", code: "IDENTITY_CONFLICT" };
  const isElsewhere = account !== undefined && claim !== null && claim.account !== account;
  const mayMove = claim?.assertedBy === "credential" && claim.isImported !== true;
  if (isElsewhere && !(mayMove && mayTransfer()))
    return { outcome: "refused", code: "CUSTOMER_ALREADY_LINKED" };

  const rank = ({ link }: StoredCustomer): number => (link === null ? 2 : yields(link, claim) ? 1 : 0);
  const [survivor = null, ...absorbed] = [...owners].sort(
    (a, b) => rank(a) - rank(b) || compare(a.createdAt, b.createdAt) || compare(a.identifier, b.identifier),
  );

  const agreeing = isElsewhere ? [] : firm;
  const linkedTo = isElsewhere ? claim.account : (account ?? claim?.account);
  if (linkedTo === undefined) return { outcome: "resolved", survivor, absorbed, link: null };
  const byCredential =
    claim?.assertedBy === "credential" || agreeing.some((link) => link.assertedBy === "credential");
  return {
    outcome: "resolved",
    survivor,
    absorbed,
    link: {
      account: linkedTo,
      assertedBy: byCredential ? "credential" : "client",
      linkedAt: Math.min(...(agreeing.length > 0 ? agreeing.map((link) => link.linkedAt) : [moment])),
    },
  };
};

type Read = Pick<StateContext, "known" | "living">;

export const ownersOf = (
  { identities, purchases }: VerifiedFacts,
  { known, living }: Read,
): readonly StoredCustomer[] => {
  const stored = purchases
    .flatMap(({ purchase, mentioned }) => [purchase, ...mentioned])
    .map((one) => known.purchases.get(referenceText(one)));
  const named = identities.length === 0 ? [] : known.identities;
  return [...new Set([...named, ...stored].flatMap((one) => (one && living.get(one.customer)) ?? []))];
};

/** Names by person: any of a person's names leads to the same one. */
const namesOfPersons = () => {
  const leaders = new Map<string, string>();
  const personOf = (name: string): string => {
    const leader = leaders.get(name);
    if (leader === undefined) return name;
    // Paths stay short, however many purchases one person has.
    const person = personOf(leader);
    leaders.set(name, person);
    return person;
  };
  const unite = (names: readonly string[]): void => {
    const [person = "", ...others] = new Set(names.map(personOf));
    for (const other of others) leaders.set(other, person);
  };
  return { unite, personOf };
};

/** Name of whoever has the request's app transaction id. */
const HOLDER = "the app transaction id";

/**
 * The facts by person, the app transaction id's first. Anybody may send another's old copy, so purchases are one
 * person's only by a shared app transaction id, by a lineage that names another, or by a customer that has both.
 * Xcode's ids name nobody, and its certificate is the developer's own.
 */
export const personsIn = (facts: VerifiedFacts, { known, living }: Read): readonly VerifiedFacts[] => {
  const { identities, purchases, environment, isChosenByClient = false } = facts;
  const isNamed = ({ identity }: ProvenPurchase): boolean => identities.length > 0 && identity !== null;
  if (!isChosenByClient || environment === "xcode" || purchases.every(isNamed)) return [facts];

  const ownerOf = (customer: CustomerId | undefined): string[] =>
    customer === undefined ? [] : [living.get(customer)?.identifier ?? customer];
  const namesOf = (proven: ProvenPurchase): string[] => [
    ...(isNamed(proven) ? [HOLDER] : []),
    ...[proven.purchase, ...proven.mentioned]
      .map(referenceText)
      .flatMap((reference) => [reference, ...ownerOf(known.purchases.get(reference)?.customer)]),
  ];
  const { unite, personOf } = namesOfPersons();
  if (identities.length > 0) unite([HOLDER, ...ownerOf(known.identities[0]?.customer)]);
  for (const proven of purchases) unite(namesOf(proven));

  const byPerson = Map.groupBy(purchases, ({ purchase }) => personOf(referenceText(purchase)));
  const holder = personOf(HOLDER);
  const persons = new Set([...(identities.length > 0 ? [holder] : []), ...byPerson.keys()]);
  if (persons.size === 1) return [facts];
  return [...persons]
    .filter((person) => byPerson.has(person) || known.identities[0] != null)
    .map((person) => ({
      ...facts,
      isChosenByClient: false,
      identities: person === holder ? identities : [],
      purchases: byPerson.get(person) ?? [],
      renewals: facts.renewals.filter((renewal) => personOf(referenceText(renewal)) === person),
    }));
};
