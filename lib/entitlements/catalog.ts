import type { Store } from "../contract/schemas.ts";
import type { Period } from "./time.ts";

/** A store product and the entitlements it grants. */
export interface CatalogProduct {
  readonly store: Store;
  readonly productIdentifier: string;
  /** Android only: one base plan of a subscription; null: all of them. */
  readonly basePlanIdentifier: string | null;
  /** Android only: one purchase option (buy, rent) of a one-time product; null: all of them. */
  readonly purchaseOptionIdentifier: string | null;
  readonly grants: readonly string[];
  /** Access that one unit of a purchase without an end of its own gives; null: for ever. */
  readonly accessDuration: Period | null;
}

/** The identifiers of a product as a line has them. */
export type ProductReference = Pick<CatalogProduct, "productIdentifier"> &
  Partial<Pick<CatalogProduct, "basePlanIdentifier" | "purchaseOptionIdentifier">>;

/** What an application sells, and what that entitles to. */
export interface Catalog {
  /** Entitlement identifier to its display name. */
  readonly displayNames: ReadonlyMap<string, string>;
  readonly products: readonly CatalogProduct[];
  /** The product that maps a line: the one of its base plan or purchase option before the one of all of them. */
  readonly productOf: (store: Store, reference: ProductReference) => CatalogProduct | undefined;
  readonly sellsIn: (store: Store) => boolean;
}

const keyOf = (
  store: Store,
  { productIdentifier, basePlanIdentifier = null, purchaseOptionIdentifier = null }: ProductReference,
): string =>
  // With its length, so that no identifier can pretend to be another one with a plan.
  `${store} ${productIdentifier.length} ${productIdentifier} ${basePlanIdentifier ?? ""} ${purchaseOptionIdentifier === null ? "" : `option ${purchaseOptionIdentifier}`}`;

export const catalogOf = (
  displayNames: ReadonlyMap<string, string>,
  products: readonly CatalogProduct[],
): Catalog => {
  const index = new Map(products.map((product) => [keyOf(product.store, product), product]));
  const stores = new Set(products.map((product) => product.store));
  return {
    displayNames,
    products,
    productOf: (store, reference) => {
      const { productIdentifier, basePlanIdentifier = null, purchaseOptionIdentifier = null } = reference;
      const ofAll = () => index.get(keyOf(store, { productIdentifier }));
      return basePlanIdentifier === null && purchaseOptionIdentifier === null
        ? ofAll()
        : (index.get(keyOf(store, reference)) ?? ofAll());
    },
    sellsIn: (store) => stores.has(store),
  };
};
