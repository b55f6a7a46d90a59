import * as z from "zod";
import type { Application } from "../lib/applications/application.ts";
import type { Destination } from "../lib/applications/destination.ts";
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
import type { AccountReport } from "../lib/administration/reports/account-report.ts";
import type { AuditTable, HashAccounts } from "../lib/administration/reports/audit.ts";
import type { CredentialTable } from "../lib/administration/acts/credential-table.ts";
import type { DestinationTable } from "../lib/administration/acts/destinations.ts";
import { composeOperations } from "./composition.ts";
import type { ApplicationTable } from "../lib/table/applications/applications.ts";
import type { AskQueues } from "../lib/customers/asking/ask-queue.ts";
import type { Watermarks } from "../lib/customers/notifications/sweep.ts";
import type { NotificationTimes } from "../lib/customers/notifications/notification-log.ts";
import type { TrustsOrigin } from "../lib/stores/android-store/workload-identity.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import type { AllowsDestination } from "../lib/delivery/allowed-destinations.ts";
import type { DeliveryQueue } from "../lib/delivery/delivery-queue.ts";
import type { ForwardQueue } from "../lib/delivery/forward-queue.ts";
import type { Connection } from "./connection.ts";
import { OperatorError } from "./operator-error.ts";

/** Table access, the moment at which a command began, and its clock. */
export interface Session {
  readonly table: Table;
  readonly applications: ApplicationTable;
  readonly credentials: CredentialTable;
  readonly notifications: Pick<NotificationTimes, "ofApplication">;
  readonly queue: Pick<AskQueues, "of" | "healthOf">;
  readonly watermarks: Pick<Watermarks, "read">;
  /** Origins besides Google's from which a workload identity may get tokens. */
  readonly trustsOrigin: TrustsOrigin;
  /** Whether a webhook may use plain HTTP or a private address. */
  readonly allowsDestination: AllowsDestination;
  readonly masterSecret: Connection["masterSecret"];
  readonly readSecret: Connection["readSecret"];
  readonly audit: AuditTable;
  /** The AWS identity of the shell, for the audit; null: unknown, and the operator was warned. */
  readonly caller: () => Promise<string | null>;
  readonly hashAccounts: HashAccounts;
  readonly destinations: DestinationTable;
  readonly deliveries: Pick<DeliveryQueue, "waiting" | "healthOf" | "retry" | "resume">;
  readonly forwards: Pick<ForwardQueue, "waiting" | "healthOf">;
  readonly moment: Instant;
  /** Everything known about an account at that moment. An unknown account has no customers. */
  readonly accountReport: (application: Application, account: AccountId) => Promise<AccountReport>;
  readonly now: () => Instant;
  /** Waits this many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
  readonly waitForIndex: () => Promise<void>;
}

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

/** @throws OperatorError if the application has no such destination */
export const findDestination = ({ name: of, destinations }: Application, name: string): Destination => {
  const destination = destinations.find((one) => one.name === name);
  if (destination !== undefined) return destination;
  const names = destinations.map((one) => one.name).join(", ");
  throw new OperatorError(
    `${of} has no destination ${name}: ${names === "" ? "it has none" : `it has ${names}`}.`,
  );
};
