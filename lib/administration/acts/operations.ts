import {
  type Bury,
  ERASURE_BLOCKS_MILLISECONDS,
  type CustomerChange,
  type WriteCustomerChange,
  type CustomerTable,
} from "../../customers/storing/fact-store.ts";
import type {
  Link,
  StoredCustomer,
  StoredIdentity,
  StoredPurchase,
  Transfer,
} from "../../customers/storing/records.ts";
import { type IdentityReference, referenceText } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { again, type Pause } from "../../pause.ts";
import {
  type AuditAction,
  type Audited,
  auditEntry,
  type AuditSubject,
  type AuditTable,
  type Authority,
  type HashAccounts,
} from "./audit.ts";

/** No function may send these writes. */
export interface OperationTable {
  /** Unlinks a customer, or moves it to `link`. Its current link completes an interrupted move. */
  relink(
    application: ApplicationId,
    customer: StoredCustomer,
    link: Link | null,
    audit: Audited,
  ): Promise<"written" | "conflict">;
  /** Deletes a customer: requests that name it are refused. `bury` then replaces what it owned. */
  end(application: ApplicationId, customer: StoredCustomer, audit: Audited): Promise<"written" | "conflict">;
  forget(application: ApplicationId, aliases: readonly CustomerId[]): Promise<void>;
  transfersOf(application: ApplicationId): Promise<readonly Transfer[]>;
  /** Customers after one, or all of them, without aliases. Scans the whole table: use it rarely. */
  customerPages(
    application: ApplicationId,
    after: CustomerId | null,
  ): AsyncIterable<{ readonly customers: readonly CustomerId[]; readonly accounts: readonly AccountId[] }>;
}

export interface Ownership {
  readonly purchases: readonly StoredPurchase[];
  readonly aliases: readonly StoredCustomer[];
  readonly identities: readonly OwnedIdentity[];
}

interface OwnedIdentity extends Pick<StoredIdentity, "item" | "customer"> {
  /** The identity that the item's key names; null: this version does not know its kind. */
  readonly identity:
    (Record<"store" | "environment" | "value", string> & Pick<IdentityReference, "kind">) | null;
}

/** All that a customer owns, by an index that may lag. */
export type FindOwnership = (application: ApplicationId, customer: CustomerId) => Promise<Ownership>;

/** An operator's change of one customer's link or holdings, never of what it owns. */
export const operatorChange = (
  application: ApplicationId,
  before: StoredCustomer,
  difference: Partial<Pick<StoredCustomer, "link" | "holdings">>,
  moment: Instant,
  tellsChanges: boolean,
): CustomerChange => ({
  application,
  before,
  after: { ...before, ...difference },
  holdingsWith: () => difference.holdings ?? before.holdings,
  absorbed: [],
  identities: [],
  purchases: [],
  liftsErasures: false,
  tellsChanges,
  moment,
});

/**
 * Removes erased customers from the changes of every account that was told to have them; of each account, the last version
 * stays under a keyed hash. If the application still tells changes, the accounts become due for a look instead, so that
 * the teller first tells that the customers are gone. Safe to repeat.
 */
export type ForgetTold = (
  application: ApplicationId,
  customers: readonly CustomerId[],
  account: AccountId | null,
  moment: Instant,
  begin: () => Promise<void>,
) => Promise<number>;

/** Deletes the pending store requests that name an erased customer, or the account. Safe to repeat. */
export type ForgetRequests = (
  application: ApplicationId,
  names: { readonly customers: readonly CustomerId[]; readonly account: AccountId | null },
  begin: () => Promise<void>,
) => Promise<number>;

export interface Operations {
  readonly customers: Pick<CustomerTable, "findCustomers">;
  readonly table: OperationTable;
  readonly audit: AuditTable;
  readonly hashAccounts: HashAccounts;
  readonly findOwnership: FindOwnership;
  readonly write: WriteCustomerChange;
  readonly bury: Bury;
  readonly forgetTold: ForgetTold;
  readonly forgetRequests: ForgetRequests;
  readonly now: () => Instant;
  readonly pause: Pause;
  /** Waits as long as the owner index may lag behind the table. */
  readonly waitForIndex: () => Promise<void>;
}

