import type { IosStoreCustomers } from "../../lib/customers/ios-store-customers.ts";
import type { IosStoreReception } from "../../lib/customers/receive-ios-store-notification.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import type { AppleAccess } from "../environment/stores.ts";
import { observedVerifier } from "../observability/observation.ts";
import { factStoreOf } from "./facts.ts";
import { type NotificationLogging, notificationsOf } from "./notifications.ts";
import { directoryOf, type ServiceConfiguration } from "./service.ts";

type IosStoreTrust = Pick<AppleAccess, "trustedRoots">;

export const composeIosStoreCustomers = (
  configuration: ServiceConfiguration & IosStoreTrust,
): IosStoreCustomers => ({
  ...factStoreOf(configuration),
  directory: directoryOf(configuration),
  verifier: observedVerifier(createIosStoreVerifier(), configuration.observer),
  trustedRoots: configuration.trustedRoots,
});

export const composeIosStoreReception = (
  configuration: ServiceConfiguration & IosStoreTrust & NotificationLogging,
): IosStoreReception => ({
  ...composeIosStoreCustomers(configuration),
  ...notificationsOf(configuration),
  onReceived: (received) => configuration.observer?.notificationReceived("ios-store", received),
});
