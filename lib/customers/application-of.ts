import type {
  AndroidStoreConfiguration,
  Application,
  ApplicationDirectory,
  IosStoreConfiguration,
} from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import type { Store } from "../contract/schemas.ts";
import type { ApplicationId } from "../identifiers.ts";

/** @throws ServiceError `APPLICATION_NOT_FOUND` */
export const applicationOfCredential = async (
  directory: ApplicationDirectory,
  identifier: ApplicationId,
): Promise<Application> =>
  found(await directory.byIdentifier(identifier), "the API key's application is gone");

/** @throws ServiceError `APPLICATION_NOT_FOUND` */
export const applicationOfBundle = async (
  directory: ApplicationDirectory,
  bundleIdentifier: string,
): Promise<Application> =>
  found(await directory.byBundle(bundleIdentifier), `no application has the bundle ${bundleIdentifier}`);

/** @throws ServiceError `APPLICATION_NOT_FOUND` */
export const applicationOfPackage = async (
  directory: ApplicationDirectory,
  packageName: string,
): Promise<Application> =>
  found(await directory.byPackage(packageName), "no application has the package that it names");

const found = (application: Application | null, because: string): Application => {
  if (application === null) throw new ServiceError("APPLICATION_NOT_FOUND", { because });
  return application;
};

/** @throws ServiceError `STORE_CONFIGURATION_NOT_FOUND` */
export const iosStoreConfigurationOf = (
  application: Application,
  bundleIdentifier: string,
): IosStoreConfiguration =>
  configured(
    application.iosStore.find((store) => store.bundleIdentifier === bundleIdentifier),
    "bundles",
    application.iosStore.map((store) => store.bundleIdentifier),
  );

/** @throws ServiceError `STORE_CONFIGURATION_NOT_FOUND` */
export const androidStoreConfigurationOf = (
  application: Application,
  packageName: string,
): AndroidStoreConfiguration =>
  configured(
    application.androidStore.find((store) => store.packageName === packageName),
    "packages",
    application.androidStore.map((store) => store.packageName),
  );

const configured = <Configuration>(
  configuration: Configuration | undefined,
  kind: "bundles" | "packages",
  names: readonly string[],
): Configuration => {
  if (configuration === undefined)
    throw new ServiceError("STORE_CONFIGURATION_NOT_FOUND", {
      because:
        names.length === 0
          ? `the manifest has no ${kind}`
          : `the manifest has only the ${kind} ${names.join(", ")}`,
    });
  return configuration;
};

/** @throws ServiceError `PAYWALL_NOT_FOUND` if the catalog has no product in the store */
export const requirePaywall = (application: Application, store: Store): void => {
  if (!application.catalog.sellsIn(store)) throw new ServiceError("PAYWALL_NOT_FOUND");
};
