import { type Application, tellsChanges } from "../../applications/application.ts";
import { ENVIRONMENTS } from "../../contract/schemas.ts";
import type { AskQueues } from "../../customers/asking/ask.ts";
import type { CustomerTable } from "../../customers/storing/fact-store.ts";
import { type Link, type StoredCustomer, accountHoldings, customersOf, eachOnce, isErased } from "../../customers/storing/records.ts";
import type { AccountDelivery, Delivery, DestinationReference } from "../../delivery/delivery-queue.ts";
import { entitlementsAt } from "../../entitlements/entitlements.ts";
import { type IdentityReference, type Purchase, type PurchaseReference, referenceText } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { Holding } from "../../entitlements/timeline.ts";
import { type AccountId, type ApplicationId, type CustomerId, purchaseKey } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { purchaseKeyOfToken } from "../../stores/android-store/reading.ts";
import { storeIdentifier } from "../../stores/ios-store/payloads.ts";
import type { Change, ChangePlace, Told } from "../../telling/change.ts";
import type { FindOwnership } from "../acts/operations.ts";
import { type Asking, createAskings } from "./asking.ts";

type WaitingVersion = Pick<AccountDelivery & Delivery, "version" | "since" | "tries" | "nextTryAt">;

export interface ToldTable {
  /** Null: nothing was told, or the account was erased since. */
  toldOf(application: ApplicationId, account: AccountId): Promise<Told | null>;
  /** Null: the change is no longer kept. */
  changeAt(application: ApplicationId, place: ChangePlace): Promise<Change | null>;
  /** Null: nothing of the account waits. */
  waitingOf(destination: DestinationReference, account: AccountId): Promise<WaitingVersion | null>;
  /** Time of the account's first look among the oldest due ones; null: it has none there. */
  lookDueSince(application: ApplicationId, account: AccountId, moment: Instant): Promise<Instant | null>;
}

/** Null: the application tells no changes, and told none of the account. */
const loadToldReport = async (
  table: ToldTable,
  application: Application,
  account: AccountId,
  moment: Instant,
) => {
  const { identifier, destinations } = application;
  const told = await table.toldOf(identifier, account);
  if (told === null && !tellsChanges(application)) return null;
  const [change, lookDueSince, waiting] = await Promise.all([
    told?.last == null ? null : table.changeAt(identifier, told.last),
    table.lookDueSince(identifier, account, moment),
    Promise.all(
      destinations.map(async ({ name }) => ({
        name,
        waiting: await table.waitingOf({ application: identifier, destination: name }, account),
      })),
    ),
  ]);
  return {
    last:
      told === null || told.version === 0
        ? null
        : { version: told.version, change, entitlements: [...told.digest.entitlements.keys()].sort() },
    /** Time of the due look; null: none is due. */
    lookDueSince,
    /** The next look that time alone makes due; null: time alone changes nothing. */
    nextLookAt: told?.lookAt ?? null,
    destinations: waiting,
  };
};
export type ToldReport = NonNullable<Awaited<ReturnType<typeof loadToldReport>>>;

export interface Reports {
  readonly customers: Pick<CustomerTable, "findAccount" | "findCustomers">;
  readonly findOwnership: FindOwnership;
  readonly queue: Pick<AskQueues, "healthOf">;
  readonly told: ToldTable;
}

type Askings = ReturnType<typeof createAskings>;

const reportOf = async (
  { findOwnership }: Reports,
  { identifier: application }: Application,
  { identifier, createdAt, link }: StoredCustomer,
  askings: Askings,
) => {
  const { purchases, aliases, identities } = await findOwnership(application, identifier);
  const owned: readonly Purchase[] = purchases
    .map(({ purchase }) => purchase)
    .sort((a, b) => compare(referenceText(a), referenceText(b)));
  const asked = purchases.map(
    async (stored) => [referenceText(stored.purchase), await askings(stored)] as const,
  );
  /** The next question about each purchase, by `referenceText`. */
  const asking: ReadonlyMap<string, Asking> = new Map(await Promise.all(asked));
  return {
    customerIdentifier: identifier,
    createdAt,
    link,
    aliases: aliases.map((alias) => alias.identifier).sort(compare),
    identities: identities.flatMap(({ identity }) => identity ?? []),
    purchases: owned,
    asking,
  };
};
export type CustomerReport = Awaited<ReturnType<typeof reportOf>>;

