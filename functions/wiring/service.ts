import type { ApplicationDirectory } from "../../lib/applications/application.ts";
import { createApplicationDirectory, DIRECTORY_AGE_MILLISECONDS } from "../../lib/applications/directory.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createApplicationReader } from "../../lib/table/applications/application-reader.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import type { Observe } from "../observability/observation.ts";

/**
 * Configuration from which use cases are wired. Each function composes only its own, so that its bundle holds nothing
 * else.
 */
export interface ServiceConfiguration {
  readonly table: Table;
  readonly now: () => Instant;
  /** Receives service events; unset: they are dropped. */
  readonly observe?: Observe;
}

export const directoryOf = ({ table, now }: ServiceConfiguration): ApplicationDirectory => {
  const { load, applicationOfBundle, applicationOfPackage } = createApplicationReader(table);
  return createApplicationDirectory({
    load,
    applicationOfBundle,
    applicationOfPackage,
    now,
    maximumAgeMilliseconds: DIRECTORY_AGE_MILLISECONDS,
  });
};

export const nobody: Observe = () => undefined;

/** Dependencies of the scheduled functions. */
export interface Upkeep extends ServiceConfiguration {
  /** Receives a failure that stops neither the run nor the function. */
  readonly onFailure: (error: unknown) => void;
}

export const applicationsOf = ({ table }: ServiceConfiguration) => {
  const { list } = createApplicationReader(table);
  return async () => (await list()).map(({ identifier }) => identifier);
};
