import { endpoints, type Endpoint, type EndpointName, type FloodLimits } from "../lib/contract/endpoints.ts";
import { AUTHORIZER } from "./other-functions.ts";

/** Executions that Lambda keeps for functions without a reservation. */
const UNRESERVED = 100;

/** Concurrency from which half of it can be reserved. */
const RESERVABLE = 2 * UNRESERVED;

/** Limits of an endpoint that takes no API key; null: it takes one, or is no endpoint. */
const floodLimitsOf = (name: string): FloodLimits | null => {
  const endpoint = Object.entries<Endpoint>(endpoints).find(([other]) => other === name)?.[1];
  return endpoint?.scope === null ? endpoint.floodLimits : null;
};

/**
 * Limits of a route of a permanent stage. A request takes 30 ms, so by the small limits a lasting flood has one or two
 * executions, and for a moment eight.
 */
export const routeLimits = (
  name: EndpointName,
  accountConcurrency: number | null,
): { readonly rate: number; readonly burst: number } => {
  const flood = (accountConcurrency ?? 0) < RESERVABLE ? floodLimitsOf(name) : null;
  const { requestsPerSecond: rate, burst } = flood ?? endpoints[name].defaults;
  return { rate, burst };
};

/**
 * Requests without an API key from one address in five minutes. By the small limit an address has a twentieth of the
 * rate of synchronizes, and a tenth of that of notifications.
 */
export const openRequestsPerAddress = (accountConcurrency: number | null): number =>
  (accountConcurrency ?? 0) < RESERVABLE ? 300 : 1000;

/** Maximum concurrent executions of a function of a permanent stage; null: unlimited. */
export const concurrencyLimit = (name: string, accountConcurrency: number | null): number | null => {
  const flood = name === "authorizeCredential" ? AUTHORIZER : floodLimitsOf(name);
  return flood === null || accountConcurrency === null || accountConcurrency < RESERVABLE
    ? null
    : Math.floor((accountConcurrency * flood.concurrencyPercent) / 100);
};

/** A sentence about reservations that Lambda would refuse; null: it accepts them. */
export const reservationProblem = (
  reserved: readonly (number | null)[],
  accountConcurrency: number | null,
): string | null => {
  const sum = reserved.reduce<number>((total, one) => total + (one ?? 0), 0);
  return accountConcurrency === null || sum === 0 || sum + UNRESERVED <= accountConcurrency
    ? null
    : `Reserved concurrency is ${sum}, but Lambda must keep ${UNRESERVED} of ${accountConcurrency} unreserved. Lower a reservedConcurrency.`;
};
