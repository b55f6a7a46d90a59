import type { Environment, Store } from "../contract/schemas.ts";
import { MINUTE } from "../duration.ts";
import type { Catalog } from "../entitlements/catalog.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { AndroidStoreCredential } from "../stores/android-store/credentials.ts";
import type { AppStoreServerKey } from "../stores/ios-store/server-token.ts";
import type { Destination } from "./destination.ts";

/** An iOS bundle of an application. */
export interface IosStoreConfiguration {
  readonly bundleIdentifier: string;
  /** The app's Apple ID, which production app transactions carry; null where production is not accepted. */
  readonly appAppleIdentifier: number | null;
  readonly environments: readonly Environment[];
  /** SHA-256 (hex, lower case) of the certificates that StoreKit testing in Xcode signs with. */
  readonly xcodeCertificates: readonly string[];
  /** Key for asking the App Store Server API about the bundle's purchases; null: Apple is not asked. */
  readonly serverApi: AppStoreServerKey | null;
}

/** An Android package of an application. */
export interface AndroidStoreConfiguration {
  readonly packageName: string;
  readonly credential: AndroidStoreCredential;
  readonly environments: readonly Environment[];
  /** Who may push the package's Real-time Developer Notifications; null: nobody. */
  readonly notifications: AndroidStoreNotifications | null;
}

/** A Pub/Sub push subscription, as its OIDC tokens name it. */
export interface AndroidStoreNotifications {
  /** E-mail address of the subscription's service account. */
  readonly serviceAccount: string;
  /** Audience of the subscription's tokens. */
  readonly audience: string;
}

/**
 * Transfer policy: when a link made with a credential moves a customer from another account. Never, only while none of
 * the customer's entitlements is active, or always. A client's claim never moves a customer.
 */
export const TRANSFERS = ["refuse", "when_inactive", "always"] as const;
export type TransferPolicy = (typeof TRANSFERS)[number];

/** A tenant, with everything that requests need. */
export interface Application {
  readonly identifier: ApplicationId;
  readonly name: string;
  readonly iosStore: readonly IosStoreConfiguration[];
  readonly androidStore: readonly AndroidStoreConfiguration[];
  readonly catalog: Catalog;
  readonly transfers: TransferPolicy;
  /**
   * Milliseconds for which a subscription that was to renew stays active after its end while the store is silent; from
   * 0 to a day.
   */
  readonly renewalLeeway: number;
  /** Told of every change of an account's entitlements. */
  readonly destinations: readonly Destination[];
  /** Whether changes are kept for the feed even without a destination. */
  readonly keepsChanges: boolean;
}

/** Whether changes of accounts' entitlements are detected, kept and told. */
export const tellsChanges = ({
  destinations,
  keepsChanges,
}: Pick<Application, "destinations" | "keepsChanges">): boolean => keepsChanges || destinations.length > 0;

/** Default of the renewal leeway. */
export const DEFAULT_RENEWAL_LEEWAY_MILLISECONDS = 15 * MINUTE;

/** A bundle (`ios-store`) or a package (`android-store`). */
export interface StoreReference {
  readonly store: Store;
  readonly bundleOrPackage: string;
}

/** The bundles and packages of an application or a manifest. */
export const storesOf = ({
  iosStore,
  androidStore,
}: Pick<Application, "iosStore" | "androidStore">): readonly StoreReference[] => [
  ...iosStore.map(({ bundleIdentifier }) => ({
    store: "ios-store" as const,
    bundleOrPackage: bundleIdentifier,
  })),
  ...androidStore.map(({ packageName }) => ({
    store: "android-store" as const,
    bundleOrPackage: packageName,
  })),
];

/** Looks up applications. Answers may be up to 60 seconds old. */
export interface ApplicationDirectory {
  /** Null where the application does not exist. */
  byIdentifier(identifier: ApplicationId): Promise<Application | null>;
  /** The application that an iOS bundle belongs to; null where there is none. */
  byBundle(bundleIdentifier: string): Promise<Application | null>;
  /** The application that an Android package belongs to; null where there is none. */
  byPackage(packageName: string): Promise<Application | null>;
}
