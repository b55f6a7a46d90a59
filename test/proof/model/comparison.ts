import type { CustomerEntitlement } from "../../../lib/contract/schemas.ts";
import type { ModelOutcome, ReferenceModel } from "./reference/reference-model.ts";
import type { ModelClient, ServiceAnswer } from "./model-client.ts";

/** Pairs each of the model's customers, a number, with one of the service's. */
export class Names {
  readonly #identifiers = new Map<number, string>();

  /** Records that the two are the same customer, unless one of them is already paired; returns the number's name. */
  pair(number: number, identifier: string | undefined): string {
    const isFree =
      !this.#identifiers.has(number) && ![...this.#identifiers.values()].includes(identifier ?? "");
    if (isFree && identifier !== undefined) this.#identifiers.set(number, identifier);
    return this.of(number);
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
export const differenceOf = (expected: unknown, actual: unknown): string | null => {
  const [wanted, got] = [JSON.stringify(expected), JSON.stringify(actual)];
  return wanted === got ? null : `expected ${wanted}, answered ${got}`;
};

const codeOf = (answer: ModelOutcome | ServiceAnswer): string =>
  answer.outcome === "refused" ? answer.code : answer.outcome;

export const differenceOfOutcomes = (
  expected: ModelOutcome,
  actual: ServiceAnswer,
  names: Names,
): string | null => {
  if (expected.outcome !== "stored" || actual.outcome !== "stored")
    return differenceOf(codeOf(expected), codeOf(actual));
  const got = [actual.customer, ...actual.others];
  const wanted = [expected.customer, ...(expected.others ?? [])];
  return differenceOf(
    wanted.map((number, index) => names.pair(number, got[index])),
    got,
  );
};

/** The first difference between the model's and the service's answers for these accounts and moments, or null. */
export const differenceOfAccounts = async (
  accounts: readonly string[],
  at: readonly number[],
  model: ReferenceModel,
  read: ModelClient["account"],
  names: Names,
): Promise<string | null> => {
  for (const account of accounts)
    for (const moment of at) {
      const { customers, entitlements } = model.account(account, moment);
      const actual = await read(account, moment);
      const difference = differenceOf(
        [customers.map((number) => names.of(number)).sort(), names.entitlements(entitlements)],
        [actual.customers.toSorted(), actual.entitlements],
      );
      if (difference !== null)
        return `account ${account} at ${new Date(moment).toISOString()}: ${difference}`;
    }
  return null;
};

/** JSON with sorted names, without hidden ones. */
export const canonical = (value: unknown, hidden: ReadonlySet<string> = new Set()): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(
          Object.entries(part)
            .filter(([name]) => !hidden.has(name))
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
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
      const facts = owned.map((item) => canonical(item, hidden));
      return canonical({ link: linkOf(link), holdings, facts: facts.sort() });
    })
    .sort();
};
