import type { Instant } from "../lib/entitlements/time.ts";
import type { TimedStore } from "../sandbox/clock.ts";
import {
  createAndroidPublisherSandbox,
  type AndroidPublisherSandbox,
} from "../sandbox/android-store/publisher.ts";
import { createIosPurchases } from "../sandbox/ios-store/purchases-endpoint.ts";
import {
  exportChain,
  fingerprintOf,
  importChain,
  makeChain,
  type SigningChain,
} from "../sandbox/ios-store/signing.ts";
import type { Mount } from "../sandbox/mount.ts";
import type { DataFolder } from "./data-folder.ts";
import { DEMO, type DemoAndroidStore } from "./demo.ts";
import { LocalError } from "./local-error.ts";

/** Both sandbox stores. */
export interface SandboxStores {
  readonly mounts: readonly Mount[];
  readonly timed: Readonly<Record<"ios-store" | "android-store", TimedStore>>;
  /** SHA-256 of the root of the iOS store's certificates. */
  readonly trustedRoot: string;
  /** What the demo application reads Android purchases with. */
  readonly demoAndroidStore: DemoAndroidStore;
  /** Keys of the Android store's push tokens; null if another store replaces it. */
  readonly googleCertificatesUrl: string | null;
  /** Token of the demo's Android purchase; null if another store replaces the sandbox's. */
  readonly androidPurchaseToken: string | null;
  /** Forgets what was sold. The demo's Android purchase is made anew, under its token. */
  reset(): void;
}

const CHAIN_FILE = "sandbox-ios-store.json";
const DEMO_PURCHASE_FILE = "demo-android-purchase-token";
const ANDROID_PREFIX = "/sandbox/android-publisher";
const IOS_PREFIX = "/sandbox/ios-store";

const DEMO_PURCHASE = {
  packageName: DEMO.packageName,
  productKind: "subscription",
  productIdentifier: DEMO.androidSubscription,
  basePlanIdentifier: DEMO.androidBasePlan,
} as const;

const signingChain = (folder: DataFolder): SigningChain => {
  const kept = folder.read(CHAIN_FILE);
  try {
    if (kept !== null) return importChain(kept);
  } catch (cause) {
    throw new LocalError(
      `${CHAIN_FILE} in the data folder cannot be read; remove it, and new certificates are created.`,
      { cause },
    );
  }
  const chain = makeChain();
  folder.write(CHAIN_FILE, exportChain(chain));
  return chain;
};

/** A store whose purchases change only when it is told so. */
const WITHOUT_EVENTS: TimedStore = {
  nextEventAt: () => null,
  runUntil: async () => undefined,
  reset: () => undefined,
  save: () => "",
};

const buyForDemo = (android: AndroidPublisherSandbox, folder: DataFolder): string => {
  const kept = folder.read(DEMO_PURCHASE_FILE)?.trim();
  if (kept !== undefined && android.read(kept) !== undefined) return kept;
  const bought = android.buy(DEMO_PURCHASE);
  folder.write(DEMO_PURCHASE_FILE, `${bought}\n`);
  return bought;
};

const buyForDemoAgain = (android: AndroidPublisherSandbox, purchaseToken: string): void => {
  const bought = android.buy(DEMO_PURCHASE);
  const stored = android.read(bought);
  if (stored !== undefined) android.put(purchaseToken, stored);
  android.drop(bought);
};

/**
 * @param options.address of the local service
 * @param options.androidPublisherUrl Android Publisher API that replaces the sandbox's
 */
export const createSandboxStores = ({
  address,
  folder,
  now,
  androidPublisherUrl,
}: {
  readonly address: string;
  readonly folder: DataFolder;
  readonly now: () => Instant;
  readonly androidPublisherUrl: string | undefined;
}): SandboxStores => {
  const chain = signingChain(folder);
  const ios = createIosPurchases({ prefix: IOS_PREFIX, signer: chain, now, ...DEMO });
  const android = createAndroidPublisherSandbox({ now, prefix: ANDROID_PREFIX });
  const isReplaced = androidPublisherUrl !== undefined;
  const publisherUrl = androidPublisherUrl ?? `${address}${ANDROID_PREFIX}`;
  const androidPurchaseToken = isReplaced ? null : buyForDemo(android, folder);
  const timed = { "ios-store": WITHOUT_EVENTS, "android-store": WITHOUT_EVENTS };
  return {
    mounts: isReplaced ? [ios] : [ios, android.handle],
    timed,
    trustedRoot: fingerprintOf(chain.root),
    demoAndroidStore: { publisherUrl, credential: android.externalAccount(publisherUrl) },
    googleCertificatesUrl: isReplaced ? null : `${publisherUrl}/certs`,
    androidPurchaseToken,
    reset: () => {
      timed["ios-store"].reset();
      timed["android-store"].reset();
      if (androidPurchaseToken !== null) buyForDemoAgain(android, androidPurchaseToken);
    },
  };
};
