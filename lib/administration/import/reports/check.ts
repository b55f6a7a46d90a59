import { STORES, type Store } from "../../../contract/schemas.ts";
import type { Catalog, ProductReference } from "../../../entitlements/catalog.ts";
import type { AccountId } from "../../../identifiers.ts";
import { ORDERS_AT_ONCE } from "../asking/google.ts";
import { readRows, type Claim, type ImportSource } from "../claim.ts";
import { lineageIdOf } from "../join.ts";

/** Get App Transaction Info, a page of the history, and the statuses. */
const APP_STORE_REQUESTS = 3;
/** Products that are counted by name; more are no catalog's. */
const MOST_PRODUCTS = 1000;

const productText = ({ productIdentifier, basePlanIdentifier }: ProductReference): string =>
  basePlanIdentifier == null ? productIdentifier : `${productIdentifier}:${basePlanIdentifier}`;

/** Reads the files and counts. Memory grows with the distinct accounts and purchases alone. */
export const checkImport = async (source: ImportSource, catalog: Catalog | null, rate: number) => {
  const accounts = new Set<AccountId>();
  const lineages = new Set<string>();
  const unmapped = new Map<string, number>();
  const asked: Record<Store, number> = { "ios-store": 0, "android-store": 0 };
  const claims = { anonymous: 0, sandbox: 0, unaskable: 0, ordersOnly: 0 };
  let all = 0;
  const countProduct = ({ store, product }: Claim): void => {
    if (catalog === null || product === null || catalog.productOf(store, product) !== undefined) return;
    const name = `${store} ${productText(product)}`;
    if (unmapped.has(name) || unmapped.size < MOST_PRODUCTS) unmapped.set(name, (unmapped.get(name) ?? 0) + 1);
  };
  const { rows, problems } = await readRows(source, (claim) => {
    const { account, store, environment, name } = claim;
    all += 1;
    if (account === null) claims.anonymous += 1;
    else accounts.add(account);
    if (environment === "sandbox") claims.sandbox += 1;
    countProduct(claim);
    const lineage = lineageIdOf(claim);
    if (name === null) claims.unaskable += 1;
    else if (!lineages.has(lineage)) {
      lineages.add(lineage);
      asked[store] += 1;
      if (name.kind === "order") claims.ordersOnly += 1;
    }
  });
  const requests = {
    "ios-store": asked["ios-store"] * APP_STORE_REQUESTS,
    "android-store": asked["android-store"] + Math.ceil(claims.ordersOnly / ORDERS_AT_ONCE),
  };
  return {
    rows,
    accounts: accounts.size,
    purchases: lineages.size,
    ...claims,
    claims: all,
    /** Claims by product; null: no catalog is given. */
    unmapped: catalog === null ? null : unmapped,
    problems,
    requests,
    /** At the rate of a run. */
    minutes: Math.ceil(Math.max(...STORES.map((store) => requests[store])) / rate / 60),
  };
};

export type ImportCheck = Awaited<ReturnType<typeof checkImport>>;
