import type { Store } from "../contract/schemas.ts";
import type { Purchase } from "./purchase.ts";
import type { Period } from "./time.ts";

export interface CatalogProduct {
  readonly store: Store;
  readonly productIdentifier: string;
  /** Android: one base plan of a subscription; null: all of them. */
  readonly basePlanIdentifier: string | null;
  /** Android: one purchase option (buy, rent) of a one-time product; null: all of them. */
  readonly purchaseOptionIdentifier: string | null;
  readonly grants: readonly string[];
  /**
   * Per unit, where the store sets no end. Null: lifetime, as an omission takes nothing paid away; of a rental,
   * none.
   */
  readonly accessDuration: Period | null;
}

/** Product identifiers, as a line has them. */
export type ProductReference = Pick<CatalogProduct, "productIdentifier"> &
  Partial<Pick<CatalogProduct, "basePlanIdentifier" | "purchaseOptionIdentifier">>;

export interface Catalog {
  /** Display name by entitlement identifier. */
  readonly displayNames: ReadonlyMap<string, string>;
  readonly products: readonly CatalogProduct[];
  /**
   * Product that maps a line. One for its base plan or purchase option wins over one for all of them; a subscription
   * without a base plan has what all its mapped plans grant.
   */
  readonly productOf: (store: Store, reference: ProductReference) => CatalogProduct | undefined;
  readonly sellsIn: (store: Store) => boolean;
}

const nameOf = (store: Store, productIdentifier: string): string => `${store} ${productIdentifier}`;

const isOf =
  (basePlan: string | null, purchaseOption: string | null) =>
  ({ basePlanIdentifier, purchaseOptionIdentifier }: CatalogProduct): boolean =>
    basePlanIdentifier === basePlan && purchaseOptionIdentifier === purchaseOption;

/**
 * Product of a subscription whose base plan Google leaves out, as seen while a deferred replacement waits: its grants are
 * those that all its mapped plans give.
 *
 * @see https://github.com/android/play-billing-samples/issues/624
 */
const ofAnyPlan = (mapped: readonly CatalogProduct[]): CatalogProduct | undefined => {
  const [first, ...others] = mapped.filter(({ basePlanIdentifier }) => basePlanIdentifier !== null);
  const grants = first?.grants.filter((grant) => others.every((other) => other.grants.includes(grant))) ?? [];
  return first && grants.length > 0 ? { ...first, basePlanIdentifier: null, grants } : undefined;
};

export const catalogOf = (
  displayNames: ReadonlyMap<string, string>,
  products: readonly CatalogProduct[],
): Catalog => {
  const named = Map.groupBy(products, ({ store, productIdentifier }) => nameOf(store, productIdentifier));
  const stores = new Set(products.map((product) => product.store));
  return {
    displayNames,
    products,
    productOf: (store, { productIdentifier, basePlanIdentifier = null, purchaseOptionIdentifier = null }) => {
      const mapped = named.get(nameOf(store, productIdentifier)) ?? [];
      return (
        mapped.find(isOf(basePlanIdentifier, purchaseOptionIdentifier)) ??
        mapped.find(isOf(null, null)) ??
        (basePlanIdentifier === null ? ofAnyPlan(mapped) : undefined)
      );
    },
    sellsIn: (store) => stores.has(store),
  };
};

/** A product that was bought and that the catalog grants nothing for. */
export interface UngrantedProduct extends Pick<
  CatalogProduct,
  "store" | "productIdentifier" | "basePlanIdentifier" | "purchaseOptionIdentifier"
> {
  /** `no-access-duration`: it is a rental whose product has no `accessDuration`. */
  readonly because: "unmapped" | "no-access-duration";
}

export const ungrantedProducts = (
  purchases: readonly Purchase[],
  catalog: Catalog,
): readonly UngrantedProduct[] => {
  const found = new Map<string, UngrantedProduct>();
  for (const { store, lines } of purchases)
    for (const line of lines) {
      const { productIdentifier, basePlanIdentifier, purchaseOptionIdentifier } = line;
      const bought = { store, productIdentifier, basePlanIdentifier, purchaseOptionIdentifier };
      const product = catalog.productOf(store, line);
      if (product === undefined) found.set(JSON.stringify(bought), { ...bought, because: "unmapped" });
      else if (line.rented && product.accessDuration === null)
        found.set(JSON.stringify(bought), { ...bought, because: "no-access-duration" });
    }
  return [...found.values()];
};
