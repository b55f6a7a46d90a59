import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { ApplicationDirectory } from "../../lib/applications/application.ts";
import { createApplicationDirectory, DIRECTORY_AGE_MILLISECONDS } from "../../lib/applications/directory.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createApplicationReader } from "../../lib/table/applications/application-reader.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import type { Observer } from "../observability/observe.ts";

/** Each function composes only its own use cases from it, so that its bundle holds nothing else. */
export interface ServiceConfiguration {
  readonly table: Table;
  readonly now: () => Instant;
  /** Counts what happens; unset: nothing does. */
  readonly observer?: Observer;
}

export const directoryOf = ({ table, now }: ServiceConfiguration): ApplicationDirectory =>
  createApplicationDirectory({
    ...createApplicationReader(table),
    now,
    maximumAgeMilliseconds: DIRECTORY_AGE_MILLISECONDS,
  });

/** Configuration of the scheduled functions. */
export interface Upkeep extends ServiceConfiguration {
  /** Receives a failure that stops neither the run nor the function. */
  readonly onFailure: (error: unknown) => void;
}

export const applicationsOf = ({ table }: ServiceConfiguration) => {
  const { list } = createApplicationReader(table);
  return async () => (await list()).map(({ identifier }) => identifier);
};

/** Time after which a run that a slow store or destination holds up looks at the others again. */
const HELD_UP_MILLISECONDS = 1000;

/** Effects of a run that works off queues. */
export const runOf = ({ now, onFailure }: Upkeep) => ({
  newWorker: uuid,
  now,
  wait: async (milliseconds: number) => sleep(milliseconds),
  untilNextLook: async () => sleep(HELD_UP_MILLISECONDS),
  onFailure,
});
