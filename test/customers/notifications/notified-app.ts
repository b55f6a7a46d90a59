import type { Application } from "../../../lib/applications/application.ts";
import {
  linkIosStoreCustomer,
  synchronizeIosStorePurchases,
  type IosStoreCustomers,
} from "../../../lib/customers/ios-store-customers.ts";
import type { ReceivedNotification } from "../../../lib/customers/notifications.ts";
import {
  receiveIosStoreNotification,
  type IosStoreReception,
} from "../../../lib/customers/receive-ios-store-notification.ts";
import { createNotificationVerifier } from "../../../lib/stores/ios-store/notification.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { createStoreRequestQueue } from "../../../lib/table/telling/delivery-queue.ts";
import { fingerprintOf, makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { anApplication } from "../../../testing/support/application.ts";
import {
  aBundle,
  anAppTransaction,
  aNotification,
  aRenewalInfo,
  aTransaction,
  type Payload,
} from "../../../testing/support/stores/ios-store.ts";
import { aCatalog, aProduct, NOW } from "../../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../../testing/support/table/table.ts";
import { createWorld } from "../../../testing/support/world.ts";

export const PRODUCT = "com.example.trails.premium.monthly";
export const chain = makeChain();

export const aNotifiedApplication = (changes: Partial<Application> = {}): Application =>
  anApplication({
    iosStore: [aBundle({ environments: ["production", "sandbox"] })],
    catalog: aCatalog([aProduct({ productIdentifier: PRODUCT })]),
    ...changes,
  });

/** An application that the App Store notifies. */
export const notifiedApp = (
  table: TestTable,
  changes: Partial<IosStoreReception> = {},
  application = aNotifiedApplication(),
  moment = NOW,
) => {
  const world = createWorld(table, { application, now: () => moment });
  const received: ReceivedNotification[] = [];
  const noted: unknown[] = [];
  const reception: IosStoreReception & IosStoreCustomers = {
    ...world.factStore,
    directory: world.directory,
    verifier: createIosStoreVerifier(),
    notificationVerifier: createNotificationVerifier(),
    trustedRoots: new Set([fingerprintOf(chain.root)]),
    note: (store, signedAt) => {
      noted.push([store.bundleOrPackage, store.environment, signedAt]);
      return Promise.resolve();
    },
    requests: createStoreRequestQueue(table),
    onReceived: (one) => void received.push(one),
    ...changes,
  };
  const sendSigned = (signedPayload: string): Promise<object> =>
    receiveIosStoreNotification(reception, { signedPayload });
  const send = (payload: object): Promise<object> => sendSigned(signJws(payload, chain));
  const signed = (transactions: readonly Payload[]) => ({
    signedAppTransaction: signJws(anAppTransaction(), chain),
    signedTransactions: transactions.map((one) => signJws(aTransaction(one), chain)),
  });
  return {
    world,
    reception,
    received,
    noted,
    send,
    sendSigned,
    /** Sends a notification about a purchase; null: without that part. */
    notify: (transaction: Payload | null = {}, renewalInfo: Payload | null = null, fields: Payload = {}) => {
      const parts = {
        transaction: transaction && aTransaction(transaction),
        renewalInfo: renewalInfo && aRenewalInfo(renewalInfo),
      };
      return send(aNotification(chain, parts, fields));
    },
    link: (account: string, ...transactions: Payload[]) =>
      linkIosStoreCustomer(reception, application.identifier, {
        ...signed(transactions),
        applicationAccountIdentifier: account,
      }),
    synchronize: (...transactions: Payload[]) =>
      synchronizeIosStorePurchases(reception, signed(transactions)),
    statusAt: async (account: string, at = moment) => (await world.at(at).read(account)).entitlements[0],
    at: (later: number) => notifiedApp(table, changes, application, later),
  };
};
