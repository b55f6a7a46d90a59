import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import type { ApplicationDirectory } from "../lib/applications/application.ts";
import { authorize, type Decision } from "../lib/applications/authorize.ts";
import { isWebhook } from "../lib/applications/destination.ts";
import { createApplicationDirectory, DIRECTORY_AGE_MILLISECONDS } from "../lib/applications/directory.ts";
import type { Bury } from "../lib/customers/bury-remains.ts";
import type { CustomerChange } from "../lib/customers/customer-change.ts";
import type { FactStore } from "../lib/customers/fact-store.ts";
import type { IosStoreCustomers } from "../lib/customers/ios-store-request.ts";
import type { AndroidStoreLinking } from "../lib/customers/link-android-store-customer.ts";
import type { AndroidStoreReception } from "../lib/customers/receive-android-store-notification.ts";
import { askApple } from "../lib/customers/ask-apple.ts";
import type { AskRun } from "../lib/customers/ask-due-purchases.ts";
import { askGoogle } from "../lib/customers/ask-google.ts";
import type { AndroidStoreSweep } from "../lib/customers/sweep-android-store-refunds.ts";
import type { IosStoreSweep } from "../lib/customers/sweep-ios-store-notifications.ts";
import type { SweepRun } from "../lib/customers/sweep.ts";
import { createNotificationLog } from "../lib/customers/notification-log.ts";
import type { AccountReading } from "../lib/customers/read-account-entitlements.ts";
import type { IosStoreReception } from "../lib/customers/receive-ios-store-notification.ts";
import type { NotificationWatch } from "../lib/customers/watch-notifications.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { customerId } from "../lib/identifiers.ts";
import { pause } from "../lib/pause.ts";
import type { RunOfAll } from "../lib/queues/work-off-all.ts";
import { createAndroidStore, type AndroidStore } from "../lib/stores/android-store/android-store.ts";
import { createPushTokenVerifier } from "../lib/stores/android-store/push-token.ts";
import { createAppStoreServer, type AppStoreServer } from "../lib/stores/ios-store/app-store-server.ts";
import { createIosStoreVerifier } from "../lib/stores/ios-store/verifier.ts";
import { createApplicationReader } from "../lib/table/application-reader.ts";
import { bury } from "../lib/table/burial.ts";
import { createChangeTable } from "../lib/table/changes.ts";
import { createFindCredential } from "../lib/table/find-credential.ts";
import { createCustomerTable } from "../lib/table/customers.ts";
import { createDeliveryQueue } from "../lib/table/delivery-queue.ts";
import { createForwardQueue } from "../lib/table/forwards.ts";
import { createFeedTable } from "../lib/table/feed.ts";
import { createNotificationTimes } from "../lib/table/notification-times.ts";
import { createAskQueues } from "../lib/table/asks.ts";
import { createStoreRequestQueue } from "../lib/table/store-requests.ts";
import type { Table } from "../lib/table/table.ts";
import { createWatermarks } from "../lib/table/watermarks.ts";
import { writeCustomerChange } from "../lib/table/write-customer-change.ts";
import type { AllowsDestination } from "../lib/delivery/allowed-destinations.ts";
import type { DeliveryRun } from "../lib/delivery/deliver-messages.ts";
import type { Forwarding } from "../lib/delivery/forward-notifications.ts";
import { forwardableType } from "../lib/delivery/forward-queue.ts";
import { createEventBusSender } from "../lib/delivery/event-bus.ts";
import type { FeedReading } from "../lib/telling/read-changes.ts";
import { signingSecrets } from "../lib/delivery/signing-secrets.ts";
import type { TellingRun } from "../lib/telling/tell-changes.ts";
import { keyedHash } from "../lib/delivery/webhook-secret.ts";
import { createTextSender, createWebhookSender } from "../lib/delivery/webhook/webhook.ts";
import type { SentBody } from "./http/read-request.ts";
import {
  observedAndroidStore,
  observedAppStore,
  observedCustomerTable,
  observedPushTokens,
  observedVerifier,
  observedWrite,
  type Observe,
} from "./observability/observation.ts";

/**
 * Configuration from which use cases are wired. Each function composes only its own, so that its bundle holds nothing
 * else.
 */
export interface ServiceConfiguration {
  readonly table: Table;
  readonly now: () => Instant;
  /** Receives service events; unset: they are dropped. */
  readonly observe?: Observe;
}

const directoryOf = ({ table, now }: ServiceConfiguration): ApplicationDirectory => {
  const { load, applicationOfBundle, applicationOfPackage } = createApplicationReader(table);
  return createApplicationDirectory({
    load,
    applicationOfBundle,
    applicationOfPackage,
    now,
    maximumAgeMilliseconds: DIRECTORY_AGE_MILLISECONDS,
  });
};

const nobody: Observe = () => undefined;

