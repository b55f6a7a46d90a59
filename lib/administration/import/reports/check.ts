import { STORES, type Store } from "../../../contract/schemas.ts";
import type { Catalog, ProductReference } from "../../../entitlements/catalog.ts";
import type { AccountId } from "../../../identifiers.ts";
import { ORDERS_AT_ONCE } from "../asking/google.ts";
import { type Claim, type ImportSource, noteProblems, type RowProblems } from "../claim.ts";
import { lineageIdOf } from "../join.ts";

/** Get App Transaction Info, a page of the history, and the statuses. */
const APP_STORE_REQUESTS = 3;
/** Products that are counted by name; more are no catalog's. */
const MOST_PRODUCTS = 1000;

const productText = ({ productIdentifier, basePlanIdentifier }: ProductReference): string =>
  basePlanIdentifier == null ? productIdentifier : `${productIdentifier}:${basePlanIdentifier}`;

const createCounter = (catalog: Catalog | null) => {
  const accounts = new Set<AccountId>();
  const lineages = new Set<string>();
  const unmapped = new Map<string, number>();
  const asked: Record<Store, number> = { "ios-store": 0, "android-store": 0 };
  const counts = { all: 0, anonymous: 0, sandbox: 0, unaskable: 0, ordersOnly: 0 };
  const countProduct = ({ store, product }: Claim): void => {
    if (catalog === null || product === null || catalog.productOf(store, product) !== undefined) return;
    const name = `${store} ${productText(product)}`;
    if (unmapped.has(name) || unmapped.size < MOST_PRODUCTS) unmapped.set(name, (unmapped.get(name) ?? 0) + 1);
  };
  const add = (claim: Claim): void => {
    const { account, store, environment, name } = claim;
    counts.all += 1;
    if (account === null) counts.anonymous += 1;
    else accounts.add(account);
    if (environment === "sandbox") counts.sandbox += 1;
    countProduct(claim);
    if (name === null) {
      counts.unaskable += 1;
      return;
    }
    const lineage = lineageIdOf(claim);
    if (lineages.has(lineage)) return;
    lineages.add(lineage);
    asked[store] += 1;
    if (name.kind === "order") counts.ordersOnly += 1;
  };
  return { accounts, lineages, unmapped, asked, counts, add };
};

/** Reads the files and counts. Memory grows with the distinct accounts and purchases alone. */
export const checkImport = async (source: ImportSource, catalog: Catalog | null, rate: number) => {
  const counter = createCounter(catalog);
  const problems: RowProblems = new Map();
  let rows = 0;
  for await (const row of source.rows()) {
    rows += 1;
    noteProblems(problems, source, row);
    for (const claim of row.claims) counter.add(claim);
  }
  const { accounts, lineages, unmapped, asked, counts } = counter;
  const requests = {
    "ios-store": asked["ios-store"] * APP_STORE_REQUESTS,
    "android-store": asked["android-store"] + Math.ceil(counts.ordersOnly / ORDERS_AT_ONCE),
  };
  return {
    rows,
    accounts: accounts.size,
    lineages: lineages.size,
    claims: counts,
    unmapped: catalog === null ? null : unmapped,
    problems,
    requests,
    /** At the rate of a run. */
    minutes: Math.ceil(Math.max(...STORES.map((store) => requests[store])) / rate / 60),
  };
};

export type ImportCheck = Awaited<ReturnType<typeof checkImport>>;
