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
): Promise<Application> => found(await directory.byIdentifier(identifier));

/** @throws ServiceError `APPLICATION_NOT_FOUND` */
export const applicationOfBundle = async (
  directory: ApplicationDirectory,
  bundleIdentifier: string,
): Promise<Application> => found(await directory.byBundle(bundleIdentifier));

/** @throws ServiceError `APPLICATION_NOT_FOUND` */
export const applicationOfPackage = async (
  directory: ApplicationDirectory,
  packageName: string,
): Promise<Application> => found(await directory.byPackage(packageName));

const found = (application: Application | null): Application => {
  if (application === null) throw new ServiceError("APPLICATION_NOT_FOUND");
  return application;
};

/** @throws ServiceError `STORE_CONFIGURATION_NOT_FOUND` */
export const iosStoreConfigurationOf = (
  application: Application,
  bundleIdentifier: string,
): IosStoreConfiguration =>
  configured(application.iosStore.find((store) => store.bundleIdentifier === bundleIdentifier));

/** @throws ServiceError `STORE_CONFIGURATION_NOT_FOUND` */
export const androidStoreConfigurationOf = (
  application: Application,
  packageName: string,
): AndroidStoreConfiguration =>
  configured(application.androidStore.find((store) => store.packageName === packageName));

const configured = <Configuration>(configuration: Configuration | undefined): Configuration => {
  if (configuration === undefined) throw new ServiceError("STORE_CONFIGURATION_NOT_FOUND");
  return configuration;
};

/** @throws ServiceError `PAYWALL_NOT_FOUND` if the catalog has no product in the store */
export const requirePaywall = (application: Application, store: Store): void => {
  if (!application.catalog.sellsIn(store)) throw new ServiceError("PAYWALL_NOT_FOUND");
};
