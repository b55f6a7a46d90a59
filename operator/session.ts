import * as z from "zod";
import type { Application } from "../lib/applications/application.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { accountIdentifier } from "../lib/contract/schemas.ts";
import {
  accountId,
  applicationId,
  customerId,
  keyId,
  type AccountId,
  type ApplicationId,
  type CustomerId,
  type KeyId,
} from "../lib/identifiers.ts";
import type { AccountReport } from "../lib/administration/account-report.ts";
import type { AuditTable, HashAccounts } from "../lib/administration/audit.ts";
import type { CredentialTable } from "../lib/administration/credential-table.ts";
import type { DestinationTable } from "../lib/administration/destinations.ts";
import { composeOperations } from "./composition.ts";
import { createAuditTable } from "../lib/table/audit.ts";
import { createApplicationTable, type ApplicationTable } from "../lib/table/applications.ts";
import type { RefreshQueue } from "../lib/customers/refresh-queue.ts";
import type { Watermarks } from "../lib/customers/sweep.ts";
import { createRefreshQueue } from "../lib/table/refreshes.ts";
import { createWatermarks } from "../lib/table/watermarks.ts";
import type { NotificationTimes } from "../lib/customers/notification-log.ts";
import { createCredentialTable } from "../lib/table/credentials.ts";
import { createNotificationTimes } from "../lib/table/notification-times.ts";
import type { TrustsOrigin } from "../lib/stores/android-store/workload-identity.ts";
import { createDeliveryQueue } from "../lib/table/delivery-queue.ts";
import { createDestinationTable } from "../lib/table/destinations.ts";
import { once } from "../lib/once.ts";
import { pause } from "../lib/pause.ts";
import type { Table } from "../lib/table/table.ts";
import type { AllowsDestination } from "../lib/telling/allowed-destinations.ts";
import type { DeliveryQueue } from "../lib/telling/delivery-queue.ts";
import { hashingAccounts } from "./acting.ts";
import type { Connection } from "./connection.ts";
import { OperatorError } from "./operator-error.ts";

/** Binds the account report to a table. An unknown account has no customers. */
export type ComposeAccountReport = (
  table: Table,
) => (application: Application, account: AccountId, moment: Instant) => Promise<AccountReport>;

/** Table access, the moment at which a command began, and its clock. */
export interface Session {
  readonly table: Table;
  readonly applications: ApplicationTable;
  readonly credentials: CredentialTable;
  readonly notifications: Pick<NotificationTimes, "ofApplication">;
  readonly queue: Pick<RefreshQueue, "due" | "healthOf">;
  readonly watermarks: Pick<Watermarks, "read">;
  /** Origins besides Google's from which a workload identity may get tokens. */
  readonly trustsOrigin: TrustsOrigin;
  /** Whether a webhook may use plain HTTP or a private address. */
  readonly allowsDestination: AllowsDestination;
  readonly masterSecret: Connection["masterSecret"];
  readonly audit: AuditTable;
  /** The AWS identity of the shell, for the audit; null: unknown, and the operator was warned. */
  readonly caller: () => Promise<string | null>;
  readonly hashAccounts: HashAccounts;
  readonly destinations: DestinationTable;
  readonly deliveries: Pick<DeliveryQueue, "waiting" | "healthOf" | "retry" | "resume">;
  readonly moment: Instant;
  readonly now: () => Instant;
  /** Waits this many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
  readonly waitForIndex: () => Promise<void>;
}

interface SessionEffects extends Pick<Session, "now" | "wait" | "waitForIndex"> {
  /** Receives a warning for the operator that stops nothing. */
  readonly warn: (line: string) => void;
}

export const openSession = (
  { store: table, trustsOrigin, allowsDestination, masterSecret, caller }: Connection,
  { now, wait, waitForIndex, warn }: SessionEffects,
): Session => ({
  table,
  applications: createApplicationTable(table),
  credentials: createCredentialTable(table),
  notifications: createNotificationTimes(table),
  trustsOrigin,
  allowsDestination,
  masterSecret,
  audit: createAuditTable(table),
  caller: once(async () => {
    const { name, problem } = await caller();
    if (problem !== null) warn(problem);
    return name;
  }),
  hashAccounts: hashingAccounts(masterSecret, warn),
  destinations: createDestinationTable(table, pause),
  deliveries: createDeliveryQueue(table, pause),
  queue: createRefreshQueue(table),
  watermarks: createWatermarks(table),
  moment: now(),
  now,
  wait,
  waitForIndex,
});

/** @throws OperatorError */
export const readApplicationIdentifier = (text: string): ApplicationId => {
  if (!z.uuid().safeParse(text).success)
    throw new OperatorError(
      "An application's identifier must be a UUID: application list shows all, and application find <bundle or package> that of one.",
    );
  return applicationId(text.toLowerCase());
};

/** @throws OperatorError */
export const readCustomerIdentifier = (text: string): CustomerId => {
  if (!z.uuid().safeParse(text).success) throw new OperatorError("A customer's identifier must be a UUID.");
  return customerId(text.toLowerCase());
};

/** @throws OperatorError */
export const readAccountIdentifier = (text: string): AccountId => {
  const account = accountIdentifier().safeParse(text);
  if (account.success) return accountId(account.data);
  throw new OperatorError(
    `An account's identifier ${account.error.issues[0]?.message ?? "is of another form"}.`,
  );
};

/** @throws OperatorError without the text, which may be a whole API key */
export const readKeyIdentifier = (text: string): KeyId => {
  if (!/^[0-9a-f]{16}$/.test(text))
    throw new OperatorError(
      "A key identifier must be the 16 hexadecimal digits between the underscores of its API key.",
    );
  return keyId(text);
};

/** The operator's operations on customers, on the session's table. */
export const operationsOf = ({ table, ...effects }: Session) => composeOperations(table, effects);

/** @throws OperatorError if there is no such application */
export const findApplication = async (
  { applications, table }: Session,
  identifier: ApplicationId,
): Promise<Application> => {
  const application = await applications.load(identifier);
  if (application === null)
    throw new OperatorError(`There is no application ${identifier} in the table ${table.name}.`);
  return application;
};
