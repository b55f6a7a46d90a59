import type { AssertedBy } from "../contract/schemas.ts";
import type { CustomerId } from "../identifiers.ts";
import { compare } from "../order.ts";
import type { Purchase } from "./purchase.ts";

/** A purchase, its customer, and the source of the customer's link; null: the customer is not linked. */
export interface Holding {
  readonly customerIdentifier: CustomerId;
  readonly assertedBy: AssertedBy | null;
  readonly purchase: Purchase;
}

export const holdingOrder = ({ purchase: a }: Holding, { purchase: b }: Holding): number =>
  compare(a.key, b.key) || compare(a.store, b.store);
