import { v7 as uuid } from "uuid";
import { consumedBy, type MeteredWorld } from "./measure.ts";
import { linkIosStoreCustomer } from "../lib/customers/ios-store-customers.ts";
import { DEMO } from "../local/demo.ts";
import {
  newDevice,
  renewableSubscription,
  signedRenewalNotification,
  signedRequest,
} from "../testing/support/stores/signed-purchases.ts";
import { directoryOf } from "../testing/support/application.ts";
import { aCatalog, aProduct } from "../testing/support/stores/purchases.ts";
import type { Application } from "../lib/applications/application.ts";
import { linkAndroidStoreCustomer } from "../lib/customers/link-android-store-customer.ts";
import { createNotificationLog } from "../lib/customers/notifications.ts";
import {
  receiveAndroidStoreNotification,
  type AndroidStoreReception,
} from "../lib/customers/receive-android-store-notification.ts";
import { receiveIosStoreNotification } from "../lib/customers/receive-ios-store-notification.ts";
import { DAY } from "../lib/duration.ts";
import { applicationId } from "../lib/identifiers.ts";
import { createPushTokenVerifier } from "../lib/stores/android-store/push-token.ts";
import { createAskQueues } from "../lib/table/queues/asks.ts";
import { createNotificationTimes } from "../lib/table/queues/notifications.ts";
import { createStoreRequestQueue } from "../lib/table/telling/delivery-queue.ts";
import { developerNotification } from "../sandbox/android-store/notifications.ts";
import { PACKAGE_NAME, startAndroidStore } from "../testing/support/stores/android-store.ts";

/** A store that notifies the service of a renewal. */
interface NotifiedStore {
  /**
   * Links a new customer's subscription to an account of its own, and renews it.
   *
   * @returns what sends the renewal's notification, any number of times
   */
  renew(): Promise<() => Promise<unknown>>;
  /** Signature checks of payloads and tokens so far. */
  signatureChecks(): number;
  /** Requests to the store about purchases so far. */
  storeRequests(): number;
  close(): Promise<void>;
}

const receptionIn = ({ table }: MeteredWorld) => ({
  note: createNotificationLog(createNotificationTimes(table), (error) => {
    throw error;
  }),
  requests: createStoreRequestQueue(table),
  onReceived: () => undefined,
});

export const notifiedIosStore = (world: MeteredWorld): NotifiedStore => {
  const { customers, notificationVerifier, application, chain } = world;
  const reception = { ...customers, notificationVerifier, ...receptionIn(world) };
  return {
    renew: async () => {
      const device = newDevice();
      const first = renewableSubscription();
      await linkIosStoreCustomer(customers, application.identifier, {
        ...signedRequest(device, [first], chain),
        applicationAccountIdentifier: uuid(),
      });
      const end = first.expiresDate ?? Date.now();
      const renewal = { ...first, purchaseDate: end, expiresDate: end + 30 * DAY, signedDate: Date.now() };
      const signedPayload = signedRenewalNotification(device, renewal, chain);
      return () => receiveIosStoreNotification(reception, { signedPayload });
    },
    signatureChecks: world.signatureChecks,
    storeRequests: () => 0,
    close: () => Promise.resolve(),
  };
};

const PUSHED_AS = {
  serviceAccount: "play-push@bench.iam.gserviceaccount.com",
  audience: "https://api.example.com/v1/notifications/android-store",
} as const;

/** The Android store, with the Publisher API and Google's keys on this machine. */
export const notifiedAndroidStore = async (world: MeteredWorld): Promise<NotifiedStore> => {
  const now = () => Date.now();
  const { sandbox, androidPackage, rootUrl, ...local } = await startAndroidStore({ now, ...PUSHED_AS });
  const application: Application = {
    ...world.application,
    identifier: applicationId(uuid()),
    androidStore: [{ ...androidPackage, environments: ["production"], notifications: PUSHED_AS }],
    catalog: aCatalog([aProduct({ store: "android-store", productIdentifier: DEMO.androidSubscription })]),
  };
  const tokens = createPushTokenVerifier({ certificatesUrl: `${rootUrl}certs`, now });
  let tokenChecks = 0;
  const reception: AndroidStoreReception = {
    ...world.customers,
    directory: directoryOf(application),
    androidStore: local.store(),
    asks: createAskQueues(world.table),
    pushTokens: {
      ...tokens,
      verify: (authorization) => {
        tokenChecks += 1;
        return world.verifying.during(() => tokens.verify(authorization));
      },
    },
    ...receptionIn(world),
  };
  return {
    renew: async () => {
      const purchaseToken = sandbox.buy({
        packageName: PACKAGE_NAME,
        productKind: "subscription",
        productIdentifier: DEMO.androidSubscription,
        basePlanIdentifier: DEMO.androidBasePlan,
      });
      await linkAndroidStoreCustomer(reception, application.identifier, {
        packageName: PACKAGE_NAME,
        purchaseToken,
        productKind: "subscription",
        applicationAccountIdentifier: uuid(),
      });
      sandbox.change(purchaseToken, { change: "renew" });
      const { headers, body } = await sandbox.pushRequest(
        developerNotification(PACKAGE_NAME, purchaseToken, { subscription: "RENEWED" }, Date.now()),
      );
      const push = {
        request: JSON.parse(body),
        authorization: headers.authorization,
        address: PUSHED_AS.audience,
      };
      return () => receiveAndroidStoreNotification(reception, push);
    },
    signatureChecks: () => tokenChecks,
    storeRequests: () => sandbox.calls.filter(({ endpoint }) => endpoint === "publisher").length,
    close: local.close,
  };
};

/** Sends a notification, and counts what it costs. */
export const sample = async (world: MeteredWorld, notified: NotifiedStore, send: () => Promise<unknown>) => {
  const before = { checks: notified.signatureChecks(), asked: notified.storeRequests() };
  return {
    ...(await consumedBy(world, send)),
    signatureChecks: notified.signatureChecks() - before.checks,
    storeRequests: notified.storeRequests() - before.asked,
  };
};
