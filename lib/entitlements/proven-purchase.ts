import type { Environment, Store } from "../contract/schemas.ts";
import type { Purchase } from "./purchase.ts";

/** A fact, verified by a store, that names one customer. Every purchase is an identity of its own beside these. */
export interface IdentityReference {
  readonly store: Store;
  readonly kind: "app-transaction";
  readonly environment: Environment;
  readonly value: string;
}

/** A purchase that a store has vouched for. */
export interface ProvenPurchase {
  readonly purchase: Purchase;
  /** Purchases that it names, as replaced by it or as the same person's, and of which it says nothing else. */
  readonly mentioned: readonly Purchase[];
  /** The identity that its own signed payloads name; null where they name none. */
  readonly identity: IdentityReference | null;
}
