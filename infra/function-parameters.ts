import type * as z from "zod";
import { endpoints, type EndpointName } from "../lib/contract/endpoints.ts";
import { concurrencyLimit, routeLimits } from "./account-concurrency.ts";
import { AUTHORIZER, SCHEDULED_FUNCTIONS, type ScheduledFunctionName } from "./other-functions.ts";
import { orNone, whole } from "./parameter-values.ts";
import type { Given, Parameter } from "./parameter.ts";

export type FunctionName = "authorizeCredential" | EndpointName | ScheduledFunctionName;

/** A parameter that each function has, or each endpoint. */
export interface FunctionParameter<Name, Value> extends Pick<Parameter<Value>, "shown" | "meaning"> {
  readonly schemaOf: (name: Name) => z.ZodType<Value>;
  readonly defaultOf: (name: Name, given: Given) => Value;
}

/** API Gateway's integration timeout is 29 seconds, and the authorizer's 30. */
const LONGEST_REQUEST_SECONDS = 28;

/** Lambda's own limit. */
const LONGEST_RUN_SECONDS = 900;

const isScheduled = (name: FunctionName): name is ScheduledFunctionName =>
  Object.hasOwn(SCHEDULED_FUNCTIONS, name);

const dataOf = (name: FunctionName) => {
  if (name === "authorizeCredential") return AUTHORIZER;
  return isScheduled(name) ? SCHEDULED_FUNCTIONS[name] : endpoints[name].defaults;
};

/** In a development stage, every endpoint has the same small limits. */
const limitsOf = (name: EndpointName, { isDisposable, accountConcurrency }: Given) =>
  isDisposable ? { rate: 10, burst: 20 } : routeLimits(name, accountConcurrency);

export const ENDPOINT_PARAMETERS = {
  rate: {
    schemaOf: () => whole(1, 10_000),
    defaultOf: (name, given) => limitsOf(name, given).rate,
    shown: "as the endpoint has; 10",
    meaning: "requests a second; more get 429",
  },
  burst: {
    schemaOf: () => whole(1, 5000),
    defaultOf: (name, given) => limitsOf(name, given).burst,
    shown: "as the endpoint has; 20",
    meaning: "requests at once",
  },
} as const satisfies Record<string, FunctionParameter<EndpointName, number>>;

export const FUNCTION_PARAMETERS = {
  memory: {
    schemaOf: () => whole(128, 10_240),
    defaultOf: (name) => dataOf(name).memoryMegabytes,
    shown: "1024; of schedules 512",
    meaning: "in MB ([memory](scale.md#memory))",
  },
  timeout: {
    schemaOf: (name) => whole(1, isScheduled(name) ? LONGEST_RUN_SECONDS : LONGEST_REQUEST_SECONDS),
    defaultOf: (name) => dataOf(name).timeoutSeconds,
    shown: "28; reads and keys 10; schedules 60 to 300",
    meaning: "in seconds",
  },
  reservedConcurrency: {
    schemaOf: () => orNone(whole(1, 10_000)),
    // Disposable stages leave the account's executions to the others.
    defaultOf: (name, { isDisposable, accountConcurrency }) =>
      isDisposable ? null : concurrencyLimit(name, accountConcurrency),
    shown: "none",
    meaning: "executions at a time: reserved, and never more",
  },
  provisionedConcurrency: {
    schemaOf: () => orNone(whole(1, 10_000)),
    defaultOf: () => null,
    shown: "none",
    meaning: "environments started in advance, billed by the hour",
  },
} as const satisfies Record<string, FunctionParameter<FunctionName, number | null>>;

type Of<Parameters extends Record<string, FunctionParameter<never, unknown>>> = {
  readonly [Name in keyof Parameters]: z.output<ReturnType<Parameters[Name]["schemaOf"]>>;
};

/** Requests per second, and at once. */
export type Throttling = Of<typeof ENDPOINT_PARAMETERS>;
export type FunctionValues = Of<typeof FUNCTION_PARAMETERS>;
