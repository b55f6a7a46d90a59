import type { ProductKind, Store } from "../../lib/contract/schemas.ts";
import type { Instant } from "../../lib/entitlements/time.ts";

/** State of a purchase in its store; `unknown`: Google no longer answers about it. */
export type State =
  "active" | "cancelled" | "ended" | "lifetime" | "renewed" | "refunded" | "grace" | "retry" | "unknown";

interface Plant {
  /** Undefined: either store. */
  readonly store?: Store;
  /** Undefined: any. */
  readonly state?: State;
  /** Why the account differs, as an import finds by asking the stores; null: it reads through the error. */
  readonly cause: string | null;
  /** Default share of the persons. */
  readonly share: number;
}

/** Errors that an export holds about a person. */
export const LIES = {
  /** The export's end is later than the store's, which has passed. */
  "wrong-end": { state: "ended", cause: "ended", share: 0.01 },
  "renewal-unseen": { state: "renewed", cause: "renewed", share: 0.01 },
  "refund-unseen": { state: "refunded", cause: "refunded", share: 0.01 },
  "grace-unseen": { state: "grace", cause: "grace-or-retry", share: 0.01 },
  "retry-unseen": { state: "retry", cause: "grace-or-retry", share: 0.01 },
  /** Two persons have each other's account; the store's echo names their own. */
  "swapped-account": { cause: "swapped-account", share: 0.01 },
  /** The files name two accounts for one lineage. */
  "two-accounts": { store: "ios-store", cause: "two-accounts", share: 0.005 },
  /** 410. */
  "dropped-token": { store: "android-store", state: "unknown", cause: "dropped", share: 0.01 },
  /** 404. */
  "forgotten-token": { store: "android-store", state: "unknown", cause: "dropped", share: 0.005 },
  /** The row names nothing that a store could be asked about. */
  "no-token": { cause: "no-token", share: 0.005 },
  "product-not-mapped": { cause: "product-not-mapped", share: 0.005 },
  /** The first of several aliases is not the account; older rows have an anonymous one. */
  "alias-chain": { cause: null, share: 0.02 },
  /** Every alias is `$RCAnonymousID:…`: an account of nobody's. */
  anonymous: { cause: null, share: 0.03 },
  "order-id-only": { store: "android-store", cause: null, share: 0.02 },
  sandbox: { cause: null, share: 0.02 },
  /** Older rows name another account and another end; without a time of update, the row is there twice. */
  "repeated-rows": { cause: null, share: 0.02 },
} as const satisfies Record<string, Plant>;
export type Lie = keyof typeof LIES;
export type Cause = NonNullable<(typeof LIES)[Lie]["cause"]>;

export const plantOf = (lie: Lie | null): Partial<Plant> => (lie === null ? {} : LIES[lie]);

export const LIE_NAMES = Object.keys(LIES) as readonly Lie[];

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
  readonly kind: ProductKind;
  readonly state: State;
  /** End of access by the store; null: a lifetime, or no end is known. */
  readonly endsAt: Instant | null;
  /** Whether the store gives access at the time of the sale. */
  readonly isActive: boolean;
  /** Account as the store echoes it: the UUID, plain, or its SHA-256 in hex; null: none. */
  readonly echo: string | null;
  readonly ios: {
    readonly transactionIdentifier: string;
    readonly originalTransactionIdentifier: string;
    /** Null: the app is older than app transaction ids. */
    readonly appTransactionIdentifier: string | null;
  } | null;
  readonly android: { readonly purchaseToken: string; readonly orderIdentifier: string } | null;
  readonly lie: Lie | null;
  /** Account with which a `swapped-account` or `two-accounts` mixes the own one up. */
  readonly otherAccount: string | null;
  /** The first and the last of the old service's identifiers for the person. */
  readonly aliases: { readonly original: string; readonly lastSeen: string };
  /** State by the old service; its end is null for a lifetime. */
  readonly claim: {
    readonly isActive: boolean;
    readonly endsAt: Instant | null;
    readonly refundedAt: Instant | null;
  };
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

interface Catalog {
  readonly app: string;
  readonly subscription: string;
  /** Google only; a RevenueCat export names it behind the product. */
  readonly basePlan?: string;
  readonly oneTimeProduct: string;
  /** A product that the application's manifest does not map. */
  readonly notMapped: string;
}
