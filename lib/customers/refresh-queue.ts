import type { Environment, Store } from "../contract/schemas.ts";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { Lease, QueueHealth } from "../freshness/queue-health.ts";
import type { DueRefresh, RefreshSource } from "../freshness/refresh.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { StoredPurchase } from "./records.ts";

/**
 * The refreshes of one application in one store and environment: a queue of its own, so that no application delays
 * another, and no sandbox delays production. Apple's sandbox has its own outages and rate limits.
 */
export interface QueueReference {
  readonly application: ApplicationId;
  readonly store: Store;
  readonly environment: Environment;
}

/** Health of a queue and, where its application has several bundles or packages, of each one that fails. */
export interface RefreshQueueHealth extends QueueHealth {
  readonly byName: ReadonlyMap<string, QueueHealth>;
}

/** Queues of refreshes. A refresh is written in the transaction that stores its purchase's facts. */
export interface RefreshQueue {
  /** Refreshes due by the moment, oldest first. One strongly consistent read. */
  due(queue: QueueReference, moment: Instant, limit: number): Promise<readonly DueRefresh[]>;
  /** Health of the queue; a queue that was never taken is healthy. One strongly consistent read. */
  healthOf(queue: QueueReference): Promise<RefreshQueueHealth>;
  /**
   * Source of a purchase, as stored in its refresh at this time; null: there is no such refresh. One strongly
   * consistent read.
   */
  sourceOf(
    application: ApplicationId,
    purchase: PurchaseReference,
    dueAt: Instant,
  ): Promise<RefreshSource | null>;
  /** Ends a pause, and the lease of a worker that may not know of it: the next one tries a refresh at once. The failures of the queue as a whole stay counted. */
  resume(queue: QueueReference): Promise<void>;
  /** Takes the lease, or extends the worker's own. Null: another worker has it, or the queue is paused. */
  take(queue: QueueReference, lease: Lease, moment: Instant): Promise<RefreshQueueHealth | null>;
  /** Ends the lease, if it is still the worker's, and stores the queue's health. */
  release(queue: QueueReference, lease: Pick<Lease, "worker">, health: RefreshQueueHealth): Promise<void>;
  /**
   * Moves a refresh and the purchase's record of it to another time; null: removes it. One that was moved meanwhile is left where it
   * is, and is settled. One that somebody has asked for since the store was asked stays due: `asked-again`.
   *
   * @param askedAt time at which the store was asked about it; null: whether somebody has asked for it or not
   */
  move(due: DueRefresh, to: Instant | null, askedAt: Instant | null): Promise<"settled" | "asked-again">;
  /** Moves a refresh likewise, which keeps the time since which it has been due. */
  putOff(due: DueRefresh, until: Instant, askedAt: Instant | null): Promise<"settled" | "asked-again">;
  /**
   * Sets a refresh that somebody asks for, for a purchase as it was read. One that has this time already keeps its item.
   * `conflict`: the purchase has changed since.
   */
  set(
    application: ApplicationId,
    purchase: Pick<StoredPurchase, "purchase" | "revision" | "refreshAt">,
    to: Pick<DueRefresh, "dueAt" | "source"> & { readonly askedForAt: Instant },
  ): Promise<"written" | "conflict">;
}
