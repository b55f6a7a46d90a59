import type { AndroidStoreLinking } from "../../lib/customers/link-android-store-customer.ts";
import type { AndroidStoreReception } from "../../lib/customers/receive-android-store-notification.ts";
import { type AndroidStore, createAndroidStore } from "../../lib/stores/android-store/android-store.ts";
import { createPushTokenVerifier } from "../../lib/stores/android-store/push-token.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import type { GoogleAccess } from "../environment/stores.ts";
import { observedAndroidStore, observedPushTokens } from "../observability/observation.ts";
import { factStoreOf } from "./facts.ts";
import { type NotificationLogging, notificationsOf } from "./notifications.ts";
import { directoryOf, type ServiceConfiguration } from "./service.ts";

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
