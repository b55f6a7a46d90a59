import type { Application } from "../../../applications/application.ts";
import { STORES, type Store } from "../../../contract/schemas.ts";
import type { ProductReference } from "../../../entitlements/catalog.ts";
import { ORDERS_AT_ONCE } from "../asking/resolve-orders.ts";
import type { Claim } from "../claim.ts";
import { createSlots, digestOf } from "../slots.ts";
import { noteProblems, type ImportSource, type ReadonlyProblems, type RowProblems } from "../source.ts";

/** Contents of the files, and the requests that a run would make. */
export interface ImportCheck {
  readonly rows: number;
  /** Distinct accounts. */
  readonly accounts: number;
  /** Distinct purchases, as the files name them. */
  readonly lineages: number;
  /** Claims by what the file says of them. */
  readonly claims: {
    readonly all: number;
    readonly anonymous: number;
    readonly sandbox: number;
    /** No store can be asked about them. */
    readonly unaskable: number;
    readonly byAskable: Readonly<Record<Store, number>>;
    /** Google purchases that only an order id names. */
    readonly ordersOnly: number;
  };
  /** Claims by product that the manifest does not map; null: no manifest was given. */
  readonly unmapped: ReadonlyMap<string, number> | null;
  readonly problems: ReadonlyProblems;
  /** Requests that a run needs, at least, by store. */
  readonly requests: Readonly<Record<Store, number>>;
  /** At the rate of a run. */
  readonly minutes: number;
}

/** Get App Transaction Info, a page of the history, and the statuses. */
export const APP_STORE_REQUESTS = 3;
/** Requests a second of a run beside the service's own. */
export const DEFAULT_RATE = 20;
/** Products that are counted by name; more are no catalog's. */
const MOST_PRODUCTS = 1000;

const productText = ({ productIdentifier, basePlanIdentifier }: ProductReference): string =>
  basePlanIdentifier == null ? productIdentifier : `${productIdentifier}:${basePlanIdentifier}`;

/** Name of the claim's lineage, so far as the file tells; null: it names none. */
export const lineageText = ({ store, lineage, name }: Claim): string | null =>
  name === null ? null : `${store} ${lineage ?? name.value}`;

type Counts = Record<Store, number>;
const none = (): Counts => ({ "ios-store": 0, "android-store": 0 });

/** Adds to the count of a name. */
export const count = <Name>(counts: Map<Name, number>, name: Name, by = 1): void =>
  void counts.set(name, (counts.get(name) ?? 0) + by);

/** Counts claims one at a time. */
const createCounter = (catalog: Application["catalog"] | null) => {
  const accounts = createSlots();
  const lineages = createSlots();
  const unmapped = new Map<string, number>();
  const byStore = none();
  const asked = none();
  const counts = { all: 0, anonymous: 0, sandbox: 0, unaskable: 0, ordersOnly: 0 };
  const countProduct = ({ store, product }: Claim): void => {
    if (catalog === null || product === null || catalog.productOf(store, product) !== undefined) return;
    const name = `${store} ${productText(product)}`;
    if (unmapped.has(name) || unmapped.size < MOST_PRODUCTS) count(unmapped, name);
  };
  const add = (claim: Claim): void => {
    const { account, store, environment, name } = claim;
    counts.all += 1;
    if (account === null) counts.anonymous += 1;
    else accounts.slotOf(digestOf(account));
    if (environment === "sandbox") counts.sandbox += 1;
    countProduct(claim);
    const lineage = lineageText(claim);
    if (name === null || lineage === null) {
      counts.unaskable += 1;
      return;
    }
    byStore[store] += 1;
    const before = lineages.count;
    const isNew = lineages.slotOf(digestOf(lineage)) === before;
    if (isNew) asked[store] += 1;
    if (isNew && name.kind === "order") counts.ordersOnly += 1;
  };
  return { accounts, lineages, unmapped, byStore, asked, counts, add };
};

/**
 * Reads the files and counts. Memory grows with the distinct accounts and purchases alone, about 15 bytes each.
 *
 * @param catalog null: products are not looked at
 */
export const checkImport = async (
  source: ImportSource,
  catalog: Application["catalog"] | null,
  rate = DEFAULT_RATE,
): Promise<ImportCheck> => {
  const counter = createCounter(catalog);
  const problems: RowProblems = new Map();
  let rows = 0;
  for await (const row of source.rows()) {
    rows += 1;
    noteProblems(problems, source, row);
    for (const claim of row.claims) counter.add(claim);
  }
  const { accounts, lineages, unmapped, byStore, asked, counts } = counter;
  const requests = {
    "ios-store": asked["ios-store"] * APP_STORE_REQUESTS,
    "android-store": asked["android-store"] + Math.ceil(counts.ordersOnly / ORDERS_AT_ONCE),
  };
  return {
    rows,
    accounts: accounts.count,
    lineages: lineages.count,
    claims: { ...counts, byAskable: byStore },
    unmapped: catalog === null ? null : unmapped,
    problems,
    requests,
    minutes: Math.ceil(Math.max(...STORES.map((store) => requests[store])) / rate / 60),
  };
};

/** Whether any of the files says who has access. */
export const claimsAccess = ({ files }: ImportSource): boolean => files.some((file) => file.claimsAccess);
