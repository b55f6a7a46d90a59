import type { CustomerEntitlement } from "../../../lib/contract/schemas.ts";
import type { ModelOutcome, ReferenceModel } from "./reference/reference-model.ts";
import type { ServiceAnswer } from "./model-client.ts";

/** Pairs each of the model's customers, a number, with one of the service's. */
export class Names {
  readonly #identifiers = new Map<number, string>();

  /** Records that the two are the same customer; false when one of them is already paired with another. */
  same(number: number, identifier: string): boolean {
    const known = this.#identifiers.get(number);
    if (known !== undefined) return known === identifier;
    if ([...this.#identifiers.values()].includes(identifier)) return false;
    this.#identifiers.set(number, identifier);
    return true;
  }

  of(number: number): string {
    return this.#identifiers.get(number) ?? `the model's customer ${number}`;
  }

  /** Entitlements of the model, each with the service's name of its customer. */
  entitlements(expected: readonly CustomerEntitlement[]): CustomerEntitlement[] {
    return expected.map((entitlement) => ({
      ...entitlement,
      customerIdentifier: this.of(Number(entitlement.customerIdentifier)),
    }));
  }
}

/** The difference in words; null when there is none. */
export const differenceOfOutcomes = (
  expected: ModelOutcome,
  actual: ServiceAnswer,
  names: Names,
): string | null => {
  const wanted = expected.outcome === "refused" ? expected.code : expected.outcome;
  const got = actual.outcome === "refused" ? actual.code : actual.outcome;
  if (wanted !== got) return `expected ${wanted}, answered ${got}`;
  if (expected.outcome !== "stored" || actual.outcome !== "stored") return null;
  const wantedOnes = [expected.customer, ...(expected.others ?? [])];
  const gotOnes = [actual.customer, ...actual.others];
  const isSame =
    wantedOnes.length === gotOnes.length &&
    wantedOnes.every((number, index) => names.same(number, gotOnes[index] ?? ""));
  return isSame
    ? null
    : `expected ${wantedOnes.map((one) => names.of(one)).join()}, answered ${gotOnes.join()}`;
};

export const differenceOfEntitlements = (
  expected: readonly CustomerEntitlement[],
  actual: readonly CustomerEntitlement[],
): string | null => {
  const [wanted, got] = [JSON.stringify(expected), JSON.stringify(actual)];
  return wanted === got ? null : `expected ${wanted}, answered ${got}`;
};

/** The first difference between the model's and the service's answers for these accounts and moments, or null. */
export const differenceOfAccounts = async (
  accounts: readonly string[],
  at: readonly number[],
  model: ReferenceModel,
  read: (
    account: string,
    moment: number,
  ) => Promise<{ readonly customers: readonly string[]; readonly entitlements: CustomerEntitlement[] }>,
  names: Names,
): Promise<string | null> => {
  for (const account of accounts)
    for (const moment of at) {
      const expected = model.account(account, moment);
      const actual = await read(account, moment);
      const customers = expected.customers.map((number) => names.of(number)).sort();
      const difference =
        JSON.stringify(customers) === JSON.stringify([...actual.customers].sort())
          ? differenceOfEntitlements(names.entitlements(expected.entitlements), actual.entitlements)
          : `expected ${JSON.stringify(customers)}, answered ${JSON.stringify(actual.customers)}`;
      if (difference !== null)
        return `account ${account} at ${new Date(moment).toISOString()}: ${difference}`;
    }
  return null;
};

/** JSON with sorted keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

type Item = Readonly<Record<string, unknown>>;

/**
 * A table's customers, without the fields that depend on the order of requests and appear in no answer: identifiers,
 * times of creation, versions, and the customers that were merged into a survivor.
 */
export const stateOf = (items: readonly Item[]): string[] => {
  const customers = new Map(
    items.filter(({ sk }) => sk === "CUSTOMER").map((item) => [item["customer"], item]),
  );
  const livingOf = (customer: unknown): unknown => {
    const alias = customers.get(customer)?.["aliasOf"] ?? null;
    return alias === null ? customer : livingOf(alias);
  };
  const linkOf = (link: unknown): unknown =>
    typeof link === "object" && link !== null && "account" in link && "assertedBy" in link
      ? [link.account, link.assertedBy]
      : null;
  return [...customers.values()]
    .filter(({ aliasOf }) => aliasOf === null)
    .map(({ customer, link, holdings }) => {
      const owned = items.filter(
        (item) =>
          (item["sk"] === "IDENTITY" || item["sk"] === "PURCHASE") && livingOf(item["customer"]) === customer,
      );
      const hidden = new Set(["customer", "owner", "customerVersion", "revision"]);
      const facts = owned.map((item) =>
        canonical(Object.fromEntries(Object.entries(item).filter(([name]) => !hidden.has(name)))),
      );
      return canonical({ link: linkOf(link), holdings, facts: facts.sort() });
    })
    .sort();
};
