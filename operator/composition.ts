import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import {
  loadAccountReport,
  type AccountReport,
  type Reports,
} from "../lib/administration/reports/account-report.ts";
import { loadCustomerReport } from "../lib/administration/reports/customer-report.ts";
import { findCustomersKnownAs } from "../lib/administration/reports/find-customers.ts";
import type { Authority, HashAccounts } from "../lib/administration/reports/audit.ts";
import {
  eraseCustomer,
  forgetAccountRequests,
  unlinkCustomer,
  type Erasure,
  type Operations,
  type UnlinkingOptions,
} from "../lib/administration/acts/operations.ts";
import type { ScanPosition } from "../lib/administration/acts/operation-table.ts";
import type { Refreshing } from "../lib/administration/acts/refresh.ts";
import { reprojectApplication, type Reprojection } from "../lib/administration/acts/reproject.ts";
import type { Resending } from "../lib/administration/acts/resend.ts";
import { tellsChanges, type Application } from "../lib/applications/application.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../lib/identifiers.ts";
import { pause } from "../lib/pause.ts";
import { createApplicationReader } from "../lib/table/applications/application-reader.ts";
import { createAuditTable } from "../lib/table/applications/audit.ts";
import { bury } from "../lib/table/customers/burial.ts";
import { createCustomerTable } from "../lib/table/customers/customers.ts";
import type { KeyedHash } from "../lib/telling/change-table.ts";
import { createFeedTable } from "../lib/table/telling/feed.ts";
import { createOperationTable } from "../lib/table/customers/operations.ts";
import { createFindOwnership } from "../lib/table/customers/ownership.ts";
import { createAskQueues } from "../lib/table/queues/asks.ts";
import { createForgetRequests } from "../lib/table/telling/forget-requests.ts";
import { createForgetTold } from "../lib/table/telling/forget-told.ts";
import { keyedHash } from "../lib/delivery/webhook-secret.ts";
import { createRetellTable } from "../lib/table/telling/retell.ts";
import { createResendTable } from "../lib/table/telling/resend.ts";
import { createToldTable } from "../lib/table/telling/told-report.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import { writeCustomerChange } from "../lib/table/customers/write-customer-change.ts";

/** Whether an application tells changes. One read. */
export const tellsIn =
  (table: Table) =>
  async (identifier: ApplicationId): Promise<boolean> => {
    const application = await createApplicationReader(table).load(identifier);
    return application !== null && tellsChanges(application);
  };

const reportsOf = (table: Table): Reports => ({
  customers: createCustomerTable(table, pause),
  findOwnership: createFindOwnership(table, pause),
  queue: createAskQueues(table),
});

/** Binds the account report to a table. An unknown account has no customers. */
export const composeAccountReport =
  (table: Table) =>
  (application: Application, account: AccountId, moment: Instant): Promise<AccountReport> =>
    loadAccountReport({ ...reportsOf(table), told: createToldTable(table) }, application, account, moment);

/** Binds manual refreshes to a table. */
export const refreshingOn = (table: Table, effects: Pick<Refreshing, "now" | "wait">): Refreshing => ({
  now: effects.now,
  wait: effects.wait,
  pause,
  customers: createCustomerTable(table, pause),
  findOwnership: createFindOwnership(table, pause),
  queue: createAskQueues(table),
  table: createOperationTable(table, tellsIn(table)),
});

/** Binds the redelivery of changes to a table. */
export const resendingOn = (table: Table, now: () => Instant): Resending => ({
  feed: createFeedTable(table),
  table: createResendTable(table, pause),
  now,
  pause,
});

/** Accounts of an application, to be looked at again. */
export const retellTableOn = (table: Table) => createRetellTable(table, pause);

/** Wait for the owner index, which usually lags by a fraction of a second; DynamoDB guarantees no bound. */
const INDEX_BEHIND_MILLISECONDS = 1_000;

/** For {@link composeOperations}. */
export const waitForIndex = (): Promise<void> => sleep(INDEX_BEHIND_MILLISECONDS);

/**
 * Binds the operator's work on customers to a table.
 *
 * @param hashAccounts accounts in the audit; unset: by the keyed hash
 */
export const operationsOn = (
  table: Table,
  {
    keyedHash,
    hashAccounts = (application, accounts) =>
      Promise.all(accounts.map((account) => keyedHash(application, account))),
    ...effects
  }: Pick<Operations, "now" | "pause" | "waitForIndex" | "newEntry"> &
    Partial<Pick<Operations, "hashAccounts">> & { readonly keyedHash: KeyedHash },
  tells = tellsIn(table),
  operations = createOperationTable(table, tells),
): Operations => ({
  ...effects,
  hashAccounts,
  audit: createAuditTable(table),
  forgetTold: createForgetTold(table, effects.pause, keyedHash, tells),
  forgetRequests: createForgetRequests(table, effects.pause),
  customers: createCustomerTable(table, effects.pause),
  table: operations,
  findOwnership: createFindOwnership(table, effects.pause),
  write: (change) => writeCustomerChange(table, change),
  bury: (...remains) => bury(table, ...remains),
});

export interface OperationEffects {
  readonly now: () => Instant;
  /** Waits as long as the owner index may lag behind the table. */
  readonly waitForIndex: () => Promise<void>;
  /** Read only for an erased customer's account, if the application no longer tells changes. */
  readonly masterSecret: () => Promise<Uint8Array>;
  readonly hashAccounts: HashAccounts;
}

/** The operator's operations on customers. */
export const composeOperations = (
  table: Table,
  { now, waitForIndex, masterSecret, hashAccounts }: OperationEffects,
) => {
  const reports = reportsOf(table);
  const customers = createCustomerTable(table, pause);
  const keyedHashOf: KeyedHash = async (application, account) =>
    keyedHash(await masterSecret(), application, account);
  const operations = operationsOn(table, {
    now,
    pause,
    waitForIndex,
    newEntry: uuid,
    keyedHash: keyedHashOf,
    hashAccounts,
  });
  return {
    showCustomer: (application: Application, customer: CustomerId) =>
      loadCustomerReport(reports, application, customer),
    findCustomersKnownAs: (application: Application, name: string) =>
      findCustomersKnownAs(customers, application, name, now()),
    unlinkCustomer: (
      application: ApplicationId,
      customer: CustomerId,
      authority: Authority,
      options: UnlinkingOptions = {},
    ) => unlinkCustomer(operations, application, customer, authority, options),
    eraseCustomer: (
      application: ApplicationId,
      customer: CustomerId,
      authority: Authority,
      progress: (erased: Erasure) => void,
      options: { readonly account?: AccountId } = {},
    ) => eraseCustomer(operations, application, customer, authority, progress, options),
    forgetAccountRequests: (application: ApplicationId, account: AccountId, authority: Authority) =>
      forgetAccountRequests(operations, application, account, authority),
    reproject: (
      application: Application,
      after: ScanPosition | null,
      progress: (done: Reprojection) => void,
    ) => reprojectApplication(operations, application, after, progress),
    transfers: (application: ApplicationId) => operations.table.transfersOf(application),
  };
};
