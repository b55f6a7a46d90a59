import type { AskRun } from "../../lib/customers/asking/ask-due-purchases.ts";
import type { SweepRun } from "../../lib/customers/notifications/sweep.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import { createWatermarks } from "../../lib/table/queues/notifications.ts";
import { applicationsOf, runOf, type Upkeep } from "./service.ts";

export const askRunOf = (
  configuration: Upkeep,
  { store, ask, directory }: Pick<AskRun, "store" | "ask" | "directory">,
): AskRun => ({
  store,
  ask,
  directory,
  queues: createAskQueues(configuration.table),
  table: createCustomerTable(configuration.table),
  applications: applicationsOf(configuration),
  ...runOf(configuration),
});

export const sweepRunOf = (configuration: Upkeep): Omit<SweepRun, "directory"> => ({
  watermarks: createWatermarks(configuration.table),
  applications: applicationsOf(configuration),
  now: configuration.now,
  onFailure: configuration.onFailure,
});
