import { endpoints, type Endpoint, type EndpointName, type FloodLimits } from "../lib/contract/endpoints.ts";
import { AUTHORIZER, SCHEDULED_FUNCTIONS, type ScheduledFunctionName } from "./other-functions.ts";
import { computed, optional, orNone, whole, type Given, type ValuesOf } from "./parameter.ts";

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

/** Executions that Lambda keeps for functions without a reservation. */
const UNRESERVED = 100;

/** Whether half of the concurrency can be reserved. */
const isReservable = (accountConcurrency: number | null): accountConcurrency is number =>
  accountConcurrency !== null && accountConcurrency >= 2 * UNRESERVED;

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

/**
 * Requests without an API key from one address in five minutes; null: unlimited. By the small limit an address has a
 * twentieth of the rate of synchronizes, and a tenth of that of notifications.
 */
export const openRequestsPerAddress = ({ isDisposable, accountConcurrency }: Given): number | null => {
  if (isDisposable) return null;
  return isReservable(accountConcurrency) ? 1000 : 300;
};

export const reservationProblem = (
  reserved: readonly (number | null)[],
  accountConcurrency: number | null,
): string | null => {
  const sum = reserved.reduce<number>((total, one) => total + (one ?? 0), 0);
  return accountConcurrency === null || sum === 0 || sum + UNRESERVED <= accountConcurrency
    ? null
    : `Reserved concurrency is ${sum}, but Lambda must keep ${UNRESERVED} of ${accountConcurrency} unreserved. Lower a reservedConcurrency.`;
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
