import type { IosStoreCustomers } from "../../lib/customers/ios-store-customers.ts";
import type { IosStoreReception } from "../../lib/customers/receive-ios-store-notification.ts";
import type { IosStoreSweep } from "../../lib/customers/sweep-ios-store-notifications.ts";
import { createNotificationVerifier } from "../../lib/stores/ios-store/notification.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import type { AppleAccess } from "../environment/stores.ts";
import { observedAppStore, observedNotifications, observedVerifier } from "../observability/observe.ts";
import {
  askRunOf,
  directoryOf,
  factStoreOf,
  type NotificationLogging,
  notificationsOf,
  type ServiceConfiguration,
  sweepRunOf,
  type Upkeep,
} from "./service.ts";
import { askApple } from "../../lib/customers/asking/ask-apple.ts";
import type { AskRun } from "../../lib/customers/asking/ask-due-purchases.ts";
import { type AppStoreServer, createAppStoreServer } from "../../lib/stores/ios-store/app-store-server.ts";
import { createStoreRequestQueue } from "../../lib/table/telling/delivery-queue.ts";

type IosStoreTrust = Pick<AppleAccess, "trustedRoots">;

const portsOf = (configuration: ServiceConfiguration & IosStoreTrust) => ({
  ...factStoreOf(configuration),
  directory: directoryOf(configuration),
  trustedRoots: configuration.trustedRoots,
});

const notificationVerifierOf = ({ observer }: ServiceConfiguration) =>
  observedNotifications(createNotificationVerifier(), observer);

export const composeIosStoreCustomers = (
  configuration: ServiceConfiguration & IosStoreTrust,
): IosStoreCustomers => ({
  ...portsOf(configuration),
  verifier: observedVerifier(createIosStoreVerifier(), configuration.observer),
});

export const composeIosStoreReception = (
  configuration: ServiceConfiguration & IosStoreTrust & NotificationLogging,
): IosStoreReception => ({
  ...portsOf(configuration),
  notificationVerifier: notificationVerifierOf(configuration),
  ...notificationsOf(configuration),
  onReceived: (received) => configuration.observer?.notificationReceived("ios-store", received),
});

const appStoreOf = ({
  readSecret,
  appStoreServerUrl: rootUrl,
  now,
  observer,
}: ServiceConfiguration & AppleAccess): AppStoreServer =>
  observedAppStore(
    createAppStoreServer({ ...(rootUrl !== undefined && { rootUrl }), readSecret, now }),
    now,
    observer,
  );

export const composeIosStoreRefresh = (configuration: Upkeep & AppleAccess): AskRun => {
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

/** Undelivered notifications are not noted as received, so that the watch still sees the silence. */
export const composeIosStoreSweep = (configuration: Upkeep & AppleAccess): IosStoreSweep => ({
  ...portsOf(configuration),
  notificationVerifier: notificationVerifierOf(configuration),
  ...sweepRunOf(configuration),
  appStore: appStoreOf(configuration),
  note: async () => undefined,
  requests: createStoreRequestQueue(configuration.table),
  onReceived: () => undefined,
});
