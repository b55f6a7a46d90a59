import { setTimeout as sleep } from "node:timers/promises";
import type { HashAccounts } from "../lib/administration/acts/audit.ts";
import type { Operations } from "../lib/administration/acts/operations.ts";
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
import { createOperationTable } from "../lib/table/customers/operations.ts";
import { bury, createFindOwnership } from "../lib/table/customers/owned-items.ts";
import { writeCustomerChange } from "../lib/table/customers/customer-change.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import { createAskQueues } from "../lib/table/queues/asks.ts";
import { createNotificationTimes, createWatermarks } from "../lib/table/queues/notifications.ts";
import { createToldTable } from "../lib/table/telling/changes.ts";
import { createDeliveryQueue, createForwardQueue } from "../lib/table/telling/delivery-queue.ts";
import { createForgetRequests, createForgetTold } from "../lib/table/telling/erasure.ts";
import type { KeyedHash } from "../lib/telling/change.ts";
import type { Connection } from "./connection.ts";
import { OperatorError } from "./operator-error.ts";

/** One read. */
export const tellsIn =
  (table: Table) =>
  async (identifier: ApplicationId): Promise<boolean> => {
    const application = await createApplicationReader(table).load(identifier);
    return application !== null && tellsChanges(application);
  };

/** The owner index usually lags by a fraction of a second; DynamoDB guarantees no bound. */
export const waitForIndex = (): Promise<void> => sleep(1_000);

type OperationEffects = Pick<Operations, "now" | "pause" | "waitForIndex" | "hashAccounts">;

/** {@link Operations} on a table. @param keyedHash read if the application of an erased customer tells no changes */
export const operationsOn = (
  table: Table,
  { keyedHash, ...effects }: OperationEffects & { readonly keyedHash: KeyedHash },
  tells = tellsIn(table),
) =>
  ({
    ...effects,
    audit: createAuditTable(table),
    forgetTold: createForgetTold(table, keyedHash, tells),
    forgetRequests: createForgetRequests(table),
    customers: createCustomerTable(table),
    table: createOperationTable(table, tells),
    findOwnership: createFindOwnership(table),
    write: (change) => writeCustomerChange(table, change),
    bury: (...remains) => bury(table, ...remains),
  }) satisfies Operations;

export interface Effects {
  readonly now: () => Instant;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Waits as long as the owner index may lag behind the table. */
  readonly waitForIndex: () => Promise<void>;
}

/** Reads at most once what a command can do without: where it cannot be read, warns and has null. */
const orWarning = <Value>(
  read: () => Promise<Value>,
  warn: (line: string) => void,
  consequence = "",
): (() => Promise<Value | null>) =>
  once(() =>
    read().catch((error: unknown) => {
      if (!(error instanceof OperatorError)) throw error;
      warn(`${consequence}${error.message}`);
      return null;
    }),
  );

/** Opens the parts of the table for one command, at the moment at which it begins, by the service's clock. */
export const openSession = async (
  connection: Connection,
  { now: machineClock, ...effects }: Effects,
  warn: (line: string) => void,
) => {
  const { store } = connection;
  const now = await connection.clock(machineClock);
  const masterSecret = orWarning(connection.masterSecret, warn, "The audit cannot name accounts. ");
  const hashAccounts: HashAccounts = async (application, accounts) => {
    const master = accounts.length === 0 ? null : await masterSecret();
    return master === null ? [] : accounts.map((account) => keyedHash(master, application, account));
  };
  const operations = operationsOn(store, {
    ...effects,
    now,
    pause,
    hashAccounts,
    keyedHash: async (application, account) =>
      keyedHash(await connection.masterSecret(), application, account),
  });
  return {
    ...connection,
    ...effects,
    ...operations,
    moment: now(),
    /** The AWS identity of the shell, for the audit; null: unknown, and the operator was warned. */
    caller: orWarning(connection.caller, warn),
    applications: createApplicationTable(store),
    credentials: createCredentialTable(store),
    notifications: createNotificationTimes(store),
    destinations: createDestinationTable(store),
    deliveries: createDeliveryQueue(store),
    forwards: createForwardQueue(store),
    queue: createAskQueues(store),
    watermarks: createWatermarks(store),
    told: createToldTable(store),
  };
};
export type Session = Awaited<ReturnType<typeof openSession>>;
