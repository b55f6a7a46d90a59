import { isoTime, type Instant } from "../entitlements/time.ts";

/** The service's name for destinations: the `User-Agent` of webhooks and the `Source` of events. */
export const SENDER = "customer-entitlements";

/** Type of the message that passes on what a store asks of the application. */
export const STORE_REQUEST = "store.request";

/** What a destination is told. */
export interface Message {
  /** The same at each attempt, so that a receiver recognizes what it has already got. Visible ASCII without a dot. */
  readonly identifier: string;
  readonly type: string;
  readonly timestamp: Instant;
  readonly data: unknown;
}

/** The JSON body of a webhook. */
export const messageText = ({ type, timestamp, data }: Message): string =>
  JSON.stringify({ type, timestamp: isoTime(timestamp), data });
