import type { Instant } from "../../lib/entitlements/time.ts";
import type { Lie, Store } from "./lies.ts";

/** One purchase of a person: what the store knows, and what the old service believes. */
export interface Person {
  readonly number: number;
  /** Null: nobody's; the export has anonymous identifiers only. A few accounts have two purchases. */
  readonly account: string | null;
  readonly store: Store;
  readonly environment: "production" | "sandbox";
  /** Bundle or package. */
  readonly app: string;
  readonly product: string;
  /** Undefined: none. */
  readonly basePlan: string | undefined;
  readonly kind: "subscription" | "one_time_product";
  readonly state: State;
  /** End of access by the store; null: a lifetime, or no end is known. */
  readonly endsAt: Instant | null;
  /** Whether the store gives access at the time of the sale. */
  readonly isActive: boolean;
  /** Account as the store echoes it: the UUID, plain, or its SHA-256 in hex; null: none. */
  readonly echo: string | null;
  readonly ios: IosIdentifiers | null;
  readonly android: AndroidIdentifiers | null;
  readonly lie: Lie | null;
  /** Account with which a `swapped-account` or `two-accounts` mixes the own one up. */
  readonly otherAccount: string | null;
  /** The first and the last of the old service's identifiers for the person. */
  readonly aliases: { readonly original: string; readonly lastSeen: string };
  /** State by the old service. */
  readonly claim: Claim;
}

export interface Claim {
  readonly isActive: boolean;
  /** Null: a lifetime. */
  readonly endsAt: Instant | null;
  readonly refundedAt: Instant | null;
}

export interface IosIdentifiers {
  readonly transactionIdentifier: string;
  readonly originalTransactionIdentifier: string;
  /** Null: the app is older than app transaction ids. */
  readonly appTransactionIdentifier: string | null;
}

export interface AndroidIdentifiers {
  readonly purchaseToken: string;
  readonly orderIdentifier: string;
}

/** State of a purchase in its store. */
export type State =
  "active" | "cancelled" | "ended" | "lifetime" | "renewed" | "refunded" | "grace" | "retry" | "unknown";

export interface Catalog {
  readonly app: string;
  readonly subscription: string;
  /** Google only; a RevenueCat export names it behind the product. */
  readonly basePlan?: string;
  readonly oneTimeProduct: string;
  /** A product that the application's manifest does not map. */
  readonly notMapped: string;
}

export interface PlanOptions {
  readonly count: number;
  readonly seed: number;
  /** Time of both stores. */
  readonly at: Instant;
  readonly catalogs: Readonly<Record<Store, Catalog>>;
  /** Share of each lie; unset: as `LIES` says. Above 0, at least one person tells it. */
  readonly lies?: Partial<Readonly<Record<Lie, number>>>;
}
