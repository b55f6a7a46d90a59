import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import { createApplicationDirectory, type ApplicationDirectory } from "../../lib/applications/application.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createApplicationReader } from "../../lib/table/applications/applications.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import { observedCustomerTable, observedWrite, type Observer } from "../observability/observe.ts";
import type { Bury, CustomerChange, FactStore } from "../../lib/customers/storing/fact-store.ts";
import { customerId } from "../../lib/identifiers.ts";
import { pause } from "../../lib/pause.ts";
import { writeCustomerChange } from "../../lib/table/customers/customer-change.ts";
import { bury } from "../../lib/table/customers/owned-items.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import type { AccountReading } from "../../lib/customers/read-account-entitlements.ts";
import type { AskRun } from "../../lib/customers/asking/ask-due-purchases.ts";
import type { SweepRun } from "../../lib/customers/sweep.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import { createNotificationTimes, createWatermarks } from "../../lib/table/queues/notifications.ts";
import type { IosStoreReception } from "../../lib/customers/receive-ios-store-notification.ts";
import { forwardableType } from "../../lib/delivery/delivery-queue.ts";
import { createForwardQueue, createStoreRequestQueue } from "../../lib/table/telling/delivery-queue.ts";
import type { SentBody } from "../http/read-request.ts";
import { createNotificationLog } from "../../lib/customers/notifications.ts";

/** Each function composes only its own use cases from it, so that its bundle holds nothing else. */
export interface ServiceConfiguration {
  readonly table: Table;
  readonly now: () => Instant;
  /** Counts what happens; unset: nothing does. */
  readonly observer?: Observer;
}

export const directoryOf = ({ table, now }: ServiceConfiguration): ApplicationDirectory =>
  createApplicationDirectory({
    ...createApplicationReader(table),
    now,
  });

/** Configuration of the scheduled functions. */
export interface Upkeep extends ServiceConfiguration {
  /** Receives a failure that stops neither the run nor the function. */
  readonly onFailure: (error: unknown) => void;
}

export const applicationsOf = ({ table }: ServiceConfiguration) => {
  const { list } = createApplicationReader(table);
  return async () => (await list()).map(({ identifier }) => identifier);
};

/** Time after which a run that a slow store or destination holds up looks at the others again. */
const HELD_UP_MILLISECONDS = 1000;

/** Effects of a run that works off queues. */
export const runOf = ({ now, onFailure }: Upkeep) => ({
  newWorker: uuid,
  now,
  wait: async (milliseconds: number) => sleep(milliseconds),
  untilNextLook: async () => sleep(HELD_UP_MILLISECONDS),
  onFailure,
});

export const factStoreOf = ({ table, now, observer }: ServiceConfiguration): FactStore => ({
  table: observedCustomerTable(createCustomerTable(table), observer),
  write: observedWrite((change: CustomerChange) => writeCustomerChange(table, change), observer),
  bury: observedWrite((...remains: Parameters<Bury>) => bury(table, ...remains), observer),
  newCustomerIdentifier: () => customerId(uuid()),
  pause,
  now,
  onUngranted: (products) => observer?.productsUngranted(products),
});

export const composeAccountReading = (configuration: ServiceConfiguration): AccountReading => ({
  directory: directoryOf(configuration),
  table: createCustomerTable(configuration.table),
  now: configuration.now,
});

export const askRunOf = (
  configuration: Upkeep,
  { store, ask, directory }: Pick<AskRun, "store" | "ask" | "directory">,
): AskRun => ({
  store,
  ask,
  directory,
  queues: createAskQueues(configuration.table),
  table: createCustomerTable(configuration.table),
  applications: applicationsOf(configuration),
  ...runOf(configuration),
});

export const sweepRunOf = (configuration: Upkeep): Omit<SweepRun, "directory"> => ({
  watermarks: createWatermarks(configuration.table),
  applications: applicationsOf(configuration),
  now: configuration.now,
  onFailure: configuration.onFailure,
});

export interface NotificationLogging {
  /** Receives a failure to note a notification. */
  readonly onNoteFailure: (error: unknown) => void;
}

export const notificationsOf = ({ table, onNoteFailure }: ServiceConfiguration & NotificationLogging) => ({
  note: createNotificationLog(createNotificationTimes(table), onNoteFailure),
  requests: createStoreRequestQueue(table),
});

/** Queues what a request brings, as it came, for the service that a bundle's notifications are forwarded to. */
export const composeForward = ({ table, now }: ServiceConfiguration) => {
  const queue = createForwardQueue(table);
  return ({ body, contentType }: SentBody): NonNullable<IosStoreReception["forward"]> =>
    async (application, bundleIdentifier) => {
      const since = now();
      const sent = { body, contentType: forwardableType(contentType) };
      await queue.add(
        { application, bundleIdentifier },
        { identifier: uuid(), ...sent, since, tries: 0, nextTryAt: since },
      );
    };
};
