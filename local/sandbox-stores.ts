import { endpoints } from "../lib/contract/endpoints.ts";
import type { RequestExamples } from "../lib/contract/examples.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { SERVICE_ACCOUNT } from "../sandbox/android-store/notifications.ts";
import {
  createAndroidPublisherSandbox,
  type AndroidPublisherSandbox,
} from "../sandbox/android-store/publisher.ts";
import { createExports } from "../sandbox/exports/sell.ts";
import { createIosStoreSandbox, type IosStoreSandbox } from "../sandbox/ios-store/ios-store.ts";
import { signNotification } from "../sandbox/ios-store/notifications.ts";
import { createServerKey, serverKeySchema, type ServerKey } from "../sandbox/ios-store/server-api.ts";
import { newIdentifier } from "../sandbox/ios-store/shop/payloads.ts";
import {
  exportChain,
  fingerprintOf,
  importChain,
  makeChain,
  type JwsSigner,
} from "../sandbox/ios-store/signing.ts";
import { keptOrNew, parseKept, STORE_FILES, type DataFolder } from "./database/data-folder.ts";
import { DEMO } from "./demo.ts";

/** Paths of the sandbox stores on the local API's port. */
export const ANDROID_PREFIX = "/sandbox/android-publisher";
export const IOS_PREFIX = "/sandbox/ios-store";
export const EXPORTS_PATH = "/sandbox/exports";

export type LiveExamples = Awaited<ReturnType<ReturnType<typeof createLiveExamples>>>;

export const EXAMPLE_ACCOUNT = "user-1";

const PURCHASE = { productIdentifier: DEMO.iosSubscription, period: "P1M" };

/**
 * Requests of the demo application that the running service answers with 200, and their credentials. New ones are made
 * each time: StoreKit's signatures soon expire, and a reset forgets what was sold.
 */
const createLiveExamples = ({
  ios,
  android,
  signer,
  androidPurchaseToken,
  now,
}: {
  readonly ios: Pick<IosStoreSandbox, "buy">;
  readonly android: Pick<AndroidPublisherSandbox, "pushRequest">;
  readonly signer: JwsSigner;
  /** Token that the sandbox sold; null if another store replaces it. */
  readonly androidPurchaseToken: string | null;
  readonly now: () => Instant;
}) => {
  const appTransactionIdentifier = newIdentifier("Sandbox");

  const signed = async () => {
    const known = await ios.buy({ appTransactionIdentifier });
    const { signedAppTransaction, signedTransactions, signedRenewalInfos } =
      known.signedTransactions.length > 0
        ? known
        : await ios.buy({ appTransactionIdentifier, transactions: [PURCHASE] });
    return { signedAppTransaction, signedTransactions, signedRenewalInfos };
  };

  return async () => {
    const account = { applicationAccountIdentifier: EXAMPLE_ACCOUNT };
    const purchases = await signed();
    const { bundleIdentifier, packageName } = DEMO;
    const data = { environment: "Sandbox", bundleId: bundleIdentifier };
    const push =
      androidPurchaseToken === null
        ? null
        : await android.pushRequest({ version: "1.0", packageName, testNotification: { version: "1.0" } });
    const requests: RequestExamples = {
      linkIosStoreCustomer: { request: { ...purchases, ...account } },
      synchronizeIosStorePurchases: { request: purchases },
      readAccountEntitlements: { request: account },
      receiveIosStoreNotification: {
        request: {
          signedPayload: signNotification({ notificationType: "TEST", signedDate: now(), data }, signer),
        },
      },
      ...(androidPurchaseToken !== null && {
        linkAndroidStoreCustomer: {
          request: {
            packageName,
            purchaseToken: androidPurchaseToken,
            productKind: "subscription",
            ...account,
          },
        },
      }),
      ...(push !== null && { receiveAndroidStoreNotification: { request: JSON.parse(push.body) } }),
    };
    return {
      /** `Authorization` of a Pub/Sub push, without `Bearer`; null: another store replaces the sandbox's. */
      googlePushToken: push?.headers.authorization.replace(/^Bearer /, "") ?? null,
      requests,
    };
  };
};

const CHAIN_FILE = "sandbox-ios-store.json";
const SERVER_KEY_FILE = "sandbox-app-store-key.json";
/** Identifiers of the sandbox's key of the App Store Server API. */
const SERVER_KEY_IDENTIFIERS = {
  issuerIdentifier: "00000000-0000-4000-8000-000000000000",
  keyIdentifier: "SANDBOX000",
} as const;
const SERVER_KEY_SECRET = "sandbox/app-store-key";
/** Prefix of a deployed service's secrets; here, each is the credential of the sandbox's Android Publisher API. */
const SECRET_PREFIX = "customer-entitlements/";
const DEMO_PURCHASE_FILE = "demo-android-purchase-token";

