import type { Store } from "../contract/schemas.ts";
import type { Catalog } from "./catalog.ts";
import type { Line, Purchase } from "./purchase.ts";

/** A product that was bought and that the current catalog grants nothing for. */
export interface UngrantedProduct extends Pick<
  Line,
  "productIdentifier" | "basePlanIdentifier" | "purchaseOptionIdentifier"
> {
  readonly store: Store;
  /**
   * `unmapped`: the catalog does not map it. `no-access-duration`: it is a rental whose product has no
   * `accessDuration`.
   */
  readonly because: "unmapped" | "no-access-duration";
}

const reasonOf = (store: Store, line: Line, catalog: Catalog): UngrantedProduct["because"] | null => {
  const product = catalog.productOf(store, line);
  if (product === undefined) return "unmapped";
  return line.rented && product.accessDuration === null ? "no-access-duration" : null;
};

export const ungrantedProducts = (
  purchases: readonly Purchase[],
  catalog: Catalog,
): readonly UngrantedProduct[] => {
  const found = new Map<string, UngrantedProduct>();
  for (const { store, lines } of purchases)
    for (const line of lines) {
      const { productIdentifier, basePlanIdentifier, purchaseOptionIdentifier } = line;
      const because = reasonOf(store, line, catalog);
      const name = JSON.stringify([store, productIdentifier, basePlanIdentifier, purchaseOptionIdentifier]);
      if (because !== null)
        found.set(name, { store, productIdentifier, basePlanIdentifier, purchaseOptionIdentifier, because });
    }
  return [...found.values()];
};
