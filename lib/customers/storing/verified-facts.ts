import type { IosStoreConfiguration } from "../../applications/application.ts";
import type { Environment } from "../../contract/schemas.ts";
import {
  type IdentityReference,
  type ProvenPurchase,
  referenceText,
  type Purchase,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { PendingAcknowledgement } from "../../stores/android-store/reading.ts";
import type { AppTransaction } from "../../stores/ios-store/app-transaction.ts";
import { appTransactionIdentityOf, purchasesOf } from "../../stores/ios-store/purchases.ts";
import { renewalsOf, type StatedRenewalInfo } from "../../stores/ios-store/renewal-info.ts";
import type { Transaction } from "../../stores/ios-store/transaction.ts";
import type { CustomerId } from "../../identifiers.ts";
import type { FactsOrigin } from "../asking/ask.ts";
import type { FoundCustomers, KnownFacts } from "./customer-table.ts";
import type { StoredCustomer } from "./records.ts";

/** Facts about one person that a store has verified in one request. Nothing else reaches the table. */
export interface VerifiedFacts {
  readonly environment: Environment;
  /** Identities other than purchases: every purchase is an identity of its own. */
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly ProvenPurchase[];
  /** Whether a client without a credential chose what comes together (`personsIn`); unset: no. */
  readonly isChosenByClient?: boolean;
  /** Renewal infos, each as a fact of its lineage (`renewedPurchase`). They name nobody. */
  readonly renewals: readonly Purchase[];
  /** Whether the payment of the request's purchase is pending, or unknown where the store did not answer; unset: no. */
  readonly isPending?: boolean;
  readonly acknowledgementDue: PendingAcknowledgement | null;
  /** Null: no store can be asked about these facts, so their questions stay as they are. */
  readonly origin: FactsOrigin | null;
}

interface IosStorePayloads {
  readonly environment: Environment;
  readonly transactions: readonly Transaction[];
  readonly renewalInfos: readonly StatedRenewalInfo[];
  readonly appTransaction?: AppTransaction;
  /** Time at which Apple was asked; null: it was not. */
  readonly askedAt: Instant | null;
}

/** Facts that verified payloads state. Without a key of the App Store Server API, Apple cannot be asked again. */
export const iosStoreFacts = (
  { bundleIdentifier, serverApi }: IosStoreConfiguration,
  { environment, transactions, renewalInfos, appTransaction, askedAt }: IosStorePayloads,
): VerifiedFacts => {
  const naming = appTransaction === undefined ? transactions : [appTransaction, ...transactions];
  const identity = appTransactionIdentityOf(naming);
  return {
    environment,
    identities: identity === null ? [] : [identity],
    purchases: purchasesOf(transactions),
    renewals: renewalsOf(renewalInfos, transactions),
    acknowledgementDue: null,
    origin: { source: { store: "ios-store", bundleIdentifier }, canAsk: serverApi !== null, askedAt },
  };
};

type Stated = Pick<VerifiedFacts, "purchases" | "renewals">;

/** All purchases of the facts, with those that are only mentioned (a replaced token), and renewal infos. */
export const statedPurchases = ({ purchases, renewals }: Stated): readonly Purchase[] => [
  ...purchases.flatMap(({ purchase, mentioned }) => [purchase, ...mentioned]),
  ...renewals,
];

/** Whether they are renewal infos alone. */
export const namesNobody = ({ identities, purchases }: VerifiedFacts): boolean =>
  identities.length + purchases.length === 0;

/** Facts that name a person, and renewal infos of lineages that they neither prove nor mention. Null: none. */
export const divideFacts = (
  facts: VerifiedFacts,
): { readonly own: VerifiedFacts | null; readonly others: VerifiedFacts | null } => {
  const proven = new Set(statedPurchases({ ...facts, renewals: [] }).map(referenceText));
  const isProven = (renewal: Purchase): boolean => proven.has(referenceText(renewal));
  const others = facts.renewals.filter((renewal) => !isProven(renewal));
  return {
    own: namesNobody(facts) ? null : { ...facts, renewals: facts.renewals.filter(isProven) },
    others: others.length === 0 ? null : { ...facts, identities: [], purchases: [], renewals: others },
  };
};

type Owners = { readonly known: KnownFacts; readonly living: FoundCustomers["living"] };

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
 * The facts by person, the app transaction id's first. Anybody may send another's old copy, so what comes together
 * proves nothing: purchases are one person's by a shared app transaction id, by a lineage that names another, or by a
 * customer that has both. Xcode's ids name nobody, and its certificate is the developer's own.
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