const factStoreOf = ({ table, now, observe = nobody }: ServiceConfiguration): FactStore => ({
  table: observedCustomerTable(createCustomerTable(table, pause), observe),
  write: observedWrite((change: CustomerChange) => writeCustomerChange(table, change), observe),
  bury: observedWrite((...remains: Parameters<Bury>) => bury(table, ...remains), observe),
  newCustomerIdentifier: () => customerId(uuid()),
  pause,
  now,
  onUngranted: (products) => observe({ kind: "grants-nothing", products }),
});

export const composeAuthorize = ({ table, now }: ServiceConfiguration) => {
  const find = createFindCredential(table);
  return (authorization: string | undefined): Promise<Decision> => authorize(authorization, now(), find);
};

export const composeAccountReading = (configuration: ServiceConfiguration): AccountReading => ({
  directory: directoryOf(configuration),
  table: createCustomerTable(configuration.table, pause),
  now: configuration.now,
});

export const composeFeedReading = ({ table, now }: ServiceConfiguration): FeedReading => ({
  feed: createFeedTable(table),
  now,
});

/** Time after which a run that a slow queue holds up looks at the others again. */
const HELD_UP_MILLISECONDS = 1000;

const runOf = ({ now, onFailure }: Upkeep): RunOfAll => ({
  newWorker: uuid,
  now,
  wait: async (milliseconds) => sleep(milliseconds),
  untilNextLook: async () => sleep(HELD_UP_MILLISECONDS),
  onFailure,
});

export interface MasterSecretAccess {
  /** The service's master secret, of 32 bytes or more. */
  readonly masterSecret: () => Promise<Uint8Array>;
}

export const composeTelling = (configuration: Upkeep & MasterSecretAccess): TellingRun => {
  const { table, masterSecret } = configuration;
  return {
    directory: directoryOf(configuration),
    currentApplication: createApplicationReader(table).load,
    changes: createChangeTable(table, pause, async (application, account) =>
      keyedHash(await masterSecret(), application, account),
    ),
    accounts: createCustomerTable(table, pause),
    applications: applicationsOf(configuration),
    ...runOf(configuration),
  };
};

export interface DestinationAccess {
  /** Whether a webhook may use plain HTTP or a private address, as on a developer's machine. */
  readonly allowsDestination: AllowsDestination;
  /** Client for the region of a bus, by its ARN. */
  readonly eventBusClientOf: (eventBus: string) => EventBridgeClient;
}

const forwardingOf = ({
  table,
  now,
  allowsDestination,
}: ServiceConfiguration & Pick<DestinationAccess, "allowsDestination">): Forwarding => {
  const checked = createTextSender({ isAnyAddressAllowed: false, now });
  const unchecked = createTextSender({ isAnyAddressAllowed: true, now });
  return {
    queue: createForwardQueue(table),
    send: async (url, { body, contentType }) =>
      (allowsDestination(url) ? unchecked : checked).send(url, body, { "content-type": contentType }),
  };
};

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

export const composeDelivery = (
  configuration: Upkeep & MasterSecretAccess & DestinationAccess,
): DeliveryRun => {
  const { table, now, masterSecret, allowsDestination, eventBusClientOf } = configuration;
  const webhooks = createWebhookSender({ isAnyAddressAllowed: false, now });
  const unchecked = createWebhookSender({ isAnyAddressAllowed: true, now });
  return {
    directory: directoryOf(configuration),
    queue: createDeliveryQueue(table, pause),
    applications: applicationsOf(configuration),
    forwarding: forwardingOf(configuration),
    send: async (application, destination, messages) => {
      if (!isWebhook(destination))
        return createEventBusSender(eventBusClientOf(destination.eventBus)).send(
          destination.eventBus,
          messages,
        );
      const { send } = allowsDestination(destination.url) ? unchecked : webhooks;
      const secrets = signingSecrets(await masterSecret(), application, destination, now());
      return Promise.all(messages.map(async (message) => send(destination.url, message, secrets)));
    },
    ...runOf(configuration),
  };
};

/** Dependencies of the scheduled functions. */
interface Upkeep extends ServiceConfiguration {
  /** Receives a failure that stops neither the run nor the function. */
  readonly onFailure: (error: unknown) => void;
}

const applicationsOf = ({ table }: ServiceConfiguration) => {
  const { list } = createApplicationReader(table);
  return async () => (await list()).map(({ identifier }) => identifier);
};

export interface AndroidStoreAccess {
  readonly readSecret: (name: string) => Promise<string | null>;
  /** Root URL of the Android Publisher API; unset: Google's. */
  readonly androidPublisherUrl: string | undefined;
}

const androidStoreOf = ({
  readSecret,
  androidPublisherUrl: rootUrl,
  now,
  observe = nobody,
}: ServiceConfiguration & AndroidStoreAccess): AndroidStore =>
  observedAndroidStore(createAndroidStore({ rootUrl, readSecret, now }), observe, now);

export const composeAndroidStoreLinking = (
  configuration: ServiceConfiguration & AndroidStoreAccess,
): AndroidStoreLinking & { readonly androidStore: AndroidStore } => ({
  ...factStoreOf(configuration),
  directory: directoryOf(configuration),
  androidStore: androidStoreOf(configuration),
  asks: createAskQueues(configuration.table),
});

