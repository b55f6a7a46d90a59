import { setTimeout as sleep } from "node:timers/promises";
import type { Operations } from "../lib/administration/acts/operations.ts";
import type { Refreshing } from "../lib/administration/acts/refresh.ts";
import type { Resending } from "../lib/administration/acts/resend.ts";
import { tellsChanges } from "../lib/applications/application.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import type { ApplicationId } from "../lib/identifiers.ts";
import { pause } from "../lib/pause.ts";
import { createApplicationReader } from "../lib/table/applications/application-reader.ts";
import { createAuditTable } from "../lib/table/applications/audit.ts";
import { bury, writeCustomerChange } from "../lib/table/customers/write-customer-change.ts";
import { createCustomerTable } from "../lib/table/customers/customers.ts";
import { createFindOwnership, createOperationTable } from "../lib/table/customers/operations.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import { createAskQueues } from "../lib/table/queues/asks.ts";
import { createFeedTable } from "../lib/table/telling/feed.ts";
import { createResendTable } from "../lib/table/telling/delivery-queue.ts";
import { createForgetRequests, createForgetTold } from "../lib/table/telling/erasure.ts";
import type { KeyedHash } from "../lib/telling/change-table.ts";

/** Whether an application tells changes. One read. */
export const tellsIn =
  (table: Table) =>
  async (identifier: ApplicationId): Promise<boolean> => {
    const application = await createApplicationReader(table).load(identifier);
    return application !== null && tellsChanges(application);
  };

export const refreshingOn = (table: Table, { now, wait }: Pick<Refreshing, "now" | "wait">): Refreshing => ({
  now,
  wait,
  pause,
  customers: createCustomerTable(table),
  findOwnership: createFindOwnership(table),
  queue: createAskQueues(table),
  table: createOperationTable(table, tellsIn(table)),
});

export const resendingOn = (table: Table, now: () => Instant): Resending => ({
  feed: createFeedTable(table),
  table: createResendTable(table),
  now,
  pause,
});

/** Wait for the owner index, which usually lags by a fraction of a second; DynamoDB guarantees no bound. */
const INDEX_BEHIND_MILLISECONDS = 1_000;

export const waitForIndex = (): Promise<void> => sleep(INDEX_BEHIND_MILLISECONDS);

interface OperationEffects
  extends
    Pick<Operations, "now" | "pause" | "waitForIndex" | "newEntry">,
    Partial<Pick<Operations, "hashAccounts">> {
  /** Read for an erased customer's account, if the application no longer tells changes. */
  readonly keyedHash: KeyedHash;
}

/** Binds the operator's work on customers to a table. `hashAccounts` unset: accounts are in the audit by the keyed hash. */
export const operationsOn = (
  table: Table,
  {
    keyedHash,
    hashAccounts = (application, accounts) =>
      Promise.all(accounts.map((account) => keyedHash(application, account))),
    ...effects
  }: OperationEffects,
  tells = tellsIn(table),
): Operations => ({
  ...effects,
  hashAccounts,
  audit: createAuditTable(table),
  forgetTold: createForgetTold(table, keyedHash, tells),
  forgetRequests: createForgetRequests(table),
  customers: createCustomerTable(table),
  table: createOperationTable(table, tells),
  findOwnership: createFindOwnership(table),
  write: (change) => writeCustomerChange(table, change),
  bury: (...remains) => bury(table, ...remains),
});
