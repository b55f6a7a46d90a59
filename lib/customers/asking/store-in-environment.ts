import { storesOf, type Application, type StoreReference } from "../../applications/application.ts";
import type { Environment, Store } from "../../contract/schemas.ts";
import type { ApplicationId } from "../../identifiers.ts";

/** A bundle or package of an application in one environment. */
export interface StoreInEnvironment extends StoreReference {
  readonly application: ApplicationId;
  readonly environment: Environment;
}

export const storeText = ({ application, store, environment, bundleOrPackage }: StoreInEnvironment): string =>
  JSON.stringify([application, store, environment, bundleOrPackage]);

/** A package: neither Google's pushes nor its lists tell the environment, so there is one, as if of production. */
export const packageInEnvironment = (
  application: ApplicationId,
  packageName: string,
): StoreInEnvironment => ({
  application,
  store: "android-store",
  environment: "production",
  bundleOrPackage: packageName,
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
