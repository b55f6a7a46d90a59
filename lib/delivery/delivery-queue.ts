import { DAY } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { Lease, QueueHealth } from "../queues/health.ts";
import type { AccountId, ApplicationId } from "../identifiers.ts";
import type { Change, ChangePlace } from "../telling/change.ts";
import type { Message } from "./message.ts";

interface Waiting {
  /** Time of the oldest message that it replaces, or at which a notification came. */
  readonly since: Instant;
  readonly tries: number;
  /** No attempt before this time; 0: at once. */
  readonly nextTryAt: Instant;
}

/** Items that wait for other ends, such as destinations, and whether those take them. All reads are strongly consistent. */
export interface WaitingItems<End, Item> {
  /** Health of an end; one that was never tried takes items. */
  healthOf(end: End): Promise<QueueHealth>;
  /** Takes the right to deliver. Null: another worker has it, or the end is paused. */
  take(end: End, lease: Lease, moment: Instant): Promise<QueueHealth | null>;
  /** Ends the right, if it is still the worker's, and stores the end's health. */
  release(end: End, lease: Pick<Lease, "worker">, health: QueueHealth): Promise<void>;
  /** Removes an item, unless a newer version has taken its place. */
  remove(end: End, item: Item): Promise<void>;
  /** Moves an item to its next attempt, unless it was taken meanwhile, or a newer version has taken its place. */
  retry(end: End, item: Item, tries: number, nextTryAt: Instant): Promise<void>;
}

export interface DestinationReference {
  readonly application: ApplicationId;
  readonly destination: string;
}

/** Newest version of an account that a destination has not taken yet. */
export interface AccountDelivery extends Waiting {
  readonly kind: "account";
  readonly account: AccountId;
  readonly version: number;
  readonly place: ChangePlace;
}

export interface RequestDelivery extends Waiting {
  readonly kind: "request";
  readonly message: Message;
  /** Time after which it is no longer delivered. */
  readonly until: Instant;
}

export type Delivery = AccountDelivery | RequestDelivery;

export interface DeliveryQueue extends WaitingItems<DestinationReference, Delivery> {
  /** Pages of waiting deliveries, not ordered by time. Each account has at most one. */
  waiting(destination: DestinationReference, perPage: number): AsyncIterable<readonly Delivery[]>;
  /** The changes at these places, in their order; null: no longer kept. */
  changesAt(application: ApplicationId, places: readonly ChangePlace[]): Promise<readonly (Change | null)[]>;
  /** Ends a pause or a suspension. */
  resume(destination: DestinationReference): Promise<void>;
}

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

export interface Forward extends SentNotification, Waiting {
  readonly identifier: string;
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