export type ReportedCustomer = CustomerReport & { readonly link: Link };

export const reportedHoldings = (customers: readonly ReportedCustomer[]): readonly Holding[] =>
  customers.flatMap(({ customerIdentifier, link: { assertedBy }, purchases }) =>
    purchases.map((purchase): Holding => ({ customerIdentifier, assertedBy, purchase })),
  );

/** Reads a customer, or the one it was merged into; null if there is none. */
export const loadCustomerReport = async (
  reports: Reports,
  application: Application,
  customer: CustomerId,
): Promise<CustomerReport | null> => {
  const { living } = await reports.customers.findCustomers(application.identifier, [customer]);
  const stored = living.get(customer);
  if (stored === undefined) return null;
  return reportOf(reports, application, stored, createAskings(reports.queue, application));
};

/** Reads an account with all purchases of its customers; an unknown account has no customers. */
export const loadAccountReport = async (
  reports: Reports,
  application: Application,
  account: AccountId,
  moment: Instant,
) => {
  const { customers, queue, told } = reports;
  const linked = await customers.findAccount(application.identifier, account);
  const { living } = await customers.findCustomers(
    application.identifier,
    linked.map(({ customer }) => customer),
  );
  const askings = createAskings(queue, application);
  const reported = await Promise.all(
    eachOnce(living).map(async (stored): Promise<ReportedCustomer[]> => {
      const { link } = stored;
      return link === null ? [] : [{ ...(await reportOf(reports, application, stored, askings)), link }];
    }),
  );
  const all: readonly ReportedCustomer[] = reported
    .flat()
    .sort((a, b) => compare(a.customerIdentifier, b.customerIdentifier));
  return {
    application: { identifier: application.identifier, name: application.name },
    account,
    customers: all,
    /** As `readAccountEntitlements` would answer at the moment. */
    entitlements: entitlementsAt(moment, accountHoldings(linked), application),
    /** Changes told and pending; null: none are told, and none were told of it. */
    told: await loadToldReport(told, application, account, moment),
  };
};
export type AccountReport = Awaited<ReturnType<typeof loadAccountReport>>;

/**
 * Finds customers by a name that a store or `account show` uses, in any environment: an iOS original transaction id or
 * app transaction id, an Android purchase token, or a purchase key.
 */
export const findCustomersKnownAs = async (
  customers: Pick<CustomerTable, "findFacts" | "findCustomers">,
  application: Application,
  name: string,
  moment: Instant,
) => {
  // Any other name can only be a purchase token, possibly too long for a key.
  const keys = storeIdentifier().safeParse(name).success ? [purchaseKey(name)] : [];
  const purchases = ENVIRONMENTS.flatMap((environment): PurchaseReference[] => [
    ...[purchaseKeyOfToken(name), ...keys].map((key) => ({ store: "android-store" as const, environment, key })),
    ...keys.map((key) => ({ store: "ios-store" as const, environment, key })),
  ]);
  const identities = ENVIRONMENTS.flatMap((environment): IdentityReference[] =>
    keys.map((value) => ({ store: "ios-store", kind: "app-transaction", environment, value })),
  );
  const known = await customers.findFacts(application.identifier, identities, purchases, moment);
  const { living, gone } = await customers.findCustomers(application.identifier, customersOf(known));
  return {
    customers: eachOnce(living),
    /** Customers that the name leads to and that no longer exist: their erasure was interrupted. */
    gone: [...new Set(gone.values())],
    /** An erased customer's tombstone still reserves it. */
    erased: isErased(known),
  };
};
