import type { MessageType } from "../contract/messages.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";

/** The service's name for destinations: the `User-Agent` of webhooks and the `Source` of events. */
export const SENDER = "customer-entitlements";

/** Type of the message with a store's request to the application. */
export const STORE_REQUEST = "store.request" satisfies MessageType;

/** A message to a destination. */
export interface Message {
  /** The same at each attempt, so that a receiver recognizes a repetition. Visible ASCII without a dot. */
  readonly identifier: string;
  readonly type: string;
  readonly timestamp: Instant;
  readonly data: unknown;
}

/** The JSON body of a webhook. */
export const messageText = ({ type, timestamp, data }: Message): string =>
  JSON.stringify({ type, timestamp: isoTime(timestamp), data });
