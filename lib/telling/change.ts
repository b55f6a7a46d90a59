import type { MessageType } from "../contract/messages.ts";
import type { CustomerEntitlement } from "../contract/schemas.ts";
import { DAY } from "../duration.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";

/** A version of an account, as told to destinations and answered by the feed. Its content never changes. */
export interface ChangeData {
  readonly applicationIdentifier: ApplicationId;
  readonly applicationAccountIdentifier: AccountId;
  /** From 1, without a gap. */
  readonly version: number;
  /** Entitlements that differ from the version before; empty where only the customers differ. */
  readonly changed: readonly string[];
  readonly customerIdentifiers: readonly CustomerId[];
  readonly entitlements: readonly CustomerEntitlement[];
}

/** Place of a change in its application's sequence. */
export interface ChangePlace {
  /** UTC date of the change's partition, such as `2027-01-31`. */
  readonly day: string;
  /** From 1, without a gap, in the order of telling. */
  readonly sequence: number;
}

export interface Change {
  readonly place: ChangePlace;
  readonly toldAt: Instant;
  /** Null: a customer of the account was erased since, and the data with it. */
  readonly data: ChangeData | null;
}

/** A change as the feed reads it. */
export interface FeedChange extends Change {
  /** First place of the transaction that told it. */
  readonly first: number;
}

/** UTC date of an instant, such as `2027-01-31`. */
export const dayOf = (moment: Instant): string => isoTime(moment).slice(0, 10);

/** Time for which changes and undelivered messages are kept. */
export const CHANGES_KEPT_MILLISECONDS = 30 * DAY;

export const ACCOUNT_CHANGED = "account.entitlements_changed" satisfies MessageType;
