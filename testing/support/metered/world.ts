import { setTimeout as sleep } from "node:timers/promises";
import { type IosStoreCustomers, linkIosStoreCustomer } from "../../../lib/customers/ios-store-customers.ts";
import { createIosStoreVerifier, type IosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { DEMO } from "../../../local/demo.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { developerNotification } from "../../../sandbox/android-store/notifications.ts";
import { watchChecks, aBundle } from "../stores/ios-store.ts";
import { openTable } from "../../../functions/environment/open-table.ts";
import { createTestTable } from "../table/table.ts";
import { Stopwatch, sum, meter } from "./meter.ts";
import {
  newChain,
  newDevice,
  renewableSubscription,
  signedRenewalNotification,
  signedRequest,
} from "./purchases.ts";
import { anApplication, directoryOf } from "../application.ts";
import { aCatalog, aProduct, period } from "../stores/purchases.ts";
import { createWorld } from "../world.ts";
import { v7 as uuid } from "uuid";
import type { Application } from "../../../lib/applications/application.ts";
import type { Store } from "../../../lib/contract/schemas.ts";
import { linkAndroidStoreCustomer } from "../../../lib/customers/link-android-store-customer.ts";
import { createNotificationLog } from "../../../lib/customers/notifications.ts";
import {
  receiveAndroidStoreNotification,
  type AndroidStoreReception,
} from "../../../lib/customers/receive-android-store-notification.ts";
import {
  receiveIosStoreNotification,
  type IosStoreReception,
} from "../../../lib/customers/receive-ios-store-notification.ts";
import { DAY } from "../../../lib/duration.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { createPushTokenVerifier } from "../../../lib/stores/android-store/push-token.ts";
import { createAskQueues } from "../../../lib/table/queues/asks.ts";
import { createNotificationTimes } from "../../../lib/table/queues/notifications.ts";
import { createStoreRequestQueue } from "../../../lib/table/telling/delivery-queue.ts";
import { PACKAGE_NAME, startAndroidStore } from "../stores/android-store.ts";

const DAY_PASS = "day_pass";
/** Product that the catalog does not map. */
export const COINS = "coins";

const timed = (verifier: IosStoreVerifier, stopwatch: Stopwatch): IosStoreVerifier => ({
  verifyAppTransaction: (...given) => stopwatch.during(() => verifier.verifyAppTransaction(...given)),
  verifyTransaction: (...given) => stopwatch.during(() => verifier.verifyTransaction(...given)),
  verifyTransactions: (...given) => stopwatch.during(() => verifier.verifyTransactions(...given)),
  verifyRenewalInfos: (...given) => stopwatch.during(() => verifier.verifyRenewalInfos(...given)),
  verifyNotification: (...given) => stopwatch.during(() => verifier.verifyNotification(...given)),
  verifyNotificationParts: (...given) => stopwatch.during(() => verifier.verifyNotificationParts(...given)),
});

/**
 * The iOS store's use cases on their own metered table, with the system clock. The application is in memory, as in a function
 * that has read it.
 */
export const createMeteredWorld = async () => {
  const created = await createTestTable();
  const table = { ...created, ...openTable(created.name) };
  const chain = newChain();
  const { application, directory, factStore } = createWorld(table, {
    application: anApplication({
      name: DEMO.name,
      iosStore: [
        aBundle({ bundleIdentifier: DEMO.bundleIdentifier, appAppleIdentifier: DEMO.appAppleIdentifier }),
      ],
      catalog: aCatalog([
        aProduct({ productIdentifier: DEMO.iosSubscription }),
        aProduct({ productIdentifier: DEMO.iosNonConsumable }),
        aProduct({ productIdentifier: DAY_PASS, accessDuration: period("P1D") }),
      ]),
    }),
    now: Date.now,
    pause: (attempt) => sleep(10 * attempt),
  });
  const verifying = new Stopwatch();
  const { checks, done } = watchChecks();
  return {
    application,
    chain,
    table,
    /** Time spent verifying. */
    verifying,
    meter: meter(table.client),
    customers: {
      ...factStore,
      directory,
      verifier: timed(createIosStoreVerifier(checks), verifying),
      trustedRoots: new Set([fingerprintOf(chain.root)]),
    } satisfies IosStoreCustomers,
    /** Signature checks of payloads so far; those of certificates are not counted. */
    signatureChecks: () => sum(Object.values(done)),
    remove: table.remove,
  };
};
export type MeteredWorld = Awaited<ReturnType<typeof createMeteredWorld>>;

/** A store that notifies the service of a renewal. */
export interface NotifiedStore {
  readonly store: Store;
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
  /** Time spent waiting for the store. */
  readonly asking: Stopwatch;
  close(): Promise<void>;
}

const fail = (error: unknown): never => {
  throw error;
};

const noteIn = ({ table }: MeteredWorld) => createNotificationLog(createNotificationTimes(table), fail);

export const notifiedIosStore = (world: MeteredWorld): NotifiedStore => {
  const { customers, application, chain } = world;
  const reception: IosStoreReception = {
    ...customers,
    note: noteIn(world),
    requests: createStoreRequestQueue(world.table),
    onReceived: () => undefined,
  };
  return {
    store: "ios-store",
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
    asking: new Stopwatch(),
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
  const androidStore = local.store();
  const asking = new Stopwatch();
  const tokens = createPushTokenVerifier({ certificatesUrl: `${rootUrl}certs`, now });
  let tokenChecks = 0;
  const reception: AndroidStoreReception = {
    ...world.customers,
    directory: directoryOf(application),
    androidStore: {
      ...androidStore,
      lookUp: (...given) => asking.during(() => androidStore.lookUp(...given)),
    },
    asks: createAskQueues(world.table),
    pushTokens: {
      ...tokens,
      verify: (authorization) => {
        tokenChecks += 1;
        return world.verifying.during(() => tokens.verify(authorization));
      },
    },
    note: noteIn(world),
    requests: createStoreRequestQueue(world.table),
    onReceived: () => undefined,
  };
  return {
    store: "android-store",
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
    asking,
    close: local.close,
  };
};
