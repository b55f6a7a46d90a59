import { ENVIRONMENTS, STORES, type Environment } from "../contract/schemas.ts";
import { DAY, MINUTE } from "../duration.ts";
import type { Period } from "../entitlements/time.ts";
import type { AndroidStoreCredential } from "../stores/android-store/publisher.ts";
import type { AppStoreServerKey } from "../stores/ios-store/app-store-server.ts";

/** A Pub/Sub push subscription, as its OIDC tokens name it. */
interface AndroidStoreNotifications {
  /** E-mail address of the subscription's service account. */
  readonly serviceAccount: string;
  readonly audience: string;
}

/**
 * A move between services. `forwardedBy`: the other one has the bundle's address in App Store Connect, and forwards;
 * Apple calls delivered what that one answered. `forwardTo`: this one has it; URL of the other.
 */
export type IosStoreNotifications = { readonly forwardedBy: true } | { readonly forwardTo: string };

/** Kinds of values. The manifest and the table each have one schema for a kind. */
export interface Kinds {
  readonly name: string;
  readonly names: readonly string[];
  readonly bundleOrPackage: string;
  readonly positiveInteger: number;
  readonly flag: boolean;
  readonly period: Period;
  readonly certificates: readonly string[];
  readonly appStoreServerKey: AppStoreServerKey;
  readonly iosStoreNotifications: IosStoreNotifications;
  readonly androidStoreCredential: AndroidStoreCredential;
  readonly androidStoreNotifications: AndroidStoreNotifications;
}

interface WithDefault<Value> {
  /** The value of a field that a manifest or an item leaves out. Without a default, the field is required. */
  readonly default?: Value | null;
  /** The manifest of an application names the field even where it has its default. */
  readonly isAlwaysShown?: true;
}

export type Field =
  | { [Kind in keyof Kinds]: { readonly kind: Kind } & WithDefault<Kinds[Kind]> }[keyof Kinds]
  | ({ readonly kind: "choice"; readonly of: readonly string[] } & WithDefault<string>)
  /** Different ones of these, in this order. */
  | ({ readonly kind: "choices"; readonly of: readonly string[] } & WithDefault<readonly string[]>)
  /** Milliseconds, from zero; an ISO 8601 duration in a manifest. */
  | ({ readonly kind: "duration"; readonly longest: number } & WithDefault<number>);

export type Fields = Readonly<Record<string, Field>>;

/** Without the null of a default. */
export type ValueOf<One> = One extends { kind: "choice"; of: readonly (infer Choice)[] }
  ? Choice
  : One extends { kind: "choices"; of: readonly (infer Choice)[] }
    ? readonly Choice[]
    : One extends { kind: "duration" }
      ? number
      : One extends { kind: infer Kind extends keyof Kinds }
        ? Kinds[Kind]
        : never;

export type Values<Named extends Fields> = {
  readonly [Name in keyof Named]:
    ValueOf<Named[Name]> | (Named[Name] extends { default: null } ? null : never);
};

/** The values as a manifest or an item has them: those with a default may be missing. */
export type Given<Named extends Fields> = {
  readonly [Name in keyof Named as Named[Name] extends { default: unknown } ? never : Name]: ValueOf<
    Named[Name]
  >;
} & {
  readonly [Name in keyof Named as Named[Name] extends { default: unknown } ? Name : never]?:
    ValueOf<Named[Name]> | (Named[Name] extends { default: null } ? null : never) | undefined;
};

export const withDefaults = <Named extends Fields>(fields: Named, given: Given<Named>): Values<Named> => {
  const values: Readonly<Record<string, unknown>> = given;
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, values[name] ?? field.default]),
  ) as Values<Named>;
};

export const isDefault = (field: Field, value: unknown): boolean =>
  JSON.stringify(value) === JSON.stringify(field.default);

const BOTH: readonly Environment[] = ["production", "sandbox"];

/** When a credential's link moves a customer from another account; inactive: none of its entitlements is active. */
export const TRANSFERS = ["refuse", "when_inactive", "always"] as const;

export const APPLICATION_FIELDS = {
  name: { kind: "name" },
  transfers: { kind: "choice", of: TRANSFERS, default: "refuse" },
  /** Time for which a subscription that was to renew stays active after its end while the store is silent. */
  renewalLeeway: { kind: "duration", longest: DAY, default: 15 * MINUTE },
  /** Whether changes are kept for the feed even without a destination. */
  keepsChanges: { kind: "flag", default: false },
} as const satisfies Fields;

export const IOS_STORE_FIELDS = {
  bundleIdentifier: { kind: "bundleOrPackage" },
  /** The app's Apple ID, which production app transactions carry; null where production is not accepted. */
  appAppleIdentifier: { kind: "positiveInteger", default: null },
  environments: { kind: "choices", of: ENVIRONMENTS, default: BOTH, isAlwaysShown: true },
  /** SHA-256 (hex, lower case) of the certificates that StoreKit testing in Xcode signs with. */
  xcodeCertificates: { kind: "certificates", default: [] },
  /** Key for asking the App Store Server API about the bundle's purchases; null: Apple is not asked. */
  serverApi: { kind: "appStoreServerKey", default: null },
  /** Another service that takes the bundle's notifications, too; null: none. */
  notifications: { kind: "iosStoreNotifications", default: null },
} as const satisfies Fields;

export const ANDROID_STORE_FIELDS = {
  packageName: { kind: "bundleOrPackage" },
  credential: { kind: "androidStoreCredential" },
  environments: { kind: "choices", of: BOTH, default: BOTH, isAlwaysShown: true },
  /** Service account that may push the package's Real-time Developer Notifications; null: nobody. */
  notifications: { kind: "androidStoreNotifications", default: null },
} as const satisfies Fields;

export const PRODUCT_FIELDS = {
  store: { kind: "choice", of: STORES },
  productIdentifier: { kind: "name" },
  basePlanIdentifier: { kind: "name", default: null },
  purchaseOptionIdentifier: { kind: "name", default: null },
  grants: { kind: "names" },
  accessDuration: { kind: "period", default: null },
} as const satisfies Fields;
