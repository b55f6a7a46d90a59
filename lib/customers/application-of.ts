import type {
  AndroidStoreConfiguration,
  Application,
  ApplicationDirectory,
  IosStoreConfiguration,
  StoreReference,
} from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import type { Store } from "../contract/schemas.ts";
import type { ApplicationId } from "../identifiers.ts";

const found = (application: Application | null, because: string): Application => {
  if (application === null) throw new ServiceError("APPLICATION_NOT_FOUND", { because });
  return application;
};

/** @throws ServiceError `APPLICATION_NOT_FOUND` */
export const applicationOfCredential = async (
  directory: ApplicationDirectory,
  identifier: ApplicationId,
): Promise<Application> =>
  found(await directory.byIdentifier(identifier), "the API key's application is gone");

/** @throws ServiceError `APPLICATION_NOT_FOUND` */
export const applicationOfStore = async (
  directory: ApplicationDirectory,
  reference: StoreReference,
): Promise<Application> => {
  const name =
    reference.store === "ios-store" ? `bundle ${reference.bundleOrPackage}` : "package that it names";
  return found(await directory.byStore(reference), `no application has the ${name}`);
};

const configured = <Configuration>(
  all: readonly Configuration[],
  nameOf: (one: Configuration) => string,
  name: string,
  kind: "bundles" | "packages",
): Configuration => {
  const configuration = all.find((one) => nameOf(one) === name);
  if (configuration !== undefined) return configuration;
  throw new ServiceError("STORE_CONFIGURATION_NOT_FOUND", {
    because:
      all.length === 0
        ? `the manifest has no ${kind}`
        : `the manifest has only the ${kind} ${all.map(nameOf).join(", ")}`,
  });
};

/** @throws ServiceError `STORE_CONFIGURATION_NOT_FOUND` */
export const iosStoreConfigurationOf = (application: Application, bundle: string): IosStoreConfiguration =>
  configured(application.iosStore, ({ bundleIdentifier }) => bundleIdentifier, bundle, "bundles");

/** @throws ServiceError `STORE_CONFIGURATION_NOT_FOUND` */
export const androidStoreConfigurationOf = (
  application: Application,
  name: string,
): AndroidStoreConfiguration =>
  configured(application.androidStore, ({ packageName }) => packageName, name, "packages");

/** @throws ServiceError `PAYWALL_NOT_FOUND` if the catalog has no product in the store */
export const requirePaywall = (application: Application, store: Store): void => {
  if (!application.catalog.sellsIn(store)) throw new ServiceError("PAYWALL_NOT_FOUND");
};
