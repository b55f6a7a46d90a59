import { DAY } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { WaitingItems } from "./delivery-queue.ts";

export interface ForwardReference {
  readonly application: ApplicationId;
  readonly bundleIdentifier: string;
}

/** A verified notification as the App Store sent it. Holds signed payloads: it is in no log, error or report. */
export interface SentNotification {
  readonly body: string;
  readonly contentType: string;
}

/** Printable ASCII, as the parts of a media type are. */
const MEDIA_TYPE = /^[\x20-\x7e]{1,256}$/;

/** A sender's `Content-Type`, if a header can repeat it. */
export const forwardableType = (contentType: string | null): string =>
  contentType !== null && MEDIA_TYPE.test(contentType) ? contentType : "application/json";

export interface Forward extends SentNotification {
  readonly identifier: string;
  /** When it came. */
  readonly since: Instant;
  readonly tries: number;
  /** No attempt before this time. */
  readonly nextTryAt: Instant;
}

/** Time after which a notification that was not taken is dropped: the last attempts are a day apart. */
export const FORWARDS_KEPT_MILLISECONDS = 7 * DAY;

export interface WaitingForwards {
  readonly count: number;
  /** There are more than were counted. */
  readonly isMore: boolean;
  /** When the oldest of them came; null: none waits. */
  readonly since: Instant | null;
}

export interface ForwardQueue extends WaitingItems<ForwardReference, Forward> {
  add(bundle: ForwardReference, forward: Forward): Promise<void>;
  /** Those due by the moment, the earliest first. */
  due(bundle: ForwardReference, moment: Instant, limit: number): Promise<readonly Forward[]>;
  waiting(bundle: ForwardReference): Promise<WaitingForwards>;
}
