import type { AndroidStoreLinking } from "../../lib/customers/link-android-store-customer.ts";
import type { AndroidStoreReception } from "../../lib/customers/receive-android-store-notification.ts";
import { type AndroidStore, createAndroidStore } from "../../lib/stores/android-store/android-store.ts";
import { createPushTokenVerifier } from "../../lib/stores/android-store/push-token.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import { observedAndroidStore, observedPushTokens } from "../observability/observation.ts";
import { factStoreOf } from "./facts.ts";
import { type NotificationLogging, notificationsOf } from "./notifications.ts";
import { directoryOf, type ServiceConfiguration } from "./service.ts";

export interface AndroidStoreAccess {
  readonly readSecret: (name: string) => Promise<string | null>;
  /** Root URL of the Android Publisher API; unset: Google's. */
  readonly androidPublisherUrl: string | undefined;
}

export const composeAndroidStoreLinking = (
  configuration: ServiceConfiguration & AndroidStoreAccess,
): AndroidStoreLinking & { readonly androidStore: AndroidStore } => {
  const { table, androidPublisherUrl: rootUrl, readSecret, now, observer } = configuration;
  return {
    ...factStoreOf(configuration),
    directory: directoryOf(configuration),
    androidStore: observedAndroidStore(createAndroidStore({ rootUrl, readSecret, now }), now, observer),
    asks: createAskQueues(table),
  };
};

interface PushTokenAccess {
  /** Address of Google's keys for push tokens; unset: Google's own. */
  readonly googleCertificatesUrl: string | undefined;
}

export const composeAndroidStoreReception = (
  configuration: ServiceConfiguration & AndroidStoreAccess & PushTokenAccess & NotificationLogging,
): AndroidStoreReception => {
  const { googleCertificatesUrl: certificatesUrl, now, observer } = configuration;
  return {
    ...composeAndroidStoreLinking(configuration),
    pushTokens: observedPushTokens(createPushTokenVerifier({ certificatesUrl, now }), observer),
    ...notificationsOf(configuration),
    onReceived: (received) => observer?.notificationReceived("android-store", received),
  };
};
