import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { createLoadingCache } from "../loading-cache.ts";
import type { Application, ApplicationDirectory } from "./application.ts";

/** Source of a directory's applications. */
export interface ApplicationLoader {
  load(identifier: ApplicationId): Promise<Application | null>;
  applicationOfBundle(bundleIdentifier: string): Promise<ApplicationId | null>;
}

const MAXIMUM_ENTRIES = 256;

const hasBundle = (application: Application | null, bundleIdentifier: string): boolean =>
  application?.iosStore.some((store) => store.bundleIdentifier === bundleIdentifier) ?? false;

/**
 * A directory with a cache: an answer is at most `maximumAgeMilliseconds` old. Misses are not cached, so a new
 * application or bundle is found at once.
 */
export const createApplicationDirectory = ({
  load,
  applicationOfBundle,
  now,
  maximumAgeMilliseconds,
}: ApplicationLoader & {
  readonly now: () => Instant;
  readonly maximumAgeMilliseconds: number;
}): ApplicationDirectory => {
  const bounds = { now, maximumAgeMilliseconds, maximumEntries: MAXIMUM_ENTRIES, textOf: String };
  const applications = createLoadingCache({ load, ...bounds });
  const identifiers = createLoadingCache({ load: applicationOfBundle, ...bounds });

  const lookUp = async (bundleIdentifier: string): Promise<Application | null> => {
    const identifier = await identifiers.get(bundleIdentifier);
    if (identifier === null) return null;
    const application = await applications.get(identifier);
    if (hasBundle(application, bundleIdentifier)) return application;
    identifiers.forget(bundleIdentifier);
    applications.forget(identifier);
    return null;
  };

  return {
    byIdentifier: (identifier) => applications.get(identifier),
    // A cached registration and application of different ages may disagree: both are then loaded again, once.
    byBundle: async (bundleIdentifier) => (await lookUp(bundleIdentifier)) ?? lookUp(bundleIdentifier),
  };
};
