import type { FloodLimits } from "../lib/contract/endpoints.ts";
import type { Store } from "../lib/contract/schemas.ts";
import { changesFacts, type TableAccess } from "../lib/contract/table-access.ts";

/** A function that serves no endpoint; an endpoint's data has the same of its function. */
export interface OtherFunction {
  readonly description: string;
  readonly memoryMegabytes: number;
  readonly timeoutSeconds: number;
  /** Store that it asks; null: none. */
  readonly store: Store | null;
  readonly table: TableAccess;
}

/** A function that a schedule invokes. Its module under `functions/schedules/` has its name in kebab case. */
export interface ScheduledFunction extends OtherFunction {
  readonly everyMinutes: number;
  /** Construct of its schedule. docs/runbook.md names it. */
  readonly schedule: string;
  readonly secrets: "store-credentials" | "master-secret" | null;
}

/** Access of a function that works for all applications. */
const ofAllApplications = ({ reads, ...access }: TableAccess): TableAccess => ({
  ...access,
  reads: [...reads, "application-list"],
});

const MEMORY_MEGABYTES = 512;
const HOUR_MINUTES = 60;

/** Anybody can run it, with well-formed keys that do not exist. */
export const AUTHORIZER = {
  description: "Authorize an API key",
  memoryMegabytes: 1024,
  timeoutSeconds: 10,
  /** Percentage of a known concurrency that it may have at most. */
  concurrencyPercent: 10,
  store: null,
  table: { by: "gets", reads: ["credential"], changes: [] },
} as const satisfies OtherFunction & Pick<FloodLimits, "concurrencyPercent">;

const REFRESH = {
  everyMinutes: 1,
  memoryMegabytes: MEMORY_MEGABYTES,
  timeoutSeconds: 240,
  secrets: "store-credentials",
} as const;

const SWEEP = {
  everyMinutes: HOUR_MINUTES,
  memoryMegabytes: MEMORY_MEGABYTES,
  timeoutSeconds: 300,
  secrets: "store-credentials",
} as const;

const TELLING = {
  everyMinutes: 1,
  memoryMegabytes: MEMORY_MEGABYTES,
  timeoutSeconds: 120,
  store: null,
  secrets: "master-secret",
} as const;

export const SCHEDULED_FUNCTIONS = {
  watchNotifications: {
    description: "Find applications whose notifications stopped",
    schedule: "NotificationWatchSchedule",
    everyMinutes: HOUR_MINUTES,
    memoryMegabytes: MEMORY_MEGABYTES,
    timeoutSeconds: 60,
    store: null,
    secrets: null,
    table: { by: "queries", reads: ["application", "notification"], changes: [] },
  },
  refreshIosStorePurchases: {
    ...REFRESH,
    description: "Ask Apple about due purchases",
    schedule: "IosRefreshSchedule",
    store: "ios-store",
    table: ofAllApplications(changesFacts("ios-store")),
  },
  refreshAndroidStorePurchases: {
    ...REFRESH,
    description: "Ask Google about due purchases",
    schedule: "AndroidRefreshSchedule",
    store: "android-store",
    table: ofAllApplications(changesFacts("android-store")),
  },
  tellChanges: {
    ...TELLING,
    description: "Publish changed accounts",
    schedule: "TellingSchedule",
    table: ofAllApplications({
      by: "changes",
      reads: ["application", "account"],
      changes: ["look", "told", "change", "delivery"],
    }),
  },
  deliverMessages: {
    ...TELLING,
    description: "Deliver messages to destinations",
    schedule: "DeliverySchedule",
    table: ofAllApplications({
      by: "changes",
      reads: ["application", "change"],
      changes: ["delivery", "forward"],
    }),
  },
  sweepIosStoreNotifications: {
    ...SWEEP,
    description: "Read Apple's histories of notifications",
    schedule: "IosSweepSchedule",
    store: "ios-store",
    // It processes undelivered notifications, including stores' requests.
    table: ofAllApplications(
      changesFacts("ios-store", { reads: ["store-registration"], changes: ["delivery"] }),
    ),
  },
  sweepAndroidStoreRefunds: {
    ...SWEEP,
    description: "Read Google's lists of voided purchases",
    schedule: "AndroidSweepSchedule",
    store: "android-store",
    table: ofAllApplications(changesFacts("android-store")),
  },
} as const satisfies Record<string, ScheduledFunction>;

export type ScheduledFunctionName = keyof typeof SCHEDULED_FUNCTIONS;
