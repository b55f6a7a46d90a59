import { endpoints, type Endpoint, type EndpointName, type FloodLimits } from "../lib/contract/endpoints.ts";
import type { Store } from "../lib/contract/schemas.ts";
import { changesFacts, type TableAccess } from "../lib/contract/table-access.ts";
import { computed, isReservable, optional, orNone, whole, type Given, type ValuesOf } from "./parameters.ts";

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
interface ScheduledFunction extends OtherFunction {
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

export type FunctionName = "authorizeCredential" | EndpointName | ScheduledFunctionName;

export const ENDPOINT_NAMES = Object.keys(endpoints) as EndpointName[];

export const FUNCTION_NAMES: readonly FunctionName[] = [
  "authorizeCredential",
  ...ENDPOINT_NAMES,
  ...(Object.keys(SCHEDULED_FUNCTIONS) as ScheduledFunctionName[]),
];

/** API Gateway's integration timeout is 29 seconds, and the authorizer's 30. */
const LONGEST_REQUEST_SECONDS = 28;

const LONGEST_RUN_SECONDS = 900;

const isScheduled = (name: FunctionName): name is ScheduledFunctionName =>
  Object.hasOwn(SCHEDULED_FUNCTIONS, name);

const dataOf = (name: FunctionName) => {
  if (name === "authorizeCredential") return AUTHORIZER;
  return isScheduled(name) ? SCHEDULED_FUNCTIONS[name] : endpoints[name].defaults;
};

/** Limits of an endpoint that takes no API key; null: it takes one, or is no endpoint. */
const floodLimitsOf = (name: string): FloodLimits | null => {
  const endpoint = Object.entries<Endpoint>(endpoints).find(([other]) => other === name)?.[1];
  return endpoint?.scope === null ? endpoint.floodLimits : null;
};

/** A request takes 30 ms, so by the small limits a lasting flood has one or two executions, for a moment eight. */
const routeLimits = (
  name: EndpointName,
  { isDisposable, accountConcurrency }: Given,
): Pick<FloodLimits, "requestsPerSecond" | "burst"> => {
  if (isDisposable) return { requestsPerSecond: 10, burst: 20 };
  return (isReservable(accountConcurrency) ? null : floodLimitsOf(name)) ?? endpoints[name].defaults;
};

/** Null: unlimited. Disposable stages leave the account's executions to the others. */
const concurrencyLimit = (name: FunctionName, { isDisposable, accountConcurrency }: Given): number | null => {
  const flood = name === "authorizeCredential" ? AUTHORIZER : floodLimitsOf(name);
  return flood === null || isDisposable || !isReservable(accountConcurrency)
    ? null
    : Math.floor((accountConcurrency * flood.concurrencyPercent) / 100);
};

export const routeParameters = (name: EndpointName) => ({
  rate: computed(
    whole(1, 10_000),
    "as the endpoint has; 10",
    (given) => routeLimits(name, given).requestsPerSecond,
    "requests a second; more get 429",
  ),
  burst: computed(
    whole(1, 5000),
    "as the endpoint has; 20",
    (given) => routeLimits(name, given).burst,
    "requests at once",
  ),
});

export const functionParameters = (name: FunctionName) => ({
  memory: computed(
    whole(128, 10_240),
    "1024; of schedules 512",
    () => dataOf(name).memoryMegabytes,
    "in MB ([memory](scale.md#memory))",
  ),
  timeout: computed(
    whole(1, isScheduled(name) ? LONGEST_RUN_SECONDS : LONGEST_REQUEST_SECONDS),
    "28; reads and keys 10; schedules 60 to 300",
    () => dataOf(name).timeoutSeconds,
    "in seconds",
  ),
  reservedConcurrency: computed(
    orNone(whole(1, 10_000)),
    "none",
    (given) => concurrencyLimit(name, given),
    "executions at a time: reserved, and never more",
  ),
  provisionedConcurrency: optional(whole(1, 10_000), "environments started in advance, billed by the hour"),
});

/** Requests per second, and at once. */
export type Throttling = ValuesOf<ReturnType<typeof routeParameters>>;
export type FunctionValues = ValuesOf<ReturnType<typeof functionParameters>>;
