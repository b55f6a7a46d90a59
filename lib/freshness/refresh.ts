import type { Environment, ProductKind } from "../contract/schemas.ts";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";

/** Environments whose purchases a store can be asked about, production first. */
export const REFRESHED_ENVIRONMENTS = ["production", "sandbox"] as const satisfies readonly Environment[];

/** An Android purchase as the store is asked for it. Holds the purchase token, so it is never logged. */
export interface AndroidStoreSource {
  readonly store: "android-store";
  readonly packageName: string;
  readonly purchaseToken: string;
  readonly productKind: ProductKind;
}

/** App of an iOS purchase, which is asked for by its original transaction id. */
export interface IosStoreSource {
  readonly store: "ios-store";
  readonly bundleIdentifier: string;
}

/** A purchase's place in its store, by which the store is asked about it again. */
export type RefreshSource = AndroidStoreSource | IosStoreSource;

/** Origin of a request's facts. */
export interface FactsOrigin {
  readonly source: RefreshSource;
  /** Whether the store can be asked again, and may have more to say. */
  readonly canRefresh: boolean;
  /** Time at which this service asked the store; null: the facts came by themselves. */
  readonly askedAt: Instant | null;
  /** Time of one more refresh: the store's answer is older than its own notification. Unset: none. */
  readonly askAgainAt?: Instant;
}

/** A refresh in the queue of its application and store. */
export interface DueRefresh {
  readonly application: ApplicationId;
  readonly purchase: PurchaseReference;
  readonly dueAt: Instant;
  readonly source: RefreshSource;
}

/** A refresh to be made, or to be put off. */
export interface PlannedRefresh {
  readonly at: Instant;
  readonly source: RefreshSource;
}

/** Change of a purchase's refresh, written with its facts. */
export interface RefreshMove {
  /** Time of the refresh in the queue; null: there is none. */
  readonly from: Instant | null;
  /** Null: none is due any more. */
  readonly to: PlannedRefresh | null;
}