export interface PushTokenAccess {
  /** Address of Google's keys for push tokens; unset: Google's own. */
  readonly googleCertificatesUrl: string | undefined;
}

export const composeAndroidStoreReception = (
  configuration: ServiceConfiguration & AndroidStoreAccess & PushTokenAccess & NotificationLogging,
): AndroidStoreReception => {
  const {
    googleCertificatesUrl: certificatesUrl,
    table,
    onNoteFailure,
    now,
    observe = nobody,
  } = configuration;
  return {
    ...composeAndroidStoreLinking(configuration),
    pushTokens: observedPushTokens(createPushTokenVerifier({ certificatesUrl, now }), observe),
    note: createNotificationLog(createNotificationTimes(table), onNoteFailure),
    requests: createStoreRequestQueue(table),
    onReceived: (received) => observe({ kind: "notification", store: "android-store", ...received }),
  };
};

export interface IosStoreTrust {
  readonly trustedRoots: ReadonlySet<string>;
}

export const composeIosStoreCustomers = (
  configuration: ServiceConfiguration & IosStoreTrust,
): IosStoreCustomers => ({
  ...factStoreOf(configuration),
  directory: directoryOf(configuration),
  verifier: observedVerifier(createIosStoreVerifier(), configuration.observe ?? nobody),
  trustedRoots: configuration.trustedRoots,
});

export interface NotificationLogging {
  /** Receives a failure to note a notification. */
  readonly onNoteFailure: (error: unknown) => void;
}

export const composeIosStoreReception = (
  configuration: ServiceConfiguration & IosStoreTrust & NotificationLogging,
): IosStoreReception => {
  const { table, onNoteFailure, observe = nobody } = configuration;
  return {
    ...composeIosStoreCustomers(configuration),
    note: createNotificationLog(createNotificationTimes(table), onNoteFailure),
    requests: createStoreRequestQueue(table),
    onReceived: (received) => observe({ kind: "notification", store: "ios-store", ...received }),
  };
};

export const composeNotificationWatch = (configuration: ServiceConfiguration): NotificationWatch => ({
  times: createNotificationTimes(configuration.table),
  directory: directoryOf(configuration),
  now: configuration.now,
});

const askRunOf = (
  configuration: Upkeep,
  { store, ask, directory }: Pick<AskRun, "store" | "ask" | "directory">,
): AskRun => ({
  store,
  ask,
  directory,
  queues: createAskQueues(configuration.table),
  table: createCustomerTable(configuration.table, pause),
  applications: applicationsOf(configuration),
  ...runOf(configuration),
});

export const composeAndroidStoreRefresh = (configuration: Upkeep & AndroidStoreAccess): AskRun => {
  const linking = composeAndroidStoreLinking(configuration);
  return askRunOf(configuration, {
    store: "android-store",
    directory: linking.directory,
    ask: async (application, due) => askGoogle(linking, application, due),
  });
};

export interface AppStoreAccess {
  readonly readSecret: (name: string) => Promise<string | null>;
  /** Root URL of the App Store Server API in both environments; unset: Apple's. */
  readonly appStoreServerUrl: string | undefined;
}

const appStoreOf = ({
  readSecret,
  appStoreServerUrl: rootUrl,
  now,
  observe = nobody,
}: ServiceConfiguration & AppStoreAccess): AppStoreServer =>
  observedAppStore(
    createAppStoreServer({ ...(rootUrl !== undefined && { rootUrl }), readSecret, now }),
    observe,
    now,
  );

export const composeIosStoreRefresh = (configuration: Upkeep & IosStoreTrust & AppStoreAccess): AskRun => {
  const asking = {
    ...composeIosStoreCustomers(configuration),
    appStore: appStoreOf(configuration),
  };
  return askRunOf(configuration, {
    store: "ios-store",
    directory: asking.directory,
    ask: async (application, due) => askApple(asking, application, due),
  });
};

const sweepRunOf = (configuration: Upkeep): Omit<SweepRun, "directory"> => ({
  watermarks: createWatermarks(configuration.table),
  applications: applicationsOf(configuration),
  now: configuration.now,
  onFailure: configuration.onFailure,
});

export const composeAndroidStoreSweep = (configuration: Upkeep & AndroidStoreAccess): AndroidStoreSweep => ({
  ...composeAndroidStoreLinking(configuration),
  ...sweepRunOf(configuration),
});

/** Undelivered notifications are not noted as received, so that the watch still sees the silence. */
export const composeIosStoreSweep = (
  configuration: Upkeep & IosStoreTrust & AppStoreAccess,
): IosStoreSweep => ({
  ...composeIosStoreCustomers(configuration),
  ...sweepRunOf(configuration),
  appStore: appStoreOf(configuration),
  note: async () => undefined,
  requests: createStoreRequestQueue(configuration.table),
  onReceived: () => undefined,
});
