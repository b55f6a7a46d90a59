import type { AndroidStoreLinking } from "../../lib/customers/link-android-store-customer.ts";
import type { AndroidStoreReception } from "../../lib/customers/receive-android-store-notification.ts";
import { type AndroidStore, createAndroidStore } from "../../lib/stores/android-store/android-store.ts";
import { createPushTokenVerifier } from "../../lib/stores/android-store/push-token.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import type { GoogleAccess } from "../environment/stores.ts";
import { observedAndroidStore, observedPushTokens } from "../observability/observe.ts";
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
import type { AskRun } from "../../lib/customers/asking/ask-due-purchases.ts";
import { askGoogle } from "../../lib/customers/asking/ask-google.ts";
import { type AndroidStoreSweep } from "../../lib/customers/sweep-android-store-refunds.ts";

export const composeAndroidStoreLinking = (
  configuration: ServiceConfiguration & GoogleAccess,
): AndroidStoreLinking & { readonly androidStore: AndroidStore } => {
  const { table, androidPublisherUrl: rootUrl, readSecret, now, observer } = configuration;
  return {
    ...factStoreOf(configuration),
    directory: directoryOf(configuration),
    androidStore: observedAndroidStore(createAndroidStore({ rootUrl, readSecret, now }), now, observer),
    asks: createAskQueues(table),
  };
};

export const composeAndroidStoreReception = (
  configuration: ServiceConfiguration &
    GoogleAccess &
    NotificationLogging & {
      /** Address of the keys of push tokens; unset: Google's own. */
      readonly googleCertificatesUrl: string | undefined;
    },
): AndroidStoreReception => {
  const { googleCertificatesUrl: certificatesUrl, now, observer } = configuration;
  return {
    ...composeAndroidStoreLinking(configuration),
    pushTokens: observedPushTokens(createPushTokenVerifier({ certificatesUrl, now }), observer),
    ...notificationsOf(configuration),
    onReceived: (received) => observer?.notificationReceived("android-store", received),
  };
};

export const composeAndroidStoreRefresh = (configuration: Upkeep & GoogleAccess): AskRun => {
  const linking = composeAndroidStoreLinking(configuration);
  return askRunOf(configuration, {
    store: "android-store",
    directory: linking.directory,
    ask: async (application, due) => askGoogle(linking, application, due),
  });
};

export const composeAndroidStoreSweep = (configuration: Upkeep & GoogleAccess): AndroidStoreSweep => ({
  ...composeAndroidStoreLinking(configuration),
  ...sweepRunOf(configuration),
});
