import type { Application, StoreReference } from "../../applications/application.ts";
import type { Environment } from "../../contract/schemas.ts";
import type { ApplicationId } from "../../identifiers.ts";

export interface StoreInEnvironment extends StoreReference {
  readonly application: ApplicationId;
  readonly environment: Environment;
}

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

/** Bundles and packages of an application, by environment. StoreKit testing in Xcode has no store. */
export const storesInEnvironments = ({
  identifier: application,
  iosStore,
  androidStore,
}: Pick<Application, "identifier" | "iosStore" | "androidStore">): readonly StoreInEnvironment[] => [
  ...iosStore.flatMap(({ bundleIdentifier, environments }) =>
    environments
      .filter((environment) => environment !== "xcode")
      .map((environment) => ({
        application,
        store: "ios-store" as const,
        environment,
        bundleOrPackage: bundleIdentifier,
      })),
  ),
  ...androidStore.map(({ packageName }) => packageInEnvironment(application, packageName)),
];
