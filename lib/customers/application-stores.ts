import {
  storesOf,
  type AndroidStoreConfiguration,
  type Application,
  type ApplicationDirectory,
  type IosStoreConfiguration,
  type StoreReference,
} from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import type { Environment, Store } from "../contract/schemas.ts";
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

/** A bundle or package of an application in one environment. */
export interface StoreInEnvironment extends StoreReference {
  readonly application: ApplicationId;
  readonly environment: Environment;
}

export const storeText = ({ application, store, environment, bundleOrPackage }: StoreInEnvironment): string =>
  JSON.stringify([application, store, environment, bundleOrPackage]);

/** A package, as if of production: neither Google's pushes nor its lists tell the environment. */
export const packageInEnvironment = (
  application: ApplicationId,
  bundleOrPackage: string,
): StoreInEnvironment => ({
  application,
  store: "android-store",
  environment: "production",
  bundleOrPackage,
});

type Stores = Pick<Application, "identifier" | "iosStore" | "androidStore">;

/** Sources of notifications: each bundle in each accepted environment but Xcode's, which has no store; each package. */
export const notifyingStores = ({
  identifier: application,
  iosStore,
  androidStore,
}: Stores): readonly StoreInEnvironment[] => [
  ...iosStore.flatMap(({ bundleIdentifier: bundleOrPackage, environments }) =>
    environments
      .filter((environment) => environment !== "xcode")
      .map((environment) => ({ application, store: "ios-store" as const, environment, bundleOrPackage })),
  ),
  ...androidStore.map(({ packageName }) => packageInEnvironment(application, packageName)),
];

/** Lists that are swept: Apple's notifications of each bundle with a key, and Google's voided purchases of each package. */
export const sweptStores = (application: Stores): readonly StoreInEnvironment[] =>
  notifyingStores({
    ...application,
    iosStore: application.iosStore.filter(({ serverApi }) => serverApi !== null),
  });

/** Queues of questions: each bundle or package in each environment that a store can be asked about. */
export const askQueuesOf = (application: Stores, store: Store): readonly StoreInEnvironment[] =>
  storesOf(application)
    .filter((one) => one.store === store)
    .flatMap((one) =>
      (["production", "sandbox"] as const).map((environment) => ({
        application: application.identifier,
        environment,
        ...one,
      })),
    );
