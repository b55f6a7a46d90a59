import type { MessageType } from "../contract/messages.ts";
import type { Instant } from "../entitlements/time.ts";

/** The service's name for destinations: the `User-Agent` of webhooks and the `Source` of events. */
export const SENDER = "customer-entitlements";

export const STORE_REQUEST = "store.request" satisfies MessageType;

export interface Message {
  /** The same at each attempt, so that a receiver recognizes a repetition. Visible ASCII without a dot. */
  readonly identifier: string;
  readonly type: string;
  readonly timestamp: Instant;
  readonly data: unknown;
}
