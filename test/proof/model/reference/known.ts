import type { Environment } from "../../../../lib/contract/schemas.ts";
import type { StatedRenewalInfo } from "../../../../lib/stores/ios-store/payloads.ts";
import type { Fact, ModelClaim, ModelRequest } from "../stated-facts.ts";
import { lineageName, purchasesIn } from "./names.ts";

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
  const owned = renewals.filter((one) =>
    named.has(lineageName(one.environment, one.originalTransactionIdentifier)),
  );
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
