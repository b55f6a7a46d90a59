import { ERASURE_BLOCKS_MILLISECONDS, type Bury } from "../../customers/storing/bury-remains.ts";
import type { WriteCustomerChange } from "../../customers/storing/customer-change.ts";
import type { CustomerTable } from "../../customers/storing/customer-table.ts";
import type { Link, StoredCustomer } from "../../customers/storing/records.ts";
import { referenceText } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { again, type Pause } from "../../pause.ts";
import { auditEntry, type Audited, type AuditTable, type Authority, type HashAccounts } from "./audit.ts";
import type { FindOwnership, OperationTable } from "./operation-table.ts";

/**
 * Removes erased customers from what was told. Empties the changes of every account that was told to have them, and
 * keeps only each account's last version, under a keyed hash. If the application still tells changes, makes those
 * accounts due for a look instead, so that the teller first tells that the customers are gone. Safe to repeat after an
 * interruption.
 */
export type ForgetTold = (
  application: ApplicationId,
  customers: readonly CustomerId[],
  account: AccountId | null,
  moment: Instant,
  begin: () => Promise<void>,
) => Promise<number>;

/** Whom a message must name to be deleted: one of the customers, or the account. */
interface ErasedNames {
  readonly customers: readonly CustomerId[];
  readonly account: AccountId | null;
}

/** Deletes the pending store requests about an erased customer or account. Safe to repeat after an interruption. */
export type ForgetRequests = (
  application: ApplicationId,
  names: ErasedNames,
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

/** Index reads in a row that find nothing, with a wait between them, before an erasure counts as complete. */
const EMPTY_LOOKS = 3;

export const withCustomer = async <Outcome, Gone>(
  { customers, pause }: Operations,
  application: ApplicationId,
  identifier: CustomerId,
  act: (customer: StoredCustomer) => Promise<Outcome | "conflict">,
  whereGone: (end: CustomerId) => Gone,
): Promise<Outcome | Gone> =>
  again<Outcome | Gone>(ATTEMPTS, pause, async () => {
    const { living, gone } = await customers.findCustomers(application, [identifier]);
    const end = gone.get(identifier);
    if (end !== undefined) return whereGone(end);
    const customer = living.get(identifier);
    return customer === undefined ? "conflict" : act(customer);
  });

type Unlinking =
  | { readonly outcome: "unlinked"; readonly account: AccountId | null }
  | { readonly outcome: "not_linked" }
  | { readonly outcome: "linked_otherwise" };

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
  // A move takes two transactions. After a conflict on the second, the next attempt reads the new link and completes it,
  // under the entry of the first.
  let begun: { readonly from: AccountId | null; readonly audited: Audited } | undefined;
  const audited = async (action: "unlink" | "move", { identifier, link }: StoredCustomer, what: string) => {
    const named = [...new Set([link?.account, to].filter((account) => account != null))];
    const accounts = await operations.hashAccounts(application, named);
    return auditEntry(action, operations.now(), authority, { customer: identifier, accounts, what: [what] });
  };
  const unlink = async (stored: StoredCustomer): Promise<Unlinking | "conflict"> => {
    const { link } = stored;
    const isThere = to !== null && link?.account === to;
    if (isThere && !stored.unsettled) return { outcome: "unlinked", account: begun?.from ?? to };
    if (link === null && to === null) return { outcome: "not_linked" };
    const isExpected =
      expected === undefined ||
      (expected?.account === link?.account && expected?.assertedBy === link?.assertedBy);
    if (!isExpected && !isThere) return { outcome: "linked_otherwise" };
    if (begun === undefined || !isThere) {
      const linked = link === null ? "was linked to no account" : `was linked by a ${link.assertedBy}`;
      const what = isThere ? "completes an interrupted move" : linked;
      const act = await audited(to === null ? "unlink" : "move", stored, what);
      begun = { from: link?.account ?? null, audited: act };
    }
    const { from, audited: act } = begun;
    const moving: Link | null =
      to === null ? null : { account: to, assertedBy: "credential", linkedAt: act.entry.moment };
    const written = await operations.table.relink(application, stored, isThere ? link : moving, act);
    return written === "conflict" ? written : { outcome: "unlinked", account: from };
  };
  return withCustomer(operations, application, customer, unlink, () => null);
};

export interface Erasure {
  readonly purchases: number;
  readonly identities: number;
  readonly aliases: number;
}

/** The customer is not linked to the given account. */
const LEFT = Symbol("left");

/** Deletes a customer, unless it is gone: what remains of it is still found under its identifier. */
const endCustomer = (
  operations: Operations,
  application: ApplicationId,
  customer: CustomerId,
  authority: Authority,
  account: AccountId | undefined,
) =>
  withCustomer(
    operations,
    application,
    customer,
    async (stored) => {
      const { identifier, link } = stored;
      if (account !== undefined && link?.account !== account) return LEFT;
      const accounts = await operations.hashAccounts(application, link === null ? [] : [link.account]);
      const act = auditEntry("erase", operations.now(), authority, { customer: identifier, accounts });
      const written = await operations.table.end(application, stored, act);
      return written === "conflict" ? written : { identifier, left: link?.account ?? null, wasThere: true };
    },
    (identifier) => ({ identifier, left: null, wasThere: false }),
  );

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
  const counts = (): Erasure => ({
    purchases: purchases.size,
    identities: identities.size,
    aliases: aliases.size,
  });
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
 * credential links them again. Audited. Repeating it completes an interrupted erasure.
 *
 * @returns null: nothing of the customer is left, or it is not linked to the given account
 */
export const eraseCustomer = async (
  operations: Operations,
  application: ApplicationId,
  customer: CustomerId,
  authority: Authority,
  progress: (erased: Erasure) => void,
  { account }: { readonly account?: AccountId } = {},
): Promise<Erasure | null> => {
  const { audit, forgetRequests, forgetTold, table, now } = operations;
  const ended = await endCustomer(operations, application, customer, authority, account);
  if (ended === LEFT) return null;
  const { identifier, left, wasThere } = ended;
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
  const told = await forgetTold(application, customers, left, now(), recordCompletion);
  // Aliases go last: purchases stored for them are found through them.
  await table.forget(application, aliases);
  const all = erased.purchases + erased.identities + erased.aliases + requests + told;
  return !wasThere && all === 0 ? null : erased;
};

/**
 * Deletes the pending store requests that name the account, also those about a customer that has moved since. Completes the
 * erasure of an account, after that of its customers. Audited if there is any.
 */
export const forgetAccountRequests = (
  operations: Operations,
  application: ApplicationId,
  account: AccountId,
  authority: Authority,
): Promise<number> =>
  operations.forgetRequests(application, { customers: [], account }, async () => {
    const accounts = await operations.hashAccounts(application, [account]);
    const what = ["begun: pending store requests of the account"];
    await operations.audit.record(
      application,
      auditEntry("erase", operations.now(), authority, { accounts, what }),
    );
  });
