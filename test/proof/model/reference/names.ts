import { createHash } from "node:crypto";
import type { Environment } from "../../../../lib/contract/schemas.ts";
import { isKeyless, type Fact, type IosFact, type ModelRequest, type ModelClaim } from "../stated-facts.ts";
import type { StatedRenewalInfo } from "../../../../lib/stores/ios-store/payloads.ts";

/** The names of purchases and of app transaction ids, by which facts belong to persons. */

export const tokenName = (environment: Environment, token: string): string =>
  `android-store ${environment} ${createHash("sha256").update(token).digest("hex")}`;
export const lineageName = (environment: Environment, key: string): string =>
  `ios-store ${environment} ${key}`;
const appName = (environment: Environment, appTransaction: string): string =>
  `app transaction ${environment} ${appTransaction}`;

export const purchaseName = (fact: Fact): string =>
  fact.store === "ios-store"
    ? lineageName(fact.environment, fact.originalTransactionId)
    : tokenName(fact.environment, fact.token);

/** The lineage that this one replaced. */
const previousName = ({
  environment,
  previousOriginalTransactionId: previous,
  originalTransactionId: original,
}: IosFact): string | null =>
  previous === null || previous === original ? null : lineageName(environment, previous);

/** Tokens of the same person's older purchases that Google's answer names; one about a pending payment proves none. */
export const olderTokens = (fact: Fact): string[] => {
  if (fact.store === "ios-store" || fact.kind === "one-time") return [];
  const { subscriptionState = "", linkedPurchaseToken, outOfAppPurchaseContext: before } = fact.answer;
  return subscriptionState?.includes("_PENDING")
    ? []
    : [linkedPurchaseToken, before?.expiredPurchaseToken].flatMap((token) => token ?? []);
};

/** Purchases that a fact proves to be the same person's, its own first. */
export const namesOf = (fact: Fact): string[] => [
  purchaseName(fact),
  ...(fact.store === "ios-store"
    ? [previousName(fact)].filter((name) => name !== null)
    : olderTokens(fact).map((token) => tokenName(fact.environment, token))),
];

/**
 * App transaction id of a request: the app transaction's own, or the one that every lineage carries. Of several common
 * ones none names anybody.
 */
export const appTransactionsOf = ({ environment, appTransaction, facts }: ModelRequest): string[] => {
  const lineages = [...Map.groupBy(facts, purchaseName).values()].map((said) =>
    said.flatMap((fact) => (fact.store === "ios-store" ? (fact.appTransactionId ?? []) : [])),
  );
  const [first, ...others] = [appTransaction === null ? [] : [appTransaction], ...lineages].filter(
    (carried) => carried.length > 0,
  );
  const common = new Set(first?.filter((value) => others.every((carried) => carried.includes(value))));
  return common.size === 1 ? [...common].map((value) => appName(environment, value)) : [];
};

export const namesOfRequest = (request: ModelRequest): string[] => [
  ...appTransactionsOf(request),
  ...request.facts.flatMap(namesOf),
];

/** Purchases of a request, with the names of others by which each finds an owner. */
export const purchasesIn = (request: ModelRequest) => {
  const apps = appTransactionsOf(request);
  return [...Map.groupBy(request.facts, purchaseName)].map(([name, facts]) => ({
    name,
    facts,
    predecessors: facts.flatMap((fact) => namesOf(fact).slice(1)),
    apps: facts.some((fact) => fact.store === "ios-store" && fact.appTransactionId !== null) ? apps : [],
  }));
};

/**
 * A request without a credential as one of each person: of the app transaction id, and of what no signature and no person
 * joins with it. Names that any of them share are followed until nothing more is joined.
 */
