import type { Environment, ProductKind } from "../contract/schemas.ts";
import { DAY, HOUR, MINUTE } from "../duration.ts";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, PurchaseKey } from "../identifiers.ts";

/** Environments whose purchases a store can be asked about, production first. */
export const REFRESHED_ENVIRONMENTS = ["production", "sandbox"] as const satisfies readonly Environment[];

/** Parameters of a look-up in the Android store. Holds the purchase token, so it is never logged. */
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

/** Time after its due time for which a refresh is kept, in milliseconds, so that a token is not kept if nothing processes the queue. */
export const KEPT_AFTER_DUE = 120 * DAY;

/** Time for which a refresh that was asked for stays so. */
const ASKED_FOR = DAY;

/** Steps after the time for which a refresh was asked, while the store gives no answer that can be used. */
const STEPS_AFTER_ASKED = [10 * MINUTE, 6 * HOUR, DAY];

/** Whether a refresh that was asked for is still: for a day, unless the store answers. Then the purchase's own steps follow. */
export const isStillAskedFor = (askedForAt: Instant | null, moment: Instant): askedForAt is Instant =>
  askedForAt !== null && moment < askedForAt + ASKED_FOR;

/**
 * The next time, later than `after`, at which a refresh that was asked for is made again, because the store has not answered;
 * null: none.
 */
export const askedForAgain = (askedForAt: Instant, after: Instant): Instant | null => {
  const step = STEPS_AFTER_ASKED.find((delay) => askedForAt + delay > after);
  return step === undefined ? null : askedForAt + step;
};

/** Whether a refresh is still in its queue at a moment: its item has not expired. */
export const isQueued = (refreshAt: Instant | null, moment: Instant): refreshAt is Instant =>
  refreshAt !== null && moment < refreshAt + KEPT_AFTER_DUE;

/** Time of a refresh that is to be made by `at`: the one that is queued, if that is due before. */
export const dueBy = (at: Instant, refreshAt: Instant | null, moment: Instant): Instant =>
  isQueued(refreshAt, moment) ? Math.min(refreshAt, at) : at;

/** Source by which the store is asked about a purchase again. */
export type RefreshSource = AndroidStoreSource | IosStoreSource;

/** Origin of a request's facts. */
export interface FactsOrigin {
  readonly source: RefreshSource;
  /** Whether the store can be asked again and may have news. */
  readonly canRefresh: boolean;
  /** Time at which this service asked the store; null: it did not. */
  readonly askedAt: Instant | null;
  /**
   * Times at which the store is asked whatever the facts give. Google: its answer is older than its own notification. App Store, one
   * time: an erasure was lifted. Unset: none.
   */
  readonly askAgainAt?: readonly Instant[];
  /** Key of the purchase that the store was asked about. Unset: it was not asked, or about the only purchase of the facts. */
  readonly askedAbout?: PurchaseKey;
}

/** A refresh in the queue of its application and store. */
export interface DueRefresh {
  readonly application: ApplicationId;
  readonly purchase: PurchaseReference;
  readonly dueAt: Instant;
  readonly source: RefreshSource;
  /** Time since which it has been due, if it was put off because its bundle or package cannot be asked about. */
  readonly dueSince?: Instant | undefined;
}

/** A refresh to schedule or reschedule. */
export interface PlannedRefresh {
  readonly at: Instant;
  readonly source: RefreshSource;
  readonly dueSince?: Instant | undefined;
}

/** Change of a purchase's refresh, written with its facts. */
export interface RefreshMove {
  /** Time of the refresh in the queue; null: there is none. */
  readonly from: Instant | null;
  /** Null: removed from the queue. */
  readonly to: PlannedRefresh | null;
}
