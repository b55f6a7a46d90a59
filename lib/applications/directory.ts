import { MINUTE } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { createLoadingCache } from "../loading-cache.ts";
import type { Application, ApplicationDirectory } from "./application.ts";

export interface ApplicationLoader {
  load(identifier: ApplicationId): Promise<Application | null>;
  applicationOfBundle(bundleIdentifier: string): Promise<ApplicationId | null>;
  applicationOfPackage(packageName: string): Promise<ApplicationId | null>;
}

const MAXIMUM_ENTRIES = 256;

/** Longest time until a changed application or catalog takes effect in the service's functions. */
export const DIRECTORY_AGE_MILLISECONDS = MINUTE;

const hasBundle = ({ iosStore }: Application, bundle: string): boolean =>
  iosStore.some(({ bundleIdentifier }) => bundleIdentifier === bundle);

const hasPackage = ({ androidStore }: Application, androidPackage: string): boolean =>
  androidStore.some(({ packageName }) => packageName === androidPackage);

/** Answers at most `maximumAgeMilliseconds` old. Misses are not cached: what is new is found at once. */
export const createApplicationDirectory = ({
  load,
  applicationOfBundle,
  applicationOfPackage,
  now,
  maximumAgeMilliseconds,
}: ApplicationLoader & {
  readonly now: () => Instant;
  readonly maximumAgeMilliseconds: number;
}): ApplicationDirectory => {
  const bounds = { now, maximumAgeMilliseconds, maximumEntries: MAXIMUM_ENTRIES, textOf: String };
  const applications = createLoadingCache({ load, ...bounds });

  /** Finds an application by a bundle or package that is registered to it and that it lists itself. */
  const byName = (
    find: (name: string) => Promise<ApplicationId | null>,
    hasName: (application: Application, name: string) => boolean,
  ) => {
    const identifiers = createLoadingCache({ load: find, ...bounds });
    const lookUp = async (name: string): Promise<Application | null> => {
      const identifier = await identifiers.get(name);
      if (identifier === null) return null;
      const application = await applications.get(identifier);
      if (application !== null && hasName(application, name)) return application;
      identifiers.forget(name);
      applications.forget(identifier);
      return null;
    };
    // A cached registration and application of different ages may disagree: both are then loaded again, once.
    return async (name: string): Promise<Application | null> => (await lookUp(name)) ?? lookUp(name);
  };

  return {
    byIdentifier: (identifier) => applications.get(identifier),
    byBundle: byName(applicationOfBundle, hasBundle),
    byPackage: byName(applicationOfPackage, hasPackage),
  };
};
