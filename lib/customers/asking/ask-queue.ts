import type { NextAsk } from "../../entitlements/next-ask.ts";
import type { ApplicationId } from "../../identifiers.ts";
import type { QueueHealth } from "../../queues/health.ts";
import type { Queue } from "../../queues/work-off.ts";
import type { AskSource, DueAsk } from "./ask.ts";
import type { StoredPurchase } from "../storing/records.ts";
import type { StoreInEnvironment } from "../application-of.ts";

export const PAUSE_REASONS = ["unavailable", "credential-rejected"] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** Fields of a stored purchase that its queue item depends on. */
export type Asked = Pick<StoredPurchase, "purchase" | "ask" | "bundleOrPackage" | "acknowledgement">;

/** One queue for each bundle or package and environment. The transaction of a purchase's facts writes its item. */
export interface AskQueues {
  of(reference: StoreInEnvironment): Queue<DueAsk, PauseReason>;
  /** Health of a queue; one that was never taken is healthy. */
  healthOf(reference: StoreInEnvironment): Promise<QueueHealth<PauseReason>>;
  /** Ends a pause: the next worker asks at once. */
  resume(reference: StoreInEnvironment): Promise<void>;
  /** Source of a queued purchase; null: it is in no queue. */
  sourceOf(application: ApplicationId, asked: Asked): Promise<AskSource | null>;
  /** Moves an item and its purchase's record of it; null: removes both. One that was moved meanwhile stays as it is. */
  move(due: DueAsk, to: NextAsk | null): Promise<void>;
  /** Sets a purchase's question. `conflict`: the purchase has changed since it was read. */
  set(
    application: ApplicationId,
    stored: Asked & Pick<StoredPurchase, "revision">,
    ask: NextAsk,
    source: AskSource,
  ): Promise<"written" | "conflict">;
  /**
   * Ends an acknowledgement, and moves the question to what the facts give. A purchase that has changed since stays as
   * it is.
   */
  acknowledged(
    application: ApplicationId,
    asked: Asked,
    source: AskSource,
    to: NextAsk | null,
  ): Promise<void>;
}
