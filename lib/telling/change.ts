import type { Destination } from "../applications/application.ts";
import type { MessageType } from "../contract/messages.ts";
import type { CustomerEntitlement } from "../contract/schemas.ts";
import { DAY } from "../duration.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import type { Lease } from "../queues/health.ts";

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

export interface StateDigest {
  readonly customers: readonly CustomerId[];
  /** Digest of each entitlement by its identifier. */
  readonly entitlements: ReadonlyMap<string, string>;
}

export const NO_STATE: StateDigest = { customers: [], entitlements: new Map() };

/** A due look at an account: a comparison of its state with what was last told. */
export interface Look {
  readonly account: AccountId;
  readonly dueAt: Instant;
  /** Write of a customer that may have changed it. Null: time alone may have, or an operator asked. */
  readonly cause: {
    readonly customer: CustomerId;
    /** The customer's version after the write; for an erasure, its last version. */
    readonly version: number;
    /** Customers whose items in the account the write put, changed or deleted. */
    readonly customers: readonly CustomerId[];
    readonly erased: boolean;
  } | null;
}

export interface Told {
  readonly account: AccountId;
  /** 0: nothing yet. An erased account continues from its last version. */
  readonly version: number;
  /** Whether it has an item; false: nothing was told, or its customers were erased since. */
  readonly isStored: boolean;
  readonly digest: StateDigest;
  /** Time of the next look that is due without a write; null: none. */
  readonly lookAt: Instant | null;
  /** Change that told the version; null: none. */
  readonly last: ChangePlace | null;
  /** Customers told as lost that still lead to the account in the table. */
  readonly left: readonly CustomerId[];
}

/** Exclusive right to tell for an application, and the last place in its sequence. */
export interface TellingTurn {
  readonly worker: string;
  /** Sequence of the last change; 0: none. */
  readonly sequence: number;
  /** Time of the last change: times of changes never go back. */
  readonly toldAt: Instant;
}

export interface AccountTelling {
  readonly before: Told;
  /** Looks that it completes. */
  readonly looks: readonly Look[];
  readonly digest: StateDigest;
  readonly lookAt: Instant | null;
  readonly gained: readonly CustomerId[];
  /** Lost customers that no longer lead to the account. */
  readonly lost: readonly CustomerId[];
  /** Lost customers that lead to the account until a later telling. */
  readonly left: readonly CustomerId[];
  /** The next version; null: nothing differs. */
  readonly data: ChangeData | null;
}

export interface Telling {
  readonly turn: TellingTurn;
  readonly toldAt: Instant;
  /** In the order of the sequence. */
  readonly accounts: readonly AccountTelling[];
  readonly destinations: readonly Destination[];
}

/** Hash of an account under a key of the service, hexadecimal: identifies an account that was erased. */
export type KeyedHash = (application: ApplicationId, account: AccountId) => Promise<string>;

/** Looks, told states and changes. All reads are strongly consistent. */
export interface ChangeTable {
  /** Looks due by the moment, oldest first. */
  due(application: ApplicationId, moment: Instant, limit: number): Promise<readonly Look[]>;
  /** Takes the right to tell, or extends the worker's own; null: another worker has it. */
  take(application: ApplicationId, lease: Lease, moment: Instant): Promise<TellingTurn | null>;
  release(application: ApplicationId, lease: Pick<Lease, "worker">): Promise<void>;
  /** Whether later reads see all of the looks' transactions. A read may see only part of one, even its look. */
  areApplied(application: ApplicationId, looks: readonly Look[]): Promise<boolean>;
  /** Last told state of each account, in the order of the accounts. */
  toldOf(application: ApplicationId, accounts: readonly AccountId[]): Promise<readonly Told[]>;
  /** Accounts of the customers, as last told; customers without one are left out. */
  accountsOf(
    application: ApplicationId,
    customers: readonly CustomerId[],
  ): Promise<ReadonlyMap<CustomerId, AccountId>>;
  /**
   * Empties the changes before the account's last. If that has no customers, keeps only the version, under a keyed
   * hash. Completes the erasure's looks. Safe to repeat.
   */
  forget(application: ApplicationId, account: AccountId, looks: readonly Look[]): Promise<void>;
  /**
   * Takes as many transactions as the accounts need. `conflict`: another worker tells, or a told state has changed; read
   * again.
   *
   * @returns `turn`: after the transactions that were written
   */
  write(
    application: ApplicationId,
    telling: Telling,
  ): Promise<{ readonly outcome: "written" | "conflict"; readonly turn: TellingTurn }>;
}