const ATTEMPTS = 20;

/** Index reads in a row, with a wait between them, that must find nothing before an erasure is complete. */
const EMPTY_LOOKS = 3;

/** Acts on a customer, again after a conflict. `stored` null: it is gone; the identifier names what remains. */
export const withCustomer = async <Outcome>(
  { customers, pause }: Operations,
  application: ApplicationId,
  identifier: CustomerId,
  act: (stored: StoredCustomer | null, identifier: CustomerId) => Promise<Outcome | "conflict">,
) =>
  again<Outcome>(ATTEMPTS, pause, async () => {
    const { living, gone } = await customers.findCustomers(application, [identifier]);
    const end = gone.get(identifier);
    if (end !== undefined) return act(null, end);
    const customer = living.get(identifier);
    return customer === undefined ? "conflict" : act(customer, customer.identifier);
  });

const entryAbout = async (
  { hashAccounts, now }: Operations,
  application: ApplicationId,
  action: AuditAction,
  authority: Authority,
  { accounts, ...about }: Omit<AuditSubject, "accounts"> & { readonly accounts: readonly AccountId[] },
): Promise<Audited> =>
  auditEntry(action, now(), authority, { ...about, accounts: await hashAccounts(application, accounts) });

type Unlinking =
  | { readonly outcome: "unlinked"; readonly account: AccountId | null }
  | { readonly outcome: "not_linked" | "linked_otherwise" };

interface UnlinkingOptions {
  readonly to?: AccountId | null;
  /** The link that the operator was shown; nothing changes if it differs. Unset: any. */
  readonly expected?: Pick<Link, "account" | "assertedBy"> | null;
}

/** Unlinks a customer, or moves it to another account. Audited. Null: there is no such customer. */
export const unlinkCustomer = async (
  operations: Operations,
  application: ApplicationId,
  customer: CustomerId,
  authority: Authority,
  { to = null, expected }: UnlinkingOptions = {},
): Promise<Unlinking | null> => {
  // A move takes two transactions. After a conflict on the second, the next attempt completes it under the first's entry.
  let begun: { readonly from: AccountId | null; readonly audited: Audited } | undefined;
  const unlink = async (stored: StoredCustomer | null): Promise<Unlinking | "conflict" | null> => {
    if (stored === null) return null;
    const { identifier, link } = stored;
    const isThere = to !== null && link?.account === to;
    if (isThere && !stored.unsettled) return { outcome: "unlinked", account: begun?.from ?? to };
    if (link === null && to === null) return { outcome: "not_linked" };
    const isExpected =
      expected === undefined ||
      (expected?.account === link?.account && expected?.assertedBy === link?.assertedBy);
    if (!isExpected && !isThere) return { outcome: "linked_otherwise" };
    if (begun === undefined || !isThere) {
      const linked = link === null ? "was linked to no account" : `was linked by a ${link.assertedBy}`;
      const about = { customer: identifier, what: [isThere ? "completes an interrupted move" : linked] };
      const accounts = [...new Set([link?.account, to].filter((account) => account != null))];
      const action = to === null ? "unlink" : "move";
      const audited = await entryAbout(operations, application, action, authority, { ...about, accounts });
      begun = { from: link?.account ?? null, audited };
    }
    const { from, audited: act } = begun;
    const moving: Link | null =
      to === null ? null : { account: to, assertedBy: "credential", linkedAt: act.entry.moment };
    const written = await operations.table.relink(application, stored, isThere ? link : moving, act);
    return written === "conflict" ? written : { outcome: "unlinked", account: from };
  };
  return withCustomer(operations, application, customer, unlink);
};

export interface Erasure {
  readonly purchases: number;
  readonly identities: number;
  readonly aliases: number;
}