export const DEMO_PURCHASE = {
  packageName: DEMO.packageName,
  productKind: "subscription",
  productIdentifier: DEMO.androidSubscription,
  basePlanIdentifier: DEMO.androidBasePlan,
} as const;

const opened = <Store>(
  folder: DataFolder,
  store: keyof typeof STORE_FILES,
  open: (saved: string | null) => Store,
): Store => {
  const file = STORE_FILES[store];
  const saved = folder.read(file);
  return saved === null
    ? open(null)
    : parseKept(file, saved, open, `, and the sandbox ${store} starts empty`);
};

/** Both sandbox stores, and how the demo application and the functions reach them. */
export const createSandboxStores = ({
  address,
  folder,
  now,
  androidPublisherUrl,
}: {
  /** Of the local service. */
  readonly address: string;
  readonly folder: DataFolder;
  readonly now: () => Instant;
  /** Replaces the sandbox's Android Publisher API. */
  readonly androidPublisherUrl: string | undefined;
}) => {
  const chain = parseKept(
    CHAIN_FILE,
    keptOrNew(folder, CHAIN_FILE, () => exportChain(makeChain())),
    importChain,
    ", and new certificates are created",
  );
  const serverKey = parseKept(
    SERVER_KEY_FILE,
    keptOrNew(folder, SERVER_KEY_FILE, () =>
      JSON.stringify({ ...createServerKey(), ...SERVER_KEY_IDENTIFIERS }),
    ),
    (text) => serverKeySchema.parse(JSON.parse(text)),
    ", and a new key is created",
  );
  const notificationUrl = `${address}${endpoints.receiveIosStoreNotification.path}`;
  const ios = opened(folder, "ios-store", (saved) =>
    createIosStoreSandbox({
      prefix: IOS_PREFIX,
      signer: chain,
      serverKey,
      now,
      notificationUrl: () => notificationUrl,
      saved,
      ...DEMO,
    }),
  );
  const pushUrl = `${address}${endpoints.receiveAndroidStoreNotification.path}`;
  const android = opened(folder, "android-store", (saved) =>
    createAndroidPublisherSandbox({ now, prefix: ANDROID_PREFIX, saved, pushUrl: () => pushUrl }),
  );
  const isReplaced = androidPublisherUrl !== undefined;
  const publisherUrl = androidPublisherUrl ?? `${address}${ANDROID_PREFIX}`;
  const credential = android.externalAccount(publisherUrl);
  /** Token of the demo's Android purchase; null if another store replaces the sandbox's. */
  const androidPurchaseToken = isReplaced
    ? null
    : keptOrNew(
        folder,
        DEMO_PURCHASE_FILE,
        () => android.buy(DEMO_PURCHASE),
        (kept) => android.read(kept) !== undefined,
      );
  return {
    mounts: isReplaced
      ? [ios.handle]
      : [ios.handle, android.handle, createExports(EXPORTS_PATH, { ios, android }, now)],
    timed: { "ios-store": ios, "android-store": android },
    /** SHA-256 of the root of the iOS store's certificates. */
    trustedRoot: fingerprintOf(chain.root),
    publisherUrl,
    /** Environment variables by which the functions reach the stores, besides the publisher's. */
    environment: {
      APP_STORE_SERVER_URL: `${address}${IOS_PREFIX}`,
      ...(!isReplaced && { GOOGLE_CERTIFICATES_URL: `${publisherUrl}/certs` }),
    },
    demoStores: demoStoresOf(serverKey, credential, pushUrl),
    /** Text of a secret of the sandbox; undefined: it has none of that name. */
    secret: (name: string): string | undefined => {
      if (name === SERVER_KEY_SECRET) return serverKey.privateKey;
      return name.startsWith(SECRET_PREFIX) ? JSON.stringify(credential) : undefined;
    },
    androidPurchaseToken,
    /** Makes requests that the running service answers with 200. */
    liveExamples: createLiveExamples({ ios, android, signer: chain, androidPurchaseToken, now }),
    /** Forgets what was sold. The demo's Android purchase is created again, under its token. */
    reset: (): void => {
      ios.reset();
      android.reset();
      if (androidPurchaseToken !== null) android.buy(DEMO_PURCHASE, androidPurchaseToken);
    },
  };
};

/** `stores` of the demo application's manifest. */
const demoStoresOf = (
  { issuerIdentifier, keyIdentifier }: ServerKey,
  workloadIdentity: object,
  audience: string,
): object => ({
  "ios-store": [
    {
      bundleIdentifier: DEMO.bundleIdentifier,
      appAppleIdentifier: DEMO.appAppleIdentifier,
      environments: ["production", "sandbox"],
      serverApi: { issuerIdentifier, keyIdentifier, secret: SERVER_KEY_SECRET },
    },
  ],
  "android-store": [
    {
      packageName: DEMO.packageName,
      credential: { workloadIdentity },
      notifications: { serviceAccount: SERVICE_ACCOUNT, audience },
    },
  ],
});
