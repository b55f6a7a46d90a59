import { v7 as uuid } from "uuid";
import type { HashAccounts } from "../lib/administration/reports/audit.ts";
import { keyedHash } from "../lib/delivery/webhook-secret.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { once } from "../lib/once.ts";
import { pause } from "../lib/pause.ts";
import { createApplicationTable, createDestinationTable } from "../lib/table/applications/applications.ts";
import { createCredentialTable } from "../lib/table/applications/credentials.ts";
import { createCustomerTable } from "../lib/table/customers/customers.ts";
import { createNotificationTimes, createWatermarks } from "../lib/table/queues/notifications.ts";
import { createDeliveryQueue } from "../lib/table/telling/delivery-queue.ts";
import { createForwardQueue } from "../lib/table/telling/forwards.ts";
import { createToldTable } from "../lib/table/telling/told-report.ts";
import { createAskQueues } from "../lib/table/queues/asks.ts";
import { operationsOn } from "./composition.ts";
import type { Connection } from "./connection.ts";
import { OperatorError } from "./operator-error.ts";

export interface Effects {
  readonly now: () => Instant;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Waits as long as the owner index may lag behind the table. */
  readonly waitForIndex: () => Promise<void>;
}

/** Receives a warning for the operator that stops nothing. */
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
    newEntry: uuid,
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