export const byPerson = (
  { people }: { readonly people: readonly { readonly names: ReadonlySet<string> }[] },
  request: ModelRequest,
): readonly ModelRequest[] => {
  const { facts } = request;
  if (!isKeyless(request)) return [request];
  const apps = appTransactionsOf(request);
  const namesIn = (fact: Fact): string[] => [
    ...namesOf(fact),
    ...(fact.store === "ios-store" && fact.appTransactionId !== null ? apps : []),
  ];
  const bonds = [apps, ...facts.map(namesIn), ...people.map(({ names }) => [...names])];
  const joinedWith = (names: ReadonlySet<string>): ReadonlySet<string> => {
    const more = new Set([...names, ...bonds.filter((bond) => bond.some((name) => names.has(name))).flat()]);
    return more.size === names.size ? names : joinedWith(more);
  };
  const holder = joinedWith(new Set(apps));
  const others = facts
    .filter((fact) => namesOf(fact).every((name) => !holder.has(name)))
    .map((fact) => joinedWith(new Set(namesOf(fact))));
  const persons = others.filter(
    (names, index) => others.findIndex((one) => [...names].some((name) => one.has(name))) === index,
  );
  const isOf = (names: ReadonlySet<string>) => (fact: Fact) => names.has(purchaseName(fact));
  return [
    ...(apps.length > 0 ? [{ ...request, facts: facts.filter(isOf(holder)) }] : []),
    ...persons.map((names) => ({ ...request, appTransaction: null, facts: facts.filter(isOf(names)) })),
    ...(apps.length === 0 && facts.length === 0 ? [request] : []),
  ];
};

export interface Person {
  /** In the order of creation. */
  readonly number: number;
  readonly environment: Environment;
  readonly bornAt: number;
  readonly link: ModelClaim | null;
  /** References of purchases, and app transaction ids. */
  readonly names: ReadonlySet<string>;
}

export interface Known {
  readonly facts: readonly Fact[];
  readonly renewals: readonly StatedRenewalInfo[];
  readonly people: readonly Person[];
  /** Number of people ever created. */
  readonly made: number;
}

export const namesIn = ({ people }: Pick<Known, "people">): ReadonlySet<string> =>
  new Set(people.flatMap(({ names }) => [...names]));

/** Renewal infos name nobody: those of lineages without an owner are ignored. */
export const withRenewals = (known: Known, renewals: readonly StatedRenewalInfo[]): Known => {
  const named = namesIn(known);
  const owned = renewals.filter((one) => named.has(lineageName(one.environment, one.originalTransactionId)));
  return { ...known, renewals: [...known.renewals, ...owned] };
};

/** Facts that contradict each other's owners: each owner gets those of its own purchases, and no link changes. */
export const keptForOwners = (known: Known, request: ModelRequest): Known => {
  const purchases = purchasesIn(request);
  const owners = new Map(
    known.people.flatMap(({ names, number }) => [...names].map((name) => [name, number] as const)),
  );
  const successorsOf = (name: string): string[] =>
    purchases.filter(({ predecessors }) => predecessors.includes(name)).map((newer) => newer.name);
  type Leads = (purchase: (typeof purchases)[number]) => readonly string[];
  const ownerBy = (leads: Leads, purchase: (typeof purchases)[number]): number | undefined =>
    leads(purchase)
      .map((name) => owners.get(name))
      .find((number) => number !== undefined);
  // A purchase without an owner goes to its predecessor's owner, step by step; at last to its successor's.
  for (const _ of purchases)
    for (const purchase of purchases) {
      const owner = ownerBy(({ predecessors, apps }) => [...predecessors, ...apps], purchase);
      if (!owners.has(purchase.name) && owner !== undefined) owners.set(purchase.name, owner);
    }
  const last = purchases.map(({ name, ...purchase }) => {
    const owner = owners.get(name) ?? ownerBy(() => successorsOf(name), { name, ...purchase });
    return [name, owner] as const;
  });
  for (const [name, owner] of last) if (owner !== undefined) owners.set(name, owner);
  const owned = purchases.filter(({ name }) => owners.has(name));
  const learned = owned.flatMap(({ name, predecessors }) =>
    [name, ...predecessors].map((other) => [other, owners.get(other) ?? owners.get(name)] as const),
  );
  const people = known.people.map((person) => ({
    ...person,
    names: new Set([
      ...person.names,
      ...learned.filter(([, number]) => number === person.number).map(([name]) => name),
    ]),
  }));
  const facts = [...known.facts, ...owned.flatMap((purchase) => purchase.facts)];
  return withRenewals({ ...known, people, facts }, request.renewals);
};
