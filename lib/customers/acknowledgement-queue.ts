import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { DueAcknowledgement } from "./records.ts";

/** Queue of due acknowledgements. An entry is written in the transaction that stores its purchase. */
export interface AcknowledgementQueue {
  /** Shards can be processed in parallel. */
  readonly shards: number;
  /** Pages of a shard's entries, oldest first. Shards count from 0. */
  waiting(shard: number): AsyncIterable<readonly DueAcknowledgement[]>;
  /** Removes an entry that is acknowledged or given up. */
  remove(
    due: Pick<DueAcknowledgement, "application" | "dueSince"> & { readonly purchase: PurchaseReference },
  ): Promise<void>;
}
