import type { Store } from "../contract/schemas.ts";
import type { Period } from "./time.ts";

/** A store product and the entitlements it grants. */
export interface CatalogProduct {
  readonly store: Store;
  readonly productIdentifier: string;
  /** Android only: one base plan of a subscription; null: all of them. */
  readonly basePlanIdentifier: string | null;
  readonly grants: readonly string[];
  /** How long a purchase without an end of its own gives access, from its start; null: for ever. */
  readonly accessDuration: Period | null;
}

/** What an application sells, and what that entitles to. */
export interface Catalog {
  /** Entitlement identifier to its display name. */
  readonly displayNames: ReadonlyMap<string, string>;
  readonly products: readonly CatalogProduct[];
  /** Of a line, the product that maps it: the one of its base plan before the one of all base plans. */
  readonly productOf: (
    store: Store,
    productIdentifier: string,
    basePlanIdentifier: string | null,
  ) => CatalogProduct | undefined;
  readonly sellsIn: (store: Store) => boolean;
}

const keyOf = (store: Store, productIdentifier: string, basePlanIdentifier: string | null): string =>
  JSON.stringify([store, productIdentifier, basePlanIdentifier]);

export const catalogOf = (
  displayNames: ReadonlyMap<string, string>,
  products: readonly CatalogProduct[],
): Catalog => {
  const index = new Map(
    products.map((product) => [
      keyOf(product.store, product.productIdentifier, product.basePlanIdentifier),
      product,
    ]),
  );
  const stores = new Set(products.map((product) => product.store));
  return {
    displayNames,
    products,
    productOf: (store, productIdentifier, basePlanIdentifier) =>
      index.get(keyOf(store, productIdentifier, basePlanIdentifier)) ??
      index.get(keyOf(store, productIdentifier, null)),
    sellsIn: (store) => stores.has(store),
  };
};
