import type { Environment, Store } from "../contract/schemas.ts";
import type { Purchase } from "./purchase.ts";

/** A store-verified fact that identifies one customer. Every purchase is an identity as well. */
export interface IdentityReference {
  readonly store: Store;
  readonly kind: "app-transaction";
  readonly environment: Environment;
  readonly value: string;
}

export interface ProvenPurchase {
  readonly purchase: Purchase;
  /** Purchases that it only mentions: as replaced by it, or as the same person's. */
  readonly mentioned: readonly Purchase[];
  /** An identity named by its own signed payloads, which agree with the request's; null where they name none. */
  readonly identity: IdentityReference | null;
}
