import type { Destination } from "../applications/destination.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import type { StateDigest } from "./account-state.ts";
import type { ChangeData, ChangePlace } from "./change.ts";
import type { Look } from "./look.ts";

/** What an account was last told. */
export interface Told {
  readonly account: AccountId;
  /** 0: nothing yet. An erased account's goes on from its last one. */
  readonly version: number;
  /** Whether it has an item; false: nothing was told, or its customers were erased since. */
  readonly isStored: boolean;
  readonly digest: StateDigest;
  /** Time of the look that time alone makes due; null: none is set. */
  readonly lookAt: Instant | null;
  /** The change that told it; null: none was. */
  readonly last: ChangePlace | null;
  /** Customers that it was told to have lost, and under which it is still found. */
  readonly left: readonly CustomerId[];
}

/** Right to tell for an application, and the last place in its sequence. */
export interface TellingTurn {
  readonly worker: string;
  /** Of the last change; 0: there is none. */
  readonly sequence: number;
  /** Time of the last change: times of changes never go back. */
  readonly toldAt: Instant;
}

/** One account's part of a telling. */
export interface AccountTelling {
  readonly before: Told;
  /** Looks that it answers. */
  readonly looks: readonly Look[];
  readonly digest: StateDigest;
  readonly lookAt: Instant | null;
  readonly gained: readonly CustomerId[];
  /** Customers under which it is found no more. */
  readonly lost: readonly CustomerId[];
  /** Customers that it has lost too, and under which a later telling lets it be found no more. */
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

/** Looks, what was told, and changes. All reads are strongly consistent. */
export interface ChangeTable {
  /** Looks due by the moment, oldest first. */
  due(application: ApplicationId, moment: Instant, limit: number): Promise<readonly Look[]>;
  /** Takes the right to tell until the time; null: another worker has it. */
  take(
    application: ApplicationId,
    worker: string,
    until: Instant,
    moment: Instant,
  ): Promise<TellingTurn | null>;
  release(application: ApplicationId, worker: string): Promise<void>;
  /**
   * Whether all that was written with the looks is visible to every later read. A read may see part of a transaction, a
   * look among it.
   */
  areApplied(application: ApplicationId, looks: readonly Look[]): Promise<boolean>;
  /** What each account was last told, in the order of the accounts. */
  toldOf(application: ApplicationId, accounts: readonly AccountId[]): Promise<readonly Told[]>;
  /** Accounts that were last told to have the customers; those that no account was told to have are left out. */
  accountsOf(
    application: ApplicationId,
    customers: readonly CustomerId[],
  ): Promise<ReadonlyMap<CustomerId, AccountId>>;
  /** Items that an account takes in a telling's transaction, beside the one of the sequence. */
  itemsOf(account: AccountTelling, destinations: readonly Destination[]): number;
  /**
   * Empties the changes before the account's last one, and where that is of nobody, keeps of what was told only the version,
   * under a keyed hash of the account. Then the looks of the erasure are done. May be repeated after it was interrupted.
   */
  forget(application: ApplicationId, account: AccountId, looks: readonly Look[]): Promise<void>;
  /** One transaction. `conflict`: another worker tells, or what was told has changed; read again. */
  write(application: ApplicationId, telling: Telling): Promise<"written" | "conflict">;
}
