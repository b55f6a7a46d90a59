import { MINUTE } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { createLoadingCache } from "../loading-cache.ts";
import type { Application, ApplicationDirectory, StoreReference } from "./application.ts";

export interface ApplicationLoader {
  load(identifier: ApplicationId): Promise<Application | null>;
  applicationOf(reference: StoreReference): Promise<ApplicationId | null>;
}

const MAXIMUM_ENTRIES = 256;

/** Longest time until a changed application or catalog takes effect in the service's functions. */
export const DIRECTORY_AGE_MILLISECONDS = MINUTE;

const hasStore = (
  { iosStore, androidStore }: Application,
  { store, bundleOrPackage }: StoreReference,
): boolean =>
  store === "ios-store"
    ? iosStore.some(({ bundleIdentifier }) => bundleIdentifier === bundleOrPackage)
    : androidStore.some(({ packageName }) => packageName === bundleOrPackage);

/** Answers at most `maximumAgeMilliseconds` old. Misses are not cached: what is new is found at once. */
export const createApplicationDirectory = ({
  load,
  applicationOf,
  ...age
}: ApplicationLoader & {
  readonly now: () => Instant;
  readonly maximumAgeMilliseconds: number;
}): ApplicationDirectory => {
  const bounds = { ...age, maximumEntries: MAXIMUM_ENTRIES };
  const applications = createLoadingCache({ load, ...bounds, textOf: String });
  const identifiers = createLoadingCache({
    load: applicationOf,
    ...bounds,
    textOf: ({ store, bundleOrPackage }: StoreReference) => `${store} ${bundleOrPackage}`,
  });

  /** Finds an application by a bundle or package that is registered to it and that it lists itself. */
  const lookUp = async (reference: StoreReference): Promise<Application | null> => {
    const identifier = await identifiers.get(reference);
    if (identifier === null) return null;
    const application = await applications.get(identifier);
    if (application !== null && hasStore(application, reference)) return application;
    identifiers.forget(reference);
    applications.forget(identifier);
    return null;
  };
  return {
    byIdentifier: (identifier) => applications.get(identifier),
    // A cached registration and application of different ages may disagree: both are then loaded again, once.
    byStore: async (reference) => (await lookUp(reference)) ?? lookUp(reference),
  };
};
