import {
  DEFAULT_RENEWAL_LEEWAY_MILLISECONDS,
  type AndroidStoreConfiguration,
  type AndroidStoreNotifications,
  type Application,
  type TransferPolicy,
} from "../applications/application.ts";
import { isWebhook } from "../applications/destination.ts";
import type { Environment, Store } from "../contract/schemas.ts";
import type { AppStoreServerKey } from "../stores/ios-store/server-token.ts";
import { DAY, MINUTE } from "../duration.ts";
import type { Catalog } from "../entitlements/catalog.ts";
import type { Period } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";

/** A manifest as data. Reading it gives the same application again. */
export interface ManifestDocument {
  readonly application: {
    readonly identifier: ApplicationId;
    readonly name: string;
    readonly transfers?: TransferPolicy;
    readonly renewalLeeway?: string;
    readonly keepsChanges?: true;
  };
  readonly destinations: readonly {
    readonly name: string;
    readonly url?: string;
    readonly eventBus?: string;
  }[];
  readonly stores: {
    readonly "ios-store": readonly {
      readonly bundleIdentifier: string;
      readonly appAppleIdentifier?: number;
      readonly environments: readonly Environment[];
      readonly xcodeCertificates?: readonly string[];
      readonly serverApi?: AppStoreServerKey;
    }[];
    readonly "android-store": readonly (Omit<AndroidStoreConfiguration, "notifications"> & {
      readonly notifications?: AndroidStoreNotifications;
    })[];
  };
  readonly entitlements: Readonly<Record<string, { readonly displayName: string }>>;
  readonly products: readonly {
    readonly store: Store;
    readonly productIdentifier: string;
    readonly basePlanIdentifier?: string;
    readonly purchaseOptionIdentifier?: string;
    readonly grants: readonly string[];
    readonly accessDuration?: string;
  }[];
}

const UNITS = [
  ["D", DAY],
  ["H", 3_600_000],
  ["M", MINUTE],
  ["S", 1000],
] as const;

/** The period as an ISO 8601 duration: `P1Y`, `P7D`, `PT36H` as `P1DT12H`. */
export const periodText = ({ months, milliseconds }: Period): string => {
  const date = months === 0 ? "" : months % 12 === 0 ? `${months / 12}Y` : `${months}M`;
  let rest = milliseconds;
  const [days = "", ...time] = UNITS.map(([letter, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? "" : `${count}${letter}`;
  });
  return `P${date}${days}${time.some(Boolean) ? `T${time.join("")}` : ""}`;
};

const productsOf = ({ products }: Catalog): ManifestDocument["products"] =>
  products.map((product) => ({
    store: product.store,
    productIdentifier: product.productIdentifier,
    ...(product.basePlanIdentifier !== null && { basePlanIdentifier: product.basePlanIdentifier }),
    ...(product.purchaseOptionIdentifier !== null && {
      purchaseOptionIdentifier: product.purchaseOptionIdentifier,
    }),
    grants: product.grants,
    ...(product.accessDuration !== null && { accessDuration: periodText(product.accessDuration) }),
  }));

export const leewayText = (milliseconds: number): string =>
  milliseconds === 0 ? "PT0S" : periodText({ months: 0, milliseconds });

/** The manifest that describes an application. */
export const manifestOf = ({
  identifier,
  name,
  iosStore,
  androidStore,
  catalog,
  transfers,
  renewalLeeway,
  destinations,
  keepsChanges,
}: Application): ManifestDocument => ({
  // Defaults are left out.
  application: {
    identifier,
    name,
    ...(transfers !== "refuse" && { transfers }),
    ...(renewalLeeway !== DEFAULT_RENEWAL_LEEWAY_MILLISECONDS && {
      renewalLeeway: leewayText(renewalLeeway),
    }),
    ...(keepsChanges && { keepsChanges }),
  },
  destinations: destinations.map((destination) =>
    isWebhook(destination)
      ? { name: destination.name, url: destination.url }
      : { name: destination.name, eventBus: destination.eventBus },
  ),
  stores: {
    "ios-store": iosStore.map(
      ({ bundleIdentifier, appAppleIdentifier, environments, xcodeCertificates, serverApi }) => ({
        bundleIdentifier,
        ...(appAppleIdentifier !== null && { appAppleIdentifier }),
        environments,
        ...(xcodeCertificates.length > 0 && { xcodeCertificates }),
        ...(serverApi !== null && { serverApi }),
      }),
    ),
    "android-store": androidStore.map(({ notifications, ...store }) => ({
      ...store,
      ...(notifications !== null && { notifications }),
    })),
  },
  entitlements: Object.fromEntries(
    [...catalog.displayNames].map(([identifier, displayName]) => [identifier, { displayName }]),
  ),
  products: productsOf(catalog),
});