/** Deletes a customer, unless it is gone. Null: it is not linked to the given account. */
const endCustomer = (
  operations: Operations,
  application: ApplicationId,
  customer: CustomerId,
  authority: Authority,
  of?: AccountId,
) =>
  withCustomer(operations, application, customer, async (stored, identifier) => {
    if (stored === null) return { identifier, account: null, wasThere: false };
    const account = stored.link?.account ?? null;
    if (of !== undefined && account !== of) return null;
    const about = { customer: identifier, accounts: account === null ? [] : [account] };
    const act = await entryAbout(operations, application, "erase", authority, about);
    const written = await operations.table.end(application, stored, act);
    return written === "conflict" ? written : { identifier, account, wasThere: true };
  });

/** Replaces all that a deleted customer owned by tombstones, until the index lists nothing more. */
const buryOwned = async (
  { findOwnership, bury, now, waitForIndex }: Operations,
  application: ApplicationId,
  identifier: CustomerId,
  onFound: () => Promise<void>,
  progress: (erased: Erasure) => void,
) => {
  const [purchases, identities] = [new Set<string>(), new Set<string>()];
  const aliases = new Set<CustomerId>();
  const counts = () => ({ purchases: purchases.size, identities: identities.size, aliases: aliases.size });
  const erasedUntil = now() + ERASURE_BLOCKS_MILLISECONDS;
  for (let empty = 0; empty < EMPTY_LOOKS;) {
    if (empty > 0) await waitForIndex();
    const owned = await findOwnership(application, identifier);
    for (const alias of owned.aliases) aliases.add(alias.identifier);
    const isEmpty = owned.purchases.length + owned.identities.length === 0;
    if (!isEmpty || owned.aliases.length > 0) await onFound();
    empty = isEmpty ? empty + 1 : 0;
    if (isEmpty) continue;
    // After a conflict, the next read finds what is left.
    await bury(application, identifier, owned, erasedUntil);
    for (const { purchase } of owned.purchases) purchases.add(referenceText(purchase));
    for (const { item } of owned.identities) identities.add(item);
    progress(counts());
  }
  return { aliases: [...aliases], erased: counts() };
};

/**
 * Erases a customer with its link, holdings, purchases and identities. For {@link ERASURE_BLOCKS_MILLISECONDS}, empty
 * tombstones reserve the purchases and identities: requests that name them get `CUSTOMER_NOT_FOUND`, unless a
 * credential links them again. Audited. Repeating it completes an interrupted erasure. Null: nothing of the customer is
 * left, or it is not linked to the given account.
 */
export const eraseCustomer = async (
  operations: Operations,
  application: ApplicationId,
  customer: CustomerId,
  authority: Authority,
  progress: (erased: Erasure) => void,
  of?: AccountId,
): Promise<Erasure | null> => {
  const { audit, forgetRequests, forgetTold, table, now } = operations;
  const ended = await endCustomer(operations, application, customer, authority, of);
  if (ended === null) return null;
  const { identifier, wasThere } = ended;
  let isRecorded = wasThere;
  /** Also records who completes an interrupted erasure. */
  const recordCompletion = async (): Promise<void> => {
    if (isRecorded) return;
    isRecorded = true;
    const about = { customer: identifier, what: ["completes an interrupted erasure"] };
    await audit.record(application, auditEntry("erase", now(), authority, about));
  };
  const buried = await buryOwned(operations, application, identifier, recordCompletion, progress);
  const { aliases, erased } = buried;
  const customers = [identifier, ...aliases];
  const requests = await forgetRequests(application, { customers, account: null }, recordCompletion);
  const told = await forgetTold(application, customers, ended.account, now(), recordCompletion);
  // Aliases go last: purchases stored for them are found through them.
  await table.forget(application, aliases);
  const all = erased.purchases + erased.identities + erased.aliases + requests + told;
  return !wasThere && all === 0 ? null : erased;
};

/** Deletes the pending store requests that name an account, also of customers that have moved. Audited if there is any. */
export const forgetAccountRequests = (
  operations: Operations,
  application: ApplicationId,
  account: AccountId,
  authority: Authority,
): Promise<number> =>
  operations.forgetRequests(application, { customers: [], account }, async () => {
    const about = { accounts: [account], what: ["begun: pending store requests of the account"] };
    const act = await entryAbout(operations, application, "erase", authority, about);
    await operations.audit.record(application, act);
  });
