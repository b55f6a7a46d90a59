import { askApple } from "../../lib/customers/asking/ask-apple.ts";
import type { AskRun } from "../../lib/customers/asking/ask-due-purchases.ts";
import type { IosStoreSweep } from "../../lib/customers/sweep-ios-store-notifications.ts";
import {
  type AppStoreServer,
  createAppStoreServer,
} from "../../lib/stores/ios-store/server-api/app-store-server.ts";
import { createStoreRequestQueue } from "../../lib/table/telling/delivery-queue.ts";
import type { AppleAccess } from "../environment/stores.ts";
import { observedAppStore } from "../observability/observation.ts";
import { askRunOf, sweepRunOf } from "./asking.ts";
import { composeIosStoreCustomers } from "./ios-store.ts";
import type { ServiceConfiguration, Upkeep } from "./service.ts";

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
  ...composeIosStoreCustomers(configuration),
  ...sweepRunOf(configuration),
  appStore: appStoreOf(configuration),
  note: async () => undefined,
  requests: createStoreRequestQueue(configuration.table),
  onReceived: () => undefined,
});
