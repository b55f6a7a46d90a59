import { setTimeout as sleep } from "node:timers/promises";
import type { HashAccounts } from "../lib/administration/acts/audit.ts";
import type { Operations } from "../lib/administration/acts/operations.ts";
import type { Refreshing } from "../lib/administration/acts/refresh.ts";
import type { Resending } from "../lib/administration/acts/destinations.ts";
import { tellsChanges } from "../lib/applications/application.ts";
import { keyedHash } from "../lib/delivery/webhook-secret.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import type { ApplicationId } from "../lib/identifiers.ts";
import { once } from "../lib/once.ts";
import { pause } from "../lib/pause.ts";
import {
  createApplicationReader,
  createApplicationTable,
  createDestinationTable,
} from "../lib/table/applications/applications.ts";
import { createAuditTable } from "../lib/table/applications/audit.ts";
import { createCredentialTable } from "../lib/table/applications/credentials.ts";
import { createCustomerTable } from "../lib/table/customers/customers.ts";
import { createFindOwnership, createOperationTable } from "../lib/table/customers/operations.ts";
import { bury, writeCustomerChange } from "../lib/table/customers/write-customer-change.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import { createAskQueues } from "../lib/table/queues/asks.ts";
import { createNotificationTimes, createWatermarks } from "../lib/table/queues/notifications.ts";
import {
  createDeliveryQueue,
  createForwardQueue,
  createResendTable,
} from "../lib/table/telling/delivery-queue.ts";
import { createForgetRequests, createForgetTold } from "../lib/table/telling/erasure.ts";
import { createFeedTable, createToldTable } from "../lib/table/telling/changes.ts";
import type { KeyedHash } from "../lib/telling/change.ts";
import type { Connection } from "./connection.ts";
import { OperatorError } from "./operator-error.ts";

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
  customers: createCustomerTable(table),
  findOwnership: createFindOwnership(table),
  queue: createAskQueues(table),
  table: createOperationTable(table, tellsIn(table)),
});

export const resendingOn = (table: Table, now: () => Instant): Resending => ({
  feed: createFeedTable(table),
  table: createResendTable(table),
  now,
});

/** Wait for the owner index, which usually lags by a fraction of a second; DynamoDB guarantees no bound. */
const INDEX_BEHIND_MILLISECONDS = 1_000;

export const waitForIndex = (): Promise<void> => sleep(INDEX_BEHIND_MILLISECONDS);

interface OperationEffects extends Pick<Operations, "now" | "pause" | "waitForIndex" | "hashAccounts"> {
  /** Read for an erased customer's account, if the application no longer tells changes. */
  readonly keyedHash: KeyedHash;
}

export const operationsOn = (
  table: Table,
  { keyedHash, ...effects }: OperationEffects,
  tells = tellsIn(table),
): Operations => ({
  ...effects,
  audit: createAuditTable(table),
  forgetTold: createForgetTold(table, keyedHash, tells),
  forgetRequests: createForgetRequests(table),
  customers: createCustomerTable(table),
  table: createOperationTable(table, tells),
  findOwnership: createFindOwnership(table),
  write: (change) => writeCustomerChange(table, change),
  bury: (...remains) => bury(table, ...remains),
});

export interface Effects {
  readonly now: () => Instant;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Waits as long as the owner index may lag behind the table. */
  readonly waitForIndex: () => Promise<void>;
}

type Warn = (line: string) => void;

/** Reads at most once what a command can do without: where it cannot be read, warns and has null. */
const orWarning = <Value>(
  read: () => Promise<Value>,
  warn: Warn,
  consequence = "",
): (() => Promise<Value | null>) =>
  once(() =>
    read().catch((error: unknown) => {
      if (!(error instanceof OperatorError)) throw error;
      warn(`${consequence}${error.message}`);
      return null;
    }),
  );

/** Opens the parts of the table for one command, at the moment at which it begins. */
export const openSession = (
  { store: table, caller, ...connection }: Connection,
  effects: Effects,
  warn: Warn,
) => {
  const { now, waitForIndex } = effects;
  const masterSecret = orWarning(connection.masterSecret, warn, "The audit cannot name accounts. ");
  const hashAccounts: HashAccounts = async (application, accounts) => {
    const master = accounts.length === 0 ? null : await masterSecret();
    return master === null ? [] : accounts.map((account) => keyedHash(master, application, account));
  };
  const operations = operationsOn(table, {
    now,
    pause,
    waitForIndex,
    hashAccounts,
    keyedHash: async (application, account) =>
      keyedHash(await connection.masterSecret(), application, account),
  });
  const { findOwnership, audit } = operations;
  return {
    ...connection,
    ...effects,
    moment: now(),
    table,
    /** The AWS identity of the shell, for the audit; null: unknown, and the operator was warned. */
    caller: orWarning(caller, warn),
    hashAccounts,
    operations,
    findOwnership,
    audit,
    customers: createCustomerTable(table),
    applications: createApplicationTable(table),
    credentials: createCredentialTable(table),
    notifications: createNotificationTimes(table),
    destinations: createDestinationTable(table),
    deliveries: createDeliveryQueue(table),
    forwards: createForwardQueue(table),
    queue: createAskQueues(table),
    watermarks: createWatermarks(table),
    told: createToldTable(table),
  };
};
export type Session = ReturnType<typeof openSession>;
