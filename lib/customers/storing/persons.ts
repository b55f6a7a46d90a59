import type { ProvenPurchase } from "../../entitlements/proven-purchase.ts";
import { referenceText } from "../../entitlements/purchase.ts";
import type { CustomerId } from "../../identifiers.ts";
import type { StateContext } from "./fact-store.ts";
import type { StoredCustomer } from "./records.ts";
import type { VerifiedFacts } from "./verified-facts.ts";

type Owners = Pick<StateContext, "known" | "living">;

export const ownersOf = (
  { identities, purchases }: VerifiedFacts,
  { known, living }: Owners,
): readonly StoredCustomer[] => {
  const stored = purchases
    .flatMap(({ purchase, mentioned }) => [purchase, ...mentioned])
    .map((one) => known.purchases.get(referenceText(one)));
  const named = identities.length === 0 ? [] : known.identities;
  return [...new Set([...named, ...stored].flatMap((one) => (one && living.get(one.customer)) ?? []))];
};

interface Person {
  readonly names: Set<string>;
  readonly purchases: Set<ProvenPurchase>;
}

const newPerson = (): Person => ({ names: new Set(), purchases: new Set() });

/** Name of whoever has the request's app transaction id. */
const HOLDER = "the app transaction id";

/**
 * The facts by person, the app transaction id's first. Anybody may send another's old copy without a credential, so what
 * comes together proves nothing: purchases are one person's by a shared app transaction id, by a lineage that names
 * another, or by a customer that has both. Xcode's ids name nobody, and its certificate is the developer's own.
 */
export const personsIn = (facts: VerifiedFacts, { known, living }: Owners): readonly VerifiedFacts[] => {
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
  const byName = new Map<string, Person>();
  const join = (names: readonly string[], some: readonly ProvenPurchase[]): void => {
    const joined = new Set(names.flatMap((name) => byName.get(name) ?? []));
    const [person = newPerson(), ...others] = joined;
    for (const name of [...names, ...others.flatMap((other) => [...other.names])]) {
      person.names.add(name);
      byName.set(name, person);
    }
    for (const one of [...others.flatMap((other) => [...other.purchases]), ...some])
      person.purchases.add(one);
  };
  if (identities.length > 0) join([HOLDER, ...ownerOf(known.identities[0]?.customer)], []);
  for (const proven of purchases) join(namesOf(proven), [proven]);

  const persons = new Set(byName.values());
  if (persons.size === 1) return [facts];
  return [...persons]
    .filter((person) => person.purchases.size > 0 || known.identities[0] != null)
    .map((person) => ({
      ...facts,
      isChosenByClient: false,
      identities: person.names.has(HOLDER) ? identities : [],
      purchases: [...person.purchases],
      renewals: facts.renewals.filter((renewal) => person.names.has(referenceText(renewal))),
    }));
};
