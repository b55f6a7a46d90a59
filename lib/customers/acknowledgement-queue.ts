import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { DueAcknowledgement } from "./records.ts";

/** The queue of acknowledgements that are due. They enter it in the transaction that stores their purchase. */
export interface AcknowledgementQueue {
  /** The number of shards, which can be worked off side by side. */
  readonly shards: number;
  /** What waits in a shard, counted from 0, a page at a time, the oldest first. */
  waiting(shard: number): AsyncIterable<readonly DueAcknowledgement[]>;
  /** Takes one out of the queue: it is acknowledged, or will never be. */
  remove(
    due: Pick<DueAcknowledgement, "application" | "dueSince"> & { readonly purchase: PurchaseReference },
  ): Promise<void>;
}
